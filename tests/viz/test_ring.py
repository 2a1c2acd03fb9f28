"""The ring of stages."""

import pytest

from ws_course import viz

SOURCE = viz.Provenance.schematic()


@pytest.mark.parametrize("stages", [["full"], ["empty", "filling"], ["draining"] * 4, ["empty"] * 9])
def test_every_stage_is_a_numbered_piece(stages):
    _, ax = viz.figure(3, 3)
    viz.stage_diagram(ax, stages, producer=0, consumer=len(stages) - 1, provenance=SOURCE)
    words = [text.get_text() for text in ax.texts]
    for i, state in enumerate(stages):
        assert (f"{i}\n{state}" if len(stages) <= 6 else f"{i}") in words
    assert {"producer", "consumer"} <= set(words)


def test_producer_and_consumer_at_one_stage_do_not_hide_each_other():
    _, ax = viz.figure(3, 3)
    viz.stage_diagram(ax, ["full", "full"], producer=1, consumer=1, provenance=SOURCE)
    places = [text.xyann for text in ax.texts if text.get_text() in ("producer", "consumer")]
    assert abs(places[0][1] - places[1][1]) > 0.5


@pytest.mark.parametrize("stages", [[], ["full", "half full"]])
def test_a_state_that_does_not_exist_is_refused(stages):
    _, ax = viz.figure(3, 3)
    with pytest.raises(ValueError, match="empty, filling, full, draining"):
        viz.stage_diagram(ax, stages, provenance=SOURCE)
