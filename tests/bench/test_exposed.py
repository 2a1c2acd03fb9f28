"""Arithmetic and the rest, told apart by intensity."""

import pytest

from ws_course.bench.exposed import split
from ws_course.bench.record import Measurement, Record, load

KERNEL = "tile_03_pipeline_unified"


def record(times, **params):
    """Return an artificial record with one measurement for each intensity."""
    measurements = tuple(
        Measurement(
            kernel=KERNEL,
            params={"STAGES": 2, "COMPUTE_THREADS": 128, "INTENSITY": intensity, **params},
            ctas_per_sm=1,
            problem={"name": "tile", "tiles": 1, "tile": 64, "bytes": 1, "flops": 1},
            launch={"grid": 1, "block": 128, "smem": 0},
            times_ms=(ms,),
            check={"ok": True},
        )
        for intensity, ms in times.items()
    )
    return Record("artificial", {"name": "Test device"}, {}, "2000-01-01", {}, {}, measurements)


def test_points_on_a_line_give_the_line():
    found = split(record({1: 0.3, 2: 0.5, 4: 0.9, 8: 1.7}), KERNEL, STAGES=2)
    assert found.arithmetic_ms == pytest.approx(0.2) and found.exposed_ms == pytest.approx(0.1)
    assert found.misfit == pytest.approx(0, abs=1e-12)
    assert found.at(4) == pytest.approx(0.9)


def test_the_misfit_is_the_largest_relative_distance():
    found = split(record({1: 0.3, 2: 0.6, 4: 0.9, 8: 1.7}), KERNEL)
    assert 0.02 < found.misfit < 0.2
    assert found.misfit == pytest.approx(
        max(abs(found.at(i) / t - 1) for i, t in ((1, 0.3), (2, 0.6), (4, 0.9), (8, 1.7)))
    )


def test_two_points_are_no_evidence_of_a_line():
    with pytest.raises(KeyError, match="2 intensities: a line needs 3"):
        split(record({1: 0.3, 2: 0.5}), KERNEL, STAGES=2)


def test_a_constant_that_was_not_measured_is_named():
    with pytest.raises(KeyError, match="'STAGES': 7"):
        split(record({1: 0.3, 2: 0.5, 4: 0.9}), KERNEL, STAGES=7)


def test_the_recorded_ladder_is_described_by_lines():
    kept = load("tile-ladder")
    for stages in (2, 3, 4):
        assert split(kept, KERNEL, STAGES=stages, COMPUTE_THREADS=128).misfit < 0.02
