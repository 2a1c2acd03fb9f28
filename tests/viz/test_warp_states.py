"""States of a scheduler's warps: together they are the resident warps, and what can issue is what is eligible."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from ws_course import viz
from ws_course.bench import counters
from ws_course.viz.warp_states import LOOK, STATES, states, warp_states

RECORDED = counters.load().launches


def test_every_state_of_the_profiler_is_in_one_group():
    grouped = [state for group in STATES.values() for state in group]
    assert sorted(grouped) == sorted(counters.STALLS)
    assert LOOK.keys() == STATES.keys()


@pytest.mark.parametrize("counted", RECORDED, ids=lambda x: f"{x.kernel}-{x.ctas_per_sm}")
def test_recorded_states_add_up_to_the_resident_and_the_eligible_warps(counted):
    found = states(counted)
    assert sum(found.values()) == pytest.approx(counted["warps_active"], rel=0.02)
    eligible = found["issues"] + found["ready, another one issues"]
    assert eligible == pytest.approx(counted["warps_eligible"], rel=0.02)
    assert found["issues"] == pytest.approx(counted["issue_slots"], rel=0.01)


def test_bars_are_stacked_in_order_and_the_first_row_is_at_the_top():
    counted = {"issue_slots": 0.5, "warps_active": 2.0, "stall_selected": 1, "stall_wait": 1, "stall_barrier": 2}
    _, ax = viz.figure(6, 2)
    warp_states(ax, [("one", counted), ("two", counted)], provenance=viz.Provenance.modelled("a test"), title="states")
    widths = [bar.get_width() for bar in ax.patches]
    assert np.allclose(widths, 2 * [0.5, 0, 0.5, 0, 0, 1.0])
    assert np.allclose([bar.get_x() for bar in ax.patches[:6]], [0, 0.5, 0.5, 1.0, 1.0, 1.0])
    assert [to_hex(bar.get_facecolor()).upper() for bar in ax.patches[:6]] == [c.upper() for c, _ in LOOK.values()]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    words = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert words == list(STATES)
    with pytest.raises(TypeError, match="provenance must be a Provenance"):
        warp_states(ax, [("one", counted)], provenance="somewhere")
