"""Commit groups: what a wait brings home, and what is read too early."""

import pytest

from ws_course import viz
from ws_course.viz.groups import STATES, commit_groups, group_states

SOURCE = viz.Provenance.modelled("groups complete in order")


def steady(tiles, ahead, allowed, empty_groups=True):
    """The loop of a ring: fill it, then wait, read and refill; at the end there is nothing left to copy."""
    program = [("commit", tile) for tile in range(ahead)]
    for tile in range(tiles):
        program += [("wait", allowed), ("use", tile)]
        if tile + ahead < tiles or empty_groups:
            program.append(("commit", tile + ahead))
    return program


def early(program):
    return {
        n for (_, n), now in zip(program, group_states(program), strict=True) if "is read too early" in now.values()
    }


@pytest.mark.parametrize("stages", [2, 3, 4, 5])
def test_two_less_than_the_stages_may_stay_in_flight(stages):
    assert not early(steady(8, stages - 1, stages - 2))
    assert early(steady(8, stages - 1, stages - 1)) == set(range(8))


def test_without_empty_groups_the_last_tiles_are_read_too_early():
    assert early(steady(8, 3, 2, empty_groups=False)) == {6, 7}


def test_a_wait_leaves_the_latest_groups():
    states = group_states([("commit", 0), ("commit", 1), ("commit", 2), ("wait", 1), ("wait", 5), ("wait", 0)])
    assert states[2] == dict.fromkeys((0, 1, 2), "may be in flight")
    assert states[3] == states[4] == {0: "has landed", 1: "has landed", 2: "may be in flight"}
    assert states[5] == dict.fromkeys((0, 1, 2), "has landed")


@pytest.mark.parametrize("step", [("use", 1), ("land", 0)])
def test_a_step_that_cannot_be_is_refused(step):
    with pytest.raises(ValueError, match="commit, wait, or the use of a committed group"):
        group_states([("commit", 0), step])


def test_a_cell_for_each_step_and_group_until_its_last_use():
    _, ax = viz.figure(6, 2)
    program = [("commit", 0), ("commit", 1), ("use", 0), ("wait", 0), ("use", 1)]
    commit_groups(ax, program, provenance=SOURCE)
    spans, cells = 1, [patch for patch in ax.patches if patch.get_height() < 1]
    assert len(ax.patches) == spans + len(cells)
    assert len(cells) == 3 + 4  # group 0 from commit to use, group 1 likewise
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == list(STATES), "this program shows every state"
    assert [t.get_text() for t in ax.get_xticklabels()][2:4] == ["read\n0", "wait\n≤ 0"]
