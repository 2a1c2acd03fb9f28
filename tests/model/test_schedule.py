"""Schedules of tiles, by hand and against what no schedule can beat."""

import numpy as np
import pytest

from ws_course.model.schedule import dynamic, static


def test_static_deals_every_ctas_th_tile_to_a_cta():
    found = static([1, 2, 3, 4, 5], 2)
    assert list(found.cta) == [0, 1, 0, 1, 0]
    assert list(found.start) == [0, 0, 1, 2, 4] and list(found.end) == [1, 2, 4, 6, 9]
    assert list(found.finish) == [9, 6] and found.length == 9 and found.busy == 15 / 18


def test_dynamic_gives_the_next_tile_to_who_is_done_first():
    found = dynamic([5, 1, 1, 1, 4], 2)
    assert list(found.cta) == [0, 1, 1, 1, 1]
    assert list(found.end) == [5, 1, 2, 3, 7] and found.length == 7


def test_ahead_takes_the_tile_before_it_is_known_who_is_done_first():
    work = [9, 1, 1, 1]
    assert list(dynamic(work, 2).cta) == [0, 1, 1, 1]
    # Both ask at 0 for their second tile, CTA 0 first: the tile waits for the one of 9.
    assert list(dynamic(work, 2, ahead=1).cta) == [0, 1, 0, 1]
    assert dynamic(work, 2, ahead=1).length == 10
    # Two rounds are dealt out, the third is asked for at the start: static by another name.
    assert list(dynamic([9, 1, 1, 1, 1, 1], 2, ahead=2).cta) == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("schedule", [static, dynamic, lambda work, ctas: dynamic(work, ctas, ahead=3)])
@pytest.mark.parametrize(("tiles", "ctas"), [(0, 3), (2, 3), (3, 3), (40, 3), (41, 7)])
def test_every_tile_is_done_once_by_a_cta_that_has_no_other(schedule, tiles, ctas):
    work = np.random.RandomState(tiles).geometric(0.2, tiles)
    found = schedule(work, ctas)
    assert np.allclose(found.end - found.start, work) and found.finish.shape == (ctas,)
    for c in range(ctas):
        mine = np.flatnonzero(found.cta == c)
        assert np.allclose(found.start[mine], np.r_[0, found.end[mine][:-1]][: len(mine)]), "no gaps, no overlap"
    assert found.length >= max(work.sum() / ctas, work.max(initial=0))
    assert found.length <= work.sum() and 0 < found.busy <= 1


def test_equal_tiles_leave_nothing_to_choose():
    for tiles in (5, 16, 17):
        lengths = {static(np.ones(tiles), 5).length, *(dynamic(np.ones(tiles), 5, n).length for n in range(4))}
        assert lengths == {-(-tiles // 5)}


def test_a_schedule_is_a_timeline_of_one_row_a_cta():
    timeline = dynamic([5, 1, 1, 1, 4], 2).timeline("five tiles")
    assert timeline.title == "five tiles" and timeline.label.startswith("modelled")
    assert [(s.block, s.item, s.start, s.end) for s in timeline.spans][-1] == (1, 4, 3, 7)


@pytest.mark.parametrize(("work", "ctas", "ahead"), [([1, -1], 2, 0), ([[1]], 2, 0), ([np.nan], 1, 0), ([1], 0, 0)])
def test_impossible_work_is_refused(work, ctas, ahead):
    with pytest.raises(ValueError, match="work"):
        dynamic(work, ctas, ahead)
    with pytest.raises(ValueError, match="ahead"):
        dynamic([1], 1, ahead=-1)
