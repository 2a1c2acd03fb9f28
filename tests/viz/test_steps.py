"""Speed-ups around 1: ties and losses are said, and no bar lies about where it starts."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from ws_course import viz
from ws_course.bench.record import Measurement
from ws_course.bench.steps import STEPS, Bought
from ws_course.viz import palette
from ws_course.viz.steps import COLOUR, steps


def measured(*times, sms=132):
    """Return a measurement with times that no device has."""
    check, launch = {"ok": True}, {"grid": sms, "block": 32, "sms": sms}
    return Measurement("k", {}, 1, {"bytes": 1, "flops": 1}, launch, times, check)


BOUGHT = [
    Bought(STEPS[0], measured(1.5, 1.5, 1.5), measured(1.0, 1.0, 1.0)),
    Bought(STEPS[1], measured(1.0, 1.02, 1.04), measured(0.99, 1.0, 1.01)),
    Bought(STEPS[2], measured(0.8, 0.8, 0.8), measured(1.0, 1.0, 1.0)),
]


@pytest.fixture
def ax():
    _, ax = viz.figure(7, 3)
    steps(ax, BOUGHT, provenance=viz.Provenance.modelled("a test"), title="steps")
    return ax


def test_bars_start_at_one_and_end_at_the_speed_up(ax):
    ends = [sorted((bar.get_x(), bar.get_x() + bar.get_width())) for bar in ax.patches]
    assert np.allclose(ends, [(1.0, 1.5), (1.0, 1.02), (0.8, 1.0)])
    low, high = ax.get_xlim()
    assert low < 0.8 and high > 1.5
    assert "bars start at 1 (whisker" in ax.get_xlabel()


def test_ties_and_losses_are_words_and_not_only_colours(ax):
    words = [text.get_text() for text in ax.texts]
    assert words == ["1.50×", "a tie", "0.80× (slower)", "modelled (a test)"]
    assert [to_hex(bar.get_facecolor()).upper() for bar in ax.patches] == [
        COLOUR["faster"].upper(),
        COLOUR["a tie"].upper(),
        COLOUR["slower"].upper(),
    ]
    assert [bar.get_hatch() or "" for bar in ax.patches] == ["", palette.HATCH["wait"], ""]


def test_the_whisker_of_a_tie_reaches_one(ax):
    whiskers = [line for line in ax.lines if line.get_marker() == "|"]
    assert [tuple(line.get_xdata()) for line in whiskers][0] == (1.5, 1.5)
    assert min(whiskers[1].get_xdata()) < 1 < max(whiskers[1].get_xdata())


def test_steps_are_named_from_the_top(ax):
    assert ax.get_yticklabels()[0].get_text() == f"{STEPS[0].what}\n00 → 01"
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_panels_beside_each_other_have_one_scale():
    _, axes = viz.figure(7, 6, nrows=2)
    for ax, mine in zip(axes, (BOUGHT[:1], BOUGHT[2:]), strict=True):
        steps(ax, mine, provenance=viz.Provenance.modelled("a test"), beside=BOUGHT)
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert axes[0].get_xlim()[0] < 0.8 and axes[0].get_xlim()[1] > 1.5


def test_sms_that_clusters_leave_out_are_said():
    _, ax = viz.figure(7, 3)
    steps(ax, [Bought(STEPS[-1], measured(1.0), measured(0.9, sms=128))], provenance=viz.Provenance.modelled("a test"))
    assert ax.get_yticklabels()[0].get_text().endswith("06 → 11, 128 of 132 SMs")


def test_nothing_is_not_drawn_and_the_source_is_asked_for():
    _, ax = viz.figure(7, 3)
    with pytest.raises(ValueError, match="no step to draw"):
        steps(ax, [], provenance=viz.Provenance.modelled("a test"))
    with pytest.raises(TypeError, match="provenance must be a Provenance"):
        steps(ax, BOUGHT, provenance="somewhere")
