"""Throughput over resident warps: the fastest of every count, all others too, and claims that leave the figure."""

import pytest

from ws_course import viz
from ws_course.bench.record import Measurement, Record
from ws_course.viz.warps import fastest, resident_warps

PROBLEM = {"bytes": 1_000_000_000, "flops": 1}


def measured(kernel, warps, ms, ctas=1):
    """Return a measurement that no device took: 1 GB in ``ms`` milliseconds is 1/ms TB/s."""
    return Measurement(kernel, {}, ctas, PROBLEM, {"grid": 1, "block": 32 * warps // ctas}, (ms,), {"ok": True})


ALL = (
    measured("tile_01_double_buffer", 2, 1.0),
    measured("tile_01_double_buffer", 2, 0.5, ctas=2),
    measured("tile_01_double_buffer", 8, 0.25),
    measured("tile_06_bulk_copy", 4, 0.4),
)
RECORD = Record("warps-sweep", {"name": "no device"}, {}, "2026-01-01", {}, {"copy_gb_s": 4000.0}, ALL)
KERNELS = ["tile_01_double_buffer", "tile_06_bulk_copy"]
SOMEWHERE = viz.Provenance.modelled("a test")


def test_fastest_of_every_count_fewest_warps_first():
    found = [(m.warps_per_sm, m.median_ms) for m in fastest(RECORD, "tile_01_double_buffer")]
    assert found == [(2, 0.5), (8, 0.25)]
    with pytest.raises(KeyError, match="has no tile_99"):
        fastest(RECORD, "tile_99")


@pytest.fixture
def ax():
    _, ax = viz.figure(8, 3)
    claims = {"flat": [(2, 2.0), (64, 2.0)], "linear": [(0, 0.0), (64, 64.0)]}
    resident_warps(ax, RECORD, KERNELS, provenance=SOMEWHERE, claims=claims, title="warps")
    return ax


def test_lines_go_through_the_fastest_and_points_show_all(ax):
    lines = {line.get_label(): line.get_xydata().tolist() for line in ax.lines if line.get_label()[0] != "_"}
    assert lines["01 double buffer"] == [[2, 2.0], [8, 4.0]]
    assert lines["06 bulk copy"] == [[4, 2.5]]
    assert [len(points.get_offsets()) for points in ax.collections] == [3, 1]
    assert ax.get_ylim()[0] == 0 and ax.get_xlim()[1] > 64


def test_a_claim_inside_is_named_below_its_line_and_one_that_leaves_says_where_it_would_end(ax):
    words = {text.get_text(): text for text in ax.texts}
    assert "a plain copy: 4.00 TB/s" in words
    (x, y), (_, down) = words["flat"].xy, words["flat"].xyann
    assert 2 < x < 64 and y == 2.0 and down < 0
    leaves = words["linear\n… 64 TB/s at 64 warps"]
    x, y = leaves.xy
    assert x == pytest.approx(y) and y < ax.get_ylim()[1] < 6  # on the line, at the upper edge


def test_the_source_is_asked_for():
    _, ax = viz.figure(8, 3)
    with pytest.raises(TypeError, match="provenance must be a Provenance"):
        resident_warps(ax, RECORD, KERNELS, provenance="somewhere")
