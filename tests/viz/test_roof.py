"""The roofline is the minimum of two roofs."""

import pytest

from ws_course import viz
from ws_course.viz.roof import attainable


def test_attainable_is_the_lower_roof():
    assert attainable(10, 4000, 60) == 40  # memory: 10 FLOP/byte at 4 TB/s
    assert attainable(100, 4000, 60) == 60  # arithmetic
    assert attainable(100, 4000, None) == 400  # unknown peak: only memory limits


def test_points_stand_where_they_were_measured_and_inside_the_axes():
    _, ax = viz.figure()
    points = [viz.Point("a", 10, 20), viz.Point("b", 10, 21), viz.Point("c", 80, 50)]
    viz.roofline(ax, points, bandwidth_gb_s=4000, peak_tflop_s=60, provenance=viz.Provenance.modelled("a test"))
    placed = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in ax.lines if len(line.get_xdata()) == 1
    }
    assert placed == {(10, 20), (10, 21), (80, 50)}
    low, high = ax.get_xlim()
    bottom, top = ax.get_ylim()
    assert all(low < x < high and bottom < y < top for x, y in placed)
    assert any(text.get_text() == "a: 20" for text in ax.texts)


def test_the_roof_bends_at_the_ridge():
    _, ax = viz.figure()
    viz.roofline(
        ax,
        [viz.Point("a", 10, 20)],
        bandwidth_gb_s=4000,
        peak_tflop_s=60,
        provenance=viz.Provenance.modelled("a test"),
    )
    assert ax.lines[0].get_xdata()[1] == pytest.approx(15)
    assert ax.lines[0].get_ydata()[1] == pytest.approx(60)
