"""Timelines group warps by block and role, and never call an order a time."""

import matplotlib.collections
import pytest
from matplotlib.colors import to_hex

from ws_course import viz
from ws_course.runtime.result import Span
from ws_course.trace.timeline import TICKS, Timeline
from ws_course.viz import Provenance, palette
from ws_course.viz.spans import ORDER_AXIS, role, rows

SPANS = [
    Span(0, 2, "store", 12, 15, 0),
    Span(0, 2, "wait", 0, 12, -1, "out"),
    Span(0, 1, "compute", 5, 12, 0),
    Span(0, 0, "load", 0, 5, 0),
    Span(1, 0, "load", 0, 5, 1),
    Span(1, 0, "compute", 5, 9, 1),
]


def test_a_role_is_what_a_warp_did():
    assert role({"load", "wait"}) == "loader"
    assert role({"compute"}) == "compute"
    assert role({"wait"}) == "waiting"
    assert role({"store", "load", "wait"}) == "load+store"
    assert role({"store", "compute", "load"}) == "every role"


def test_rows_are_grouped_by_block_then_role():
    assert rows(SPANS) == [(0, "loader", 0), (0, "compute", 1), (0, "storer", 2), (1, "load+compute", 0)]
    assert rows(SPANS, blocks=[1]) == [(1, "load+compute", 0)]


def test_every_kind_of_work_has_its_colour():
    _, ax = viz.figure()
    viz.timeline(ax, SPANS, provenance=Provenance.emulated())
    drawn = {
        to_hex(colour).upper()
        for collection in ax.collections
        if isinstance(collection, matplotlib.collections.PolyCollection) and len(collection.get_paths())
        for colour in collection.get_facecolor()
    }
    assert drawn == {colour.upper() for colour in palette.WORK.values()}


def test_the_legend_calls_work_what_it_is_told():
    _, ax = viz.figure()
    viz.timeline(ax, SPANS, provenance=Provenance.emulated(), names={"store": "TMA reads C"})
    words = {text.get_text() for text in ax.get_legend().get_texts()}
    assert words == {"load", "compute", "TMA reads C", "wait"}


def test_an_emulated_axis_is_an_order():
    _, ax = viz.figure()
    viz.timeline(ax, SPANS, provenance=Provenance.emulated())
    assert ax.get_xlabel() == ORDER_AXIS
    _, ax = viz.figure()
    viz.timeline(ax, SPANS, provenance=Provenance.measured("GPU"), unit="ns")
    assert ax.get_xlabel() == "time (ns)"


def test_a_timeline_is_drawn_as_what_it_is():
    for label, unit, axis in (("emulated order", TICKS, ORDER_AXIS), ("recorded (GPU, 2000-01-01)", "ns", "time (ns)")):
        one = Timeline("ring", tuple(SPANS), label, unit)
        _, ax = viz.figure()
        viz.timeline(ax, one.spans, provenance=Provenance.of(one), unit=one.unit, title=one.title)
        assert ax.get_xlabel() == axis
        assert [text.get_text() for text in ax.texts if text.get_gid() == "provenance"] == [label]


def test_a_group_is_named_once_and_rows_do_not_overlap():
    _, ax = viz.figure()
    viz.timeline(ax, [*SPANS, Span(0, 3, "store", 12, 15, 0)], provenance=Provenance.emulated())
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert sum("block 0 storer" in name for name in names) == 1 and len(names) == 5
    ticks = list(ax.get_yticks())
    assert all(b - a >= 1 for a, b in zip(ticks, ticks[1:], strict=False))


def test_tiles_are_numbered_where_there_is_room():
    _, ax = viz.figure(8, 3)
    viz.timeline(ax, SPANS, provenance=Provenance.emulated())
    assert {"L0", "C0", "S0", "L1"} <= {text.get_text() for text in ax.texts}
    _, ax = viz.figure(8, 3)
    crowded = [Span(0, 0, "load", 10 * i, 10 * i + 8, i) for i in range(500)]
    viz.timeline(ax, crowded, provenance=Provenance.emulated())
    assert not any(text.get_text().startswith("L") for text in ax.texts)


def test_nothing_to_show_is_said():
    _, ax = viz.figure()
    with pytest.raises(ValueError, match="trace=True"):
        viz.timeline(ax, [], provenance=Provenance.emulated())
    with pytest.raises(ValueError, match=r"blocks \[7\]: there are spans of blocks 0"):
        viz.timeline(ax, SPANS, blocks=[7], provenance=Provenance.emulated())
    with pytest.raises(ValueError, match="sleep"):
        viz.timeline(ax, [Span(0, 0, "sleep", 0, 1)], provenance=Provenance.emulated())


def test_height_grows_with_the_rows():
    assert viz.timeline_height(SPANS) > viz.timeline_height(SPANS, blocks=[1])
