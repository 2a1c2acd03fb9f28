"""The record of the rungs after the ladder: complete, believable, and in line with what their files say."""

import pytest

from ws_course.bench import record
from ws_course.kernels import catalog

HOPPER = catalog.HOPPER[:5]  # those that need no cluster
BESIDE = "tile_04_two_roles"  # timed in the same rounds


@pytest.fixture(scope="module")
def h200():
    return record.load("next-rungs", "NVIDIA H200")


def test_holds_every_rung_and_the_one_before(h200):
    assert {m.kernel for m in h200.measurements} == {BESIDE, *(spec.name for spec in HOPPER)}
    for spec in HOPPER:
        for stages in (2, 3, 4):
            assert h200.find(spec.name, STAGES=stages)
    for m in h200.measurements:
        assert m.check["ok"] and 0 < m.check["max_error"] < m.check["tolerance"]
        assert len(m.times_ms) == 15 and m.resources["local"] == 0, "no registers are spilled"
        assert m.gb_s < h200.limits["copy_gb_s"] and m.tflop_s < h200.limits["fp32_tflop_s"]


@pytest.mark.parametrize("ctas", [1, 2])
def test_a_ring_by_hand_costs_no_more_than_the_pipeline(h200, ctas):
    pipeline, ring = (h200.find(name, ctas, STAGES=3).median_ms for name in (BESIDE, "tile_05_mbarrier_ring"))
    assert ring < pipeline


@pytest.mark.parametrize("ctas", [1, 2])
def test_one_thread_that_asks_loads_as_fast_as_any_number_of_warps(h200, ctas):
    warps, thread = (
        h200.find(name, ctas, STAGES=3).median_ms for name in ("tile_05_mbarrier_ring", "tile_06_bulk_copy")
    )
    assert thread < warps


def test_bulk_copies_reach_nine_tenths_of_the_copy_limit(h200):
    assert h200.find("tile_06_bulk_copy", "best").gb_s > 0.9 * h200.limits["copy_gb_s"]


@pytest.mark.parametrize("ctas", [1, 2])
def test_c_through_shared_memory_costs_more_than_it_brings(h200, ctas):
    direct, by_tma = (h200.find(name, ctas, STAGES=3).median_ms for name in ("tile_06_bulk_copy", "tile_07_tma_tensor"))
    assert by_tma > 1.1 * direct


@pytest.mark.parametrize("ctas", [1, 2])
def test_a_storer_of_its_own_takes_the_wait_for_c_from_the_compute_warps(h200, ctas):
    waits, storer = (
        h200.find(name, ctas, STAGES=3, CTAS=2).median_ms for name in ("tile_08_registers", "tile_09_persistent")
    )
    assert waits > 1.05 * storer
