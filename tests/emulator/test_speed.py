"""How fast and how small the emulator is. Limits are in CPU time, far from what is measured: a busy machine passes."""

from __future__ import annotations

import pytest

from ws_course.bench import emulator


def best(samples: tuple[emulator.Sample, ...]) -> float:
    return min(s.cpu_s for s in samples)


def test_much_faster_than_the_simulator_of_numba():
    pytest.importorskip("numba.cuda", reason="numba-cuda is not installed")
    theirs = best(emulator.simulated_matmul(32))
    assert theirs / best(emulator.matmul(32, 3)) > 30


def test_a_matrix_product_of_64():
    assert best(emulator.matmul(64, 3)) < 0.05


def test_wgmma_main_loop():
    assert best(emulator.wgmma(repeats=2)) < 2
    assert emulator.peak_memory("wgmma main loop") < 300


def test_the_largest_block():
    assert best(emulator.blocks(1, 1024, repeats=2)) < 0.5


def test_cost_grows_linearly_with_the_number_of_blocks():
    few, many = (best(emulator.blocks(n, 256, repeats=3)) for n in (16, 64))
    assert many / few < 6


def test_cold_compile():
    assert min(emulator.cold_compile().cpu_s for _ in range(2)) < 1.5


def test_the_record_can_be_read_and_says_where_it_is_from(tmp_path):
    record = emulator.load()
    assert record.date and record.device["name"] in record.label
    assert [c.n for c in record.comparisons] == [16, 32, 64]
    assert all(s.cpu_s > 0 and s.wall_s > 0 for c in record.comparisons for s in (*c.emulator, *c.simulator))
    assert record.footprint("wgmma main loop").memory_mb < 300
    assert emulator.read(record.save(tmp_path / "again.json")) == record
    with pytest.raises(KeyError, match="wgmma main loop"):
        record.footprint("nothing")
    assert f"{record.comparisons[-1].times_faster:.0f}" in str(record)
