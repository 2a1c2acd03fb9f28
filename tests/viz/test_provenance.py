"""No figure without a statement of where its numbers come from."""

import inspect
import pkgutil
from importlib import import_module
from types import SimpleNamespace

import pytest

from ws_course import viz
from ws_course.runtime.result import Span
from ws_course.trace.timeline import Timeline
from ws_course.viz import Provenance
from ws_course.viz.provenance import Origin

BAR = [viz.Bar("a", 1.0, 0.9, 1.1), viz.Bar("b", 2.0)]
DRAW = {
    "ladder": lambda ax, **kw: viz.ladder(ax, BAR, limit_ms=0.5, **kw),
    "bars_with_spread": lambda ax, **kw: viz.bars_with_spread(ax, BAR, unit="ms", **kw),
    "occupancy": lambda ax, **kw: viz.occupancy(ax, [viz.Curve("a", ((1, 2.0), (2, 1.5)))], limit_ms=1.0, **kw),
    "roofline": lambda ax, **kw: viz.roofline(ax, [viz.Point("a", 10.0, 3.0)], bandwidth_gb_s=1000, **kw),
    "timeline": lambda ax, **kw: viz.timeline(ax, [Span(0, 0, "load", 0, 5, 0)], **kw),
    "stage_diagram": lambda ax, **kw: viz.stage_diagram(ax, ["empty", "full"], **kw),
}


def stamps(ax):
    return [text.get_text() for text in ax.texts if text.get_gid() == "provenance"]


def test_every_figure_function_is_covered_here():
    drawing = {name for name in viz.__all__ if "ax" in inspect.signature(getattr(viz, name)).parameters}
    assert drawing - {"label"} == set(DRAW)


@pytest.mark.parametrize("name", DRAW)
def test_a_figure_carries_its_stamp(name):
    _, ax = viz.figure()
    DRAW[name](ax, provenance=Provenance.measured("NVIDIA Testing 1"))
    assert stamps(ax) == ["measured now (NVIDIA Testing 1)"]


@pytest.mark.parametrize("name", DRAW)
def test_a_figure_without_provenance_is_refused(name):
    _, ax = viz.figure()
    with pytest.raises(TypeError, match="provenance"):
        DRAW[name](ax)
    for wrong in (None, "measured now", ""):
        with pytest.raises(TypeError, match=r"Provenance\.measured"):
            DRAW[name](ax, provenance=wrong)


def test_the_words_of_each_source():
    record = SimpleNamespace(label="recorded (NVIDIA Testing 1, 2000-01-01)")
    assert str(Provenance.recorded(record)) == "recorded (NVIDIA Testing 1, 2000-01-01)"
    assert str(Provenance.modelled("roofline")) == "modelled (roofline)"
    assert str(Provenance.emulated()) == "emulated order"
    assert str(Provenance.schematic()) == "schematic, not to scale"


@pytest.mark.parametrize(
    ("label", "origin"),
    [
        ("emulated order", Origin.EMULATED),
        ("recorded (NVIDIA Testing 1, 2000-01-01)", Origin.RECORDED),
        ("measured now (NVIDIA Testing 1)", Origin.MEASURED),
        ("modelled (a ring)", Origin.MODELLED),
    ],
)
def test_a_timeline_brings_its_own(label, origin):
    found = Provenance.of(Timeline("ring", (), label))
    assert (found.origin, str(found)) == (origin, label)


def test_a_timeline_without_a_source_is_refused():
    for label in ("", "H200", "I measured now"):
        with pytest.raises(ValueError, match="where (its )?numbers come from"):
            Provenance.of(Timeline("ring", (), label))


def test_two_sources_are_both_named_once():
    both = Provenance.measured("GPU") & Provenance.modelled("roofline") & Provenance.modelled("roofline")
    assert str(both) == "measured now (GPU) · modelled (roofline)"


@pytest.mark.parametrize("empty", ["", "  ", None])
def test_an_empty_source_is_refused(empty):
    with pytest.raises(ValueError, match="where its numbers come from"):
        Provenance.measured(empty)
    with pytest.raises(ValueError, match="where its numbers come from"):
        Provenance.recorded(SimpleNamespace(label=empty))


def test_no_figure_function_in_the_package_can_do_without():
    # These draw a part of a figure, and the function that calls them stamps it.
    parts = {"dress", "title", "label", "roofs", "place", "box", "arrow", "note", "lane", "key"}
    parts |= {"cluster", "hand_out", "beside_a"}
    for module in pkgutil.iter_modules(viz.__path__):
        for name, function in inspect.getmembers(import_module(f"ws_course.viz.{module.name}"), inspect.isfunction):
            parameters = inspect.signature(function).parameters
            if not name.startswith("_") and name not in parts and "ax" in parameters:
                assert "provenance" in parameters, f"{module.name}.{name} draws without saying where from"
                assert parameters["provenance"].default is inspect.Parameter.empty
