"""The small experiments: the chain, the counts and the file, without a GPU; the packaged file as it is."""

import dataclasses

import pytest

from ws_course.bench import probes
from ws_course.bench.probes import Latency, Luck, Probes
from ws_course.kernels import catalog
from ws_course.runtime import Kernel

PACKAGED = sorted(probes.FOLDER.glob("*.json"))


@pytest.fixture
def some():
    return Probes(
        device={"name": "Test device"},
        versions={},
        date="2000-01-01",
        method={},
        latencies=(Latency("L2 cache", 8, 1000, (1.0, 3.0, 2.0)),),
        luck=(Luck("no barrier", 32, 100, 75, "text"),),
        live=True,
    )


def test_the_chain_visits_every_line_once():
    places = probes.chain(64 * probes.LINE)
    at, seen = 0, []
    for _ in range(64):
        seen.append(at)
        at = int(places[at])
    assert at == 0 and sorted(seen) == list(range(0, 64 * 32, 32))
    assert seen != sorted(seen)


def test_numbers_are_in_their_units(some):
    assert some.latency("L2 cache").ns == 2000.0  # 2 ms for 1000 loads
    assert some.lucky("no barrier")[0].share == 0.75


def test_the_file_keeps_everything_but_that_it_was_now(some, tmp_path):
    again = probes.read(some.save(tmp_path / "x.json"))
    assert again == dataclasses.replace(some, live=False)
    assert some.label == "measured now (Test device)" and again.label == "recorded (Test device, 2000-01-01)"


@pytest.mark.parametrize("right", [-1, 101])
def test_impossible_counts_are_refused(some, tmp_path, right):
    wrong = dataclasses.replace(some, luck=(Luck("x", 32, 100, right, ""),))
    with pytest.raises(ValueError, match="right"):
        probes.read(wrong.save(tmp_path / "x.json"))


def test_unknown_names_are_refused_with_the_known_ones(some):
    with pytest.raises(KeyError, match="L2 cache"):
        some.latency("moon")
    with pytest.raises(KeyError, match="no barrier"):
        some.lucky("sunshine")
    with pytest.raises(ValueError, match="in 0 places"):
        probes.one_buffer(without=3)


def test_the_planted_races_are_races():
    # in the emulator no luck helps: lanes are in no step, and the values are wrong
    assert probes.unnoticed(64, tried=2, backend="emulator").right == 0
    emulated = {"backend": "emulator", "blocks": 1}
    assert probes.unnoticed_in_tiles(1, without=1, **emulated).right == 0
    # one tile per block: the second barrier has nothing to protect yet
    assert probes.unnoticed_in_tiles(1, without=2, **emulated).right == 1
    assert probes.unnoticed_in_tiles(3, without=2, **emulated).right < 3


@pytest.mark.parametrize("late", [False, True])
def test_the_kernel_with_both_barriers_is_right_however_late_a_warp_is(late):
    assert probes.unnoticed_in_tiles(3, without=None, late=late, backend="emulator", blocks=2).right == 3


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: path.stem)
def test_packaged_experiments_can_be_believed(path):
    found = probes.read(path)
    l2, memory = found.latency("L2 cache"), found.latency("device memory")
    assert 20 < l2.ns < memory.ns < 5000
    for latency in (l2, memory):
        assert max(latency.times_ms) < 1.5 * min(latency.times_ms)
    source = Kernel.from_file(catalog.MEASURE["pass_left_racy"]).source
    assert {luck.source for luck in found.lucky("pass_left without its barrier")} == {source}, "measure again"
    # the proof that nothing else was wrong: with both barriers every tile is right
    assert {luck.share for what in ("tile_00", "tile_00, one warp late") for luck in found.lucky(what)} == {1.0}


def test_the_record_is_what_the_lessons_say():
    found = probes.load("NVIDIA H200")
    by_block = {luck.block: luck.share for luck in found.lucky("pass_left without its barrier")}
    # lesson 00: one warp is always right, two mostly wrong, more almost always
    assert by_block[32] == 1 and 0 < by_block[64] < 0.5 and all(by_block[n] < 0.05 for n in (128, 256, 512, 1024))
    # lesson 01: nothing shows without the second barrier until a warp is late
    (alone,), (late,) = (found.lucky(f"tile_00 without barrier 2{late}") for late in ("", ", one warp late"))
    assert alone.share == 1 and late.share < 0.1


@pytest.mark.gpu
def test_measures_live(tmp_path):
    found = probes.measure(blocks=(32, 1024), tried=200, tiles=512, rounds=3)
    assert found.live and found.latency("L2 cache").ns < found.latency("device memory").ns
    assert probes.read(found.save(tmp_path / "x.json")).luck == found.luck
