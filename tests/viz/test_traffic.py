"""Bytes at three places: bars hold the counters, dashes the prediction, and the words say which is which."""

import pytest

from ws_course import viz
from ws_course.bench import counters
from ws_course.viz.traffic import MARK, PLACES, Traffic, traffic

SOURCE = viz.Provenance.modelled("a test")


def bytes_at(sm, l2, dram):
    """Return counters that no device has."""
    return dict(zip(PLACES, (sm, l2, dram), strict=True))


@pytest.fixture
def ax():
    _, ax = viz.figure(7, 3)
    launches = [Traffic("alone", bytes_at(5e6, 4e6, 3e6)), Traffic("together", bytes_at(5e6, 2e6, 1e6), 2.5e6)]
    traffic(ax, launches, provenance=SOURCE, title="bytes")
    return ax


def test_bars_are_megabytes_from_zero(ax):
    assert [bar.get_height() for bar in ax.patches] == [5, 5, 4, 2, 3, 1]
    assert {bar.get_y() for bar in ax.patches} == {0}
    assert ax.get_ylim()[0] == 0 and ax.get_ylim()[1] > 5
    assert [text.get_text() for text in ax.texts[:6]] == ["5", "5", "4", "2", "3", "1"]


def test_bars_of_a_launch_do_not_overlap(ax):
    edges = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches)
    assert all(a[1] < b[0] for a, b in zip(edges, edges[1:], strict=False))


def test_the_prediction_lies_over_the_bar_of_l2(ax):
    (line,) = ax.lines
    assert set(line.get_ydata()) == {2.5}
    l2 = ax.patches[3]
    assert line.get_xdata()[0] < l2.get_x() and l2.get_x() + l2.get_width() < line.get_xdata()[1]


def test_every_place_is_named_once(ax):
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*PLACES.values(), MARK]


def test_a_launch_of_the_counters_can_be_drawn():
    _, ax = viz.figure(7, 3)
    counted = counters.load().find("tile_06_bulk_copy", 2, SHARE=8)
    traffic(ax, [Traffic("06", counted)], provenance=SOURCE)
    assert ax.patches[0].get_height() == counted["sm_in_bytes"] / 1e6


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="no launch"):
        traffic(viz.figure(7, 3)[1], [], provenance=SOURCE)
