"""The schedules of uneven tiles: what is run, the file, and the kernel itself in the emulator."""

import dataclasses

import numpy as np
import pytest

from ws_course.bench import schedules
from ws_course.bench.schedules import ONE_EACH, SCHEDULES, STATIC, Run, Schedules
from ws_course.kernels import catalog
from ws_course.runtime import Kernel

PACKAGED = sorted(schedules.FOLDER.glob("*.json"))


@pytest.fixture
def some():
    runs = (Run("equal", 8, STATIC, 4, (3.0, 5.0, 4.0)), Run("equal", 4, STATIC, 4, (2.0, 2.0, 2.0)))
    return Schedules({"name": "Test device"}, {}, "2000-01-01", {}, 4, (0.5, 1.5, 1.0), runs, live=True)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_does_every_tile_once_and_puts_the_counter_back(schedule):
    path = catalog.MEASURE["uneven_tiles"]
    source = path.read_text().replace("STEP = 256", "STEP = 1")
    kernel = Kernel(source, path.stem, path.name, SCHEDULES[schedule])
    for tiles in (0, 3, 5, 23):
        work = schedules.work("random", max(1, tiles))
        done, counter = np.zeros(max(1, tiles), np.int32), np.zeros(1, np.int32)
        grid = max(1, tiles) if schedule == ONE_EACH else 4
        for launches in (1, 2):
            result = kernel.run(
                work, done, np.zeros(1, np.float32), tiles, counter, grid=grid, block=64, backend="emulator"
            )
            assert result.faults == ()
            assert (done[:tiles] == launches).all() and counter[0] == 0


def test_the_patterns_are_the_same_everywhere():
    assert set(schedules.work("equal", 5)) == {8} and schedules.work("equal").shape == (schedules.TILES,)
    assert list(schedules.work("every eighth", 9)) == [22, 6, 6, 6, 6, 6, 6, 6, 22]
    assert list(schedules.work("triangle", 66)[[0, 3, 4, 63, 64]]) == [1, 1, 2, 16, 1]
    assert list(schedules.work("random", 6)) == [6, 10, 7, 6, 5, 8]
    first, last = schedules.work("heaviest first"), schedules.work("heaviest last")
    assert (np.diff(first) <= 0).all() and list(first[::-1]) == list(last)
    assert schedules.work("giant first", 3)[0] == 300 == schedules.work("giant last", 3)[-1]
    assert all(schedules.work(pattern).min() >= 1 for pattern in schedules.PATTERNS)
    with pytest.raises(KeyError, match="triangle"):
        schedules.work("moonlight")


def test_what_is_run_has_no_duplicates_and_a_cta_for_each_tile_where_it_says_so():
    wanted = schedules.wanted(264)
    assert len({(run.pattern, run.tiles, run.schedule) for run in wanted}) == len(wanted)
    assert all(run.grid == (run.tiles if run.schedule == ONE_EACH else 264) for run in wanted)
    assert {run.schedule for run in wanted} == set(SCHEDULES)


def test_times_are_medians_without_the_launch(some):
    assert some.find("equal", STATIC, 8).median_ms == 4.0 and some.ms("equal", STATIC, 8) == 3.0
    assert some.times("equal", STATIC, 8) == (2.0, 4.0, 3.0)
    assert some.find("equal", STATIC, 8).spread == pytest.approx(0.25)
    assert [run.tiles for run in some.curve("equal", STATIC)] == [4, 8]
    with pytest.raises(KeyError, match="equal"):
        some.find("random", STATIC)


def test_the_file_keeps_everything_but_that_it_was_now(some, tmp_path):
    again = schedules.read(some.save(tmp_path / "x.json"))
    assert again == dataclasses.replace(some, live=False)
    assert some.label == "measured now (Test device)" and again.label == "recorded (Test device, 2000-01-01)"


def test_times_that_are_none_are_refused(some, tmp_path):
    wrong = dataclasses.replace(some, launch_ms=(0.0,))
    with pytest.raises(ValueError, match="times"):
        schedules.read(wrong.save(tmp_path / "x.json"))


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: path.stem)
def test_a_packaged_file_is_complete_and_physical(path):
    found = schedules.read(path)
    have = {(run.pattern, run.tiles, run.schedule, run.grid) for run in found.runs}
    assert have == {(run.pattern, run.tiles, run.schedule, run.grid) for run in schedules.wanted(found.ctas)}
    step_ms = 256 * 4 / 2.5e6  # a chain takes 4 cycles for a multiply-add, of at most 2.5 GHz
    for run in found.runs:
        steps = schedules.work(run.pattern, run.tiles).sum() / found.ctas
        assert found.ms(run.pattern, run.schedule, run.tiles) > 0.9 * steps * step_ms
