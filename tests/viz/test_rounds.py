"""The staircase: dots where they were measured, steps where a round begins, and nothing without its source."""

import pytest

from ws_course.viz import Provenance, figure
from ws_course.viz.rounds import rounds


def drawn(curves, **rest):
    _, ax = figure()
    rounds(ax, curves, 4, provenance=Provenance.modelled("by hand"), **rest)
    return ax


def test_dots_steps_and_rounds_are_where_they_belong():
    ax = drawn({"a": [(8, 3.0), (4, 2.0)], "b": [(4, 2.5)]}, model=(1.0, 1.0), title="steps")
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["a"].get_xydata().tolist() == [[4, 2.0], [8, 3.0]] and len(lines["b"].get_xydata()) == 1
    (stairs,) = ax.patches
    assert list(stairs.get_data().values) == [2.0, 3.0] and list(stairs.get_data().edges) == [0, 4, 8]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "4", "8"]
    assert ax.get_ylim()[0] == 0 and ax.get_title(loc="left") == "steps"
    assert any(text.get_gid() == "provenance" for text in ax.texts)


@pytest.mark.parametrize("ctas", [0, -4])
def test_a_round_of_no_cta_is_refused(ctas):
    _, ax = figure()
    with pytest.raises(ValueError, match=f"ctas={ctas}: a round needs one CTA"):
        rounds(ax, {"a": [(1, 2.0)]}, ctas, provenance=Provenance.modelled("by hand"))


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="nothing to draw"):
        drawn({"a": []})
