"""The states of ring slots and the phases of their barriers, told from spans."""

from dataclasses import replace

import pytest

from ws_course.problem import TileProblem
from ws_course.runtime.result import Span
from ws_course.trace.order import emulated_order
from ws_course.trace.slots import STATES, UNKNOWN, SlotEvent, slots
from ws_course.trace.timeline import TICKS, Timeline


def timeline(*spans, stages=2):
    return Timeline("by hand", spans, "measured now (by hand)", stages=stages)


# One loader and two compute warps; the first of them waits, the second starts later.
ONE_TILE = (
    Span(0, 0, "load", 10, 20, 0),
    Span(0, 1, "wait", 12, 30, -1, "mbarrier.try_wait.parity `full[0]`"),
    Span(0, 1, "compute", 31, 50, 0),
    Span(0, 2, "compute", 33, 55, 0),
)


def test_a_slot_fills_lands_is_full_is_read_and_is_empty_again():
    assert slots(timeline(*ONE_TILE)) == (
        SlotEvent(10, 0, 0, "filling", 0, full=0, empty=0),
        SlotEvent(20, 0, 0, "landing", 0, full=0, empty=0),  # all copies are asked for
        SlotEvent(30, 0, 0, "full", 0, full=1, empty=0),  # the end of the wait, not the start of the work
        SlotEvent(31, 0, 0, "draining", 0, full=1, empty=0),
        SlotEvent(55, 0, 0, "empty", -1, full=1, empty=1),  # the last of the two releases
    )


def test_without_a_wait_a_slot_is_full_when_the_first_reader_starts():
    events = slots(timeline(*(span for span in ONE_TILE if span.work != "wait")))
    assert [(event.time, event.state) for event in events][2:4] == [(31, "full"), (31, "draining")]


@pytest.mark.parametrize("name", ["full", "full[2]", "mbarrier.try_wait.parity `full[0]`"])
def test_the_end_of_a_wait_for_full_counts_whatever_its_slot_is_called(name):
    spans = (ONE_TILE[0], replace(ONE_TILE[1], name=name), *ONE_TILE[2:])
    assert [event.time for event in slots(timeline(*spans)) if event.state == "full"] == [30]


@pytest.mark.parametrize("name", ["mbarrier.try_wait.parity `out_full[0]`", "out full", "empty[0]", ""])
def test_a_wait_for_something_else_says_nothing_about_full(name):
    wait = replace(ONE_TILE[1], name=name)
    assert slots(timeline(ONE_TILE[0], wait, *ONE_TILE[2:]))[2].time == 31


def test_a_wait_that_is_not_just_before_says_nothing_about_full():
    between = Span(0, 1, "store", 30, 31, 7)
    assert slots(timeline(*ONE_TILE, between))[2].time == 31


def test_in_a_model_a_load_ends_when_its_data_is_there():
    second = Span(0, 3, "load", 11, 24, 0)
    events = slots(replace(timeline(*ONE_TILE, second), label="modelled (by hand)"))
    assert [(event.time, event.state) for event in events][:2] == [(10, "filling"), (24, "full")]


def test_tiles_take_turns_in_the_order_of_their_numbers_and_phases_count_rounds():
    spans = [
        span
        for n, item in enumerate((3, 10, 17, 24, 31))  # a grid of 7: the numbers of one CTA are far apart
        for span in (Span(0, 0, "load", 10 * n, 10 * n + 3, item), Span(0, 1, "compute", 10 * n + 5, 10 * n + 9, item))
    ]
    events = slots(timeline(*reversed(spans)))
    filled = [(event.item, event.slot) for event in events if event.state == "filling"]
    assert filled == [(3, 0), (10, 1), (17, 0), (24, 1), (31, 0)]
    last = [event for event in events if event.slot == 0][-1]
    assert (last.full, last.empty, last.parities) == (3, 3, (1, 1))
    assert [event.parities for event in events if event.slot == 1 and event.state in ("full", "empty")] == [
        (1, 0),
        (1, 1),
        (0, 1),
        (0, 0),
    ]


def test_phases_of_a_piece_are_those_of_the_run_and_a_slot_is_unknown_after_its_last_tile():
    spans = [
        span
        for n, item in enumerate((168, 175, 182))  # tiles 24, 25, 26 of CTA 0 in a grid of 7
        for span in (Span(0, 0, "load", 10 * n, 10 * n + 3, item), Span(0, 1, "compute", 10 * n + 5, 10 * n + 9, item))
    ]
    events = slots(replace(timeline(*spans), facts={"keep": [24, 27]}))
    assert [(e.state, e.full, e.empty) for e in events if e.slot == 0 and e.item in (-1, 168)] == [
        ("filling", 12, 12),
        ("landing", 12, 12),
        ("full", 13, 12),
        ("draining", 13, 12),
        ("empty", 13, 13),
        (UNKNOWN, 14, 14),
    ]
    assert [e.state for e in events if e.slot == 1][-1] == UNKNOWN


def test_a_piece_may_begin_in_the_middle_of_a_round():
    piece = replace(timeline(*ONE_TILE, stages=3), facts={"keep": [25, 26]})
    assert {(e.slot, e.full) for e in slots(piece) if e.state == "filling"} == {(1, 8)}


def test_a_slot_filled_at_the_moment_of_its_release_is_released_first():
    spans = (
        Span(0, 0, "load", 0, 1, 0),
        Span(0, 1, "compute", 2, 5, 0),
        Span(0, 0, "load", 5, 6, 1),
        Span(0, 1, "compute", 7, 9, 1),
    )
    states = [(event.time, event.state, event.empty) for event in slots(timeline(*spans, stages=1))]
    assert states[4:6] == [(5, "empty", 1), (5, "filling", 1)]


def test_a_slot_filled_while_it_is_read_does_not_become_empty_when_its_readers_leave():
    spans = (Span(0, 0, "load", 0, 1, 0), Span(0, 1, "compute", 2, 9, 0), Span(0, 0, "load", 5, 6, 1))
    events = slots(timeline(*spans, stages=1))
    assert [(event.time, event.state, event.item, event.empty) for event in events[-3:]] == [
        (5, "filling", 1, 0),
        (6, "landing", 1, 0),
        (9, "landing", 1, 1),
    ]


def test_every_block_has_its_own_ring():
    both = timeline(*ONE_TILE, *(replace(span, block=1, item=1 if span.item == 0 else -1) for span in ONE_TILE))
    blocks = [[replace(event, block=0, item=0) for event in slots(both) if event.block == block] for block in (0, 1)]
    assert blocks[0] == blocks[1] and len(blocks[0]) == 5


def test_a_tile_that_nobody_reads_stays_and_one_that_nobody_loaded_is_full_when_it_is_read():
    assert [event.state for event in slots(timeline(ONE_TILE[0]))] == ["filling", "landing"]
    assert [event.state for event in slots(timeline(*ONE_TILE[1:]))] == ["full", "draining", "empty"]


def test_a_reader_that_comes_before_the_loader_is_done_ends_the_filling():
    spans = (Span(0, 0, "load", 0, 9, 0), Span(0, 1, "compute", 5, 12, 0))
    assert [(event.time, event.state) for event in slots(timeline(*spans))] == [
        (0, "filling"),
        (5, "full"),
        (5, "draining"),
        (12, "empty"),
    ]


def test_without_a_ring_there_is_nothing():
    assert slots(timeline(*ONE_TILE, stages=0)) == ()


@pytest.mark.parametrize("kernel", ["tile_05_mbarrier_ring", "tile_06_bulk_copy"])
@pytest.mark.parametrize("stages", [2, 3])
def test_a_real_ring_goes_round(kernel, stages):
    spans = emulated_order(kernel, TileProblem(7, tile=32), STAGES=stages)
    events = slots(Timeline(kernel, spans, "emulated order", TICKS, stages))
    for slot in range(stages):
        mine = [event for event in events if event.slot == slot]
        tiles = len(range(slot, 7, stages))
        assert [event.state for event in mine] == [*STATES[1:], STATES[0]] * tiles
        assert [event.time for event in mine] == sorted(event.time for event in mine)
        # A barrier never runs a whole round ahead of its partner.
        assert all(event.full - event.empty in (0, 1) for event in mine)
        assert (mine[-1].full, mine[-1].empty) == (tiles, tiles)
