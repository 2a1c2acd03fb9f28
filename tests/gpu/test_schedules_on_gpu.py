"""Schedules on a GPU: every tile once, the counter back, and what no schedule of these tiles can avoid."""

import pytest

from ws_course.bench import schedules
from ws_course.bench.schedules import DYNAMIC, ONE_EACH, STATIC

pytestmark = pytest.mark.gpu


def test_schedules_are_measured_now_and_a_counter_shares_what_static_does_not():
    found = schedules.measure(rounds=3)  # raises if a tile was not done, was done twice, or a counter was left
    assert found.live and {run.grid for run in found.runs if run.schedule != ONE_EACH} == {found.ctas}
    assert found.ms("every eighth", DYNAMIC) < 0.7 * found.ms("every eighth", STATIC)
    assert found.ms("giant first", DYNAMIC) < 0.9 * found.ms("giant last", DYNAMIC)
    assert 0.9 < found.ms("equal", DYNAMIC) / found.ms("equal", STATIC) < 1.2
    curve = found.curve("large", STATIC)
    assert curve[-1].median_ms > 3 * curve[0].median_ms, "four rounds for four times the tiles"
