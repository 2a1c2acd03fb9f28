"""Occupancy curves and their names."""

import pytest

from ws_course import viz
from ws_course.viz.lines import spread_out


@pytest.mark.parametrize(
    "values", [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [0.30, 0.28, 0.28, 0.27, 0.19], [5.0], [2.0, 1.0, 1.1, 1.05]]
)
def test_spread_out_keeps_order_and_gap(values):
    moved = spread_out(values, gap=0.5)
    order = sorted(range(len(values)), key=values.__getitem__)
    steps = [moved[b] - moved[a] for a, b in zip(order, order[1:], strict=False)]
    assert all(step >= 0.5 - 1e-9 for step in steps)


def test_spread_out_leaves_what_is_far_apart():
    assert spread_out([3.0, 1.0], gap=0.5) == [3.0, 1.0]


def test_occupancy_starts_at_zero_and_names_every_curve():
    _, ax = viz.figure()
    curves = [viz.Curve("a", ((1, 0.4), (2, 0.3), (4, 0.28))), viz.Curve("b", ((2, 0.27), (1, 0.3)))]
    viz.occupancy(ax, curves, limit_ms=0.19, provenance=viz.Provenance.modelled("a test"))
    assert ax.get_ylim()[0] == 0
    assert {"a", "b", "limit 0.190 ms"} <= {text.get_text() for text in ax.texts}
    assert list(ax.lines[1].get_xdata()) == [1, 2], "points are joined in the order of the axis"
    assert all(float(tick).is_integer() for tick in ax.get_xticks())
