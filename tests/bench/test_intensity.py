"""A kernel's time in two parts, over its arithmetic."""

import pytest

from ws_course.bench.intensity import split
from ws_course.bench.record import Measurement, Record, load


def record_of(times, kernel="tile_00_one_buffer", **constants):
    measurements = tuple(
        Measurement(
            kernel,
            {"INTENSITY": i, "COMPUTE_THREADS": 128, **constants},
            1,
            {"bytes": 1, "flops": 1},
            {},
            (ms,),
            {"ok": True},
        )
        for i, ms in times.items()
    )
    return Record("tile-ladder", {"name": "a test"}, {}, "2026-01-01", {}, {}, measurements)


def test_times_on_a_line_give_that_line():
    found = split(record_of({1: 5.0, 2: 8.0, 4: 14.0}), "tile_00_one_buffer")
    assert (found.fixed_ms, found.product_ms) == (pytest.approx(2), pytest.approx(3))
    assert found.at(8) == pytest.approx(26)
    assert found.points == ((1, 5.0), (2, 8.0), (4, 14.0))


def test_a_percent_counts_the_same_at_every_intensity():
    exact = {1: 2.0, 2: 3.0, 8: 9.0}
    low, high = ({**exact, i: 1.05 * exact[i]} for i in (1, 8))
    errors = [split(record_of(t), "tile_00_one_buffer").at(i) / t[i] - 1 for t, i in ((low, 1), (high, 8))]
    assert all(-0.05 < error < 0 for error in errors)


def test_the_fastest_of_the_free_constants_counts():
    both = (
        record_of({1: 5.0, 2: 8.0, 4: 14.0}, STAGES=2).measurements
        + record_of({1: 4.0, 2: 9.0, 4: 15.0}, STAGES=3).measurements
    )
    record = Record("tile-ladder", {"name": "a test"}, {}, "2026-01-01", {}, {}, both)
    assert split(record, "tile_00_one_buffer").points == ((1, 4.0), (2, 8.0), (4, 14.0))
    assert split(record, "tile_00_one_buffer", STAGES=2).points == ((1, 5.0), (2, 8.0), (4, 14.0))


def test_the_misfit_is_the_largest_relative_distance():
    times = {1: 0.3, 2: 0.6, 4: 0.9, 8: 1.7}
    found = split(record_of(times), "tile_00_one_buffer")
    assert 0.02 < found.misfit < 0.2
    assert found.misfit == pytest.approx(max(abs(found.at(i) / t - 1) for i, t in times.items()))


@pytest.mark.parametrize("asked", [{"ctas_per_sm": 2}, {"STAGES": 9}, {}])
def test_two_points_are_no_evidence_of_a_line(asked):
    with pytest.raises(KeyError, match="a line needs 3"):
        split(record_of({1: 5.0, 2: 8.0}), "tile_00_one_buffer", **asked)


def test_the_recorded_ladder_is_described_by_lines():
    for stages in (2, 3, 4):
        found = split(load("tile-ladder"), "tile_03_pipeline_unified", STAGES=stages, COMPUTE_THREADS=128)
        assert found.misfit < 0.02
