"""A timeline says what it shows, and keeps the piece of a run that was asked for."""

from itertools import pairwise

import pytest

from ws_course import device
from ws_course.problem import TileProblem
from ws_course.runtime import BackendError, Launch, Span, Window
from ws_course.trace.run import aligned, kept, timeline, window_of
from ws_course.trace.slots import slots
from ws_course.trace.timeline import TICKS

SMALL = TileProblem(6, tile=32)


def works(timeline):
    return [span for span in timeline.spans if span.work != "wait"]


def test_an_emulated_timeline_says_what_it_is():
    found = timeline("tile_05_mbarrier_ring", SMALL, backend="emulator", STAGES=2)
    assert (found.label, found.unit, found.stages) == ("emulated order", TICKS, 2)
    assert found.kernel == "tile_05_mbarrier_ring" and found.title == "tile_05_mbarrier_ring, STAGES 2"
    assert found.params["STAGES"] == 2 and found.params["TILE"] == 32
    assert found.facts["problem"]["tiles"] == 6 and found.facts["launch"]["grid"] == 1
    assert {span.item for span in works(found)} == set(range(6))
    assert "device" not in found.facts


def test_a_kernel_without_a_ring_has_no_stages():
    assert timeline("tile_00_one_buffer", SMALL, backend="emulator").stages == 0


@pytest.mark.parametrize("name", ["tile_07_tma_tensor", "tile_09_persistent"])
def test_kernels_with_maps_and_counters_run(name):
    found = timeline(name, SMALL, backend="emulator", grid=2)
    assert {span.block for span in works(found)} == {0, 1}
    assert {span.item for span in works(found) if span.work == "compute"} == set(range(6))


def test_a_cluster_is_shown_whole():
    found = timeline("tile_11_cluster_multicast", TileProblem(8, tile=32, share=2), backend="emulator")
    assert {span.block for span in works(found)} == {0, 1} and found.facts["launch"]["cluster"] == 2
    with pytest.raises(ValueError, match="share=2"):
        timeline("tile_11_cluster_multicast", SMALL, backend="emulator")


def test_a_piece_of_a_run_is_kept():
    whole = timeline("tile_04_pipeline_roles", TileProblem(8, tile=32), backend="emulator", grid=2)
    piece = timeline("tile_04_pipeline_roles", TileProblem(8, tile=32), backend="emulator", grid=2, keep=range(1, 3))
    assert {span.block for span in piece.spans} == {0}
    assert {span.item for span in works(piece)} == {2, 4}
    assert set(piece.spans) < set(whole.spans)
    assert any(span.work == "wait" for span in piece.spans)
    assert (piece.is_piece, piece.before(0)) == (True, 1) and (whole.is_piece, whole.before(0)) == (False, 0)


def test_which_tiles_belong_to_a_piece():
    launch = Launch(grid=132, block=192, cluster=2)
    assert window_of(range(24, 32), launch) == Window(blocks=2, first=24 * 132, last=32 * 132)
    assert window_of(None, launch) == Window()
    for wrong in (range(4, 4), range(0, 8, 2), range(-1, 3)):
        with pytest.raises(ValueError, match=r"range\(24, 32\)"):
            window_of(wrong, launch)


@pytest.mark.parametrize("wrong", [(1, 2), slice(1, 2), [1]])
def test_what_is_no_range_is_no_piece(wrong):
    with pytest.raises(ValueError, match=r"range\(24, 32\)"):
        window_of(wrong, Launch(grid=1, block=32))


def test_a_piece_that_reaches_beyond_32_bits_ends_with_the_run():
    assert window_of(range(1, 2**40), Launch(grid=4, block=32)) == Window(blocks=1, first=4, last=2**31 - 1)


@pytest.mark.parametrize(
    "tiles, keep, says",
    [
        (6, range(3, 9), "with 6 tiles on 2 CTAs, a CTA has tiles 0 to 2"),
        (1, range(1, 2), "tile 0 alone"),
        (0, range(1), "has none"),
    ],
)
def test_tiles_that_no_cta_has_cannot_be_kept(tiles, keep, says):
    with pytest.raises(ValueError, match=says):
        timeline("tile_00_one_buffer", TileProblem(tiles, tile=32), backend="emulator", grid=2, keep=keep)


def test_an_unknown_backend_is_named():
    with pytest.raises(ValueError, match='"auto", "gpu" or "emulator"'):
        timeline("tile_00_one_buffer", SMALL, backend="x")


def test_a_piece_that_begins_in_the_middle_of_a_round_shows_the_slots_of_the_run():
    piece = timeline("tile_06_bulk_copy", TileProblem(8, tile=32), backend="emulator", keep=range(2, 5), STAGES=3)
    filled = {event.item: event.slot for event in slots(piece) if event.state == "filling"}
    assert filled == {2: 2, 3: 0, 4: 1}
    loader = [span for span in piece.spans if span.warp == 0]
    for wait, load in pairwise(loader):  # the kernel's own words: it waits for the slot that it fills
        if wait.work == "wait" and load.work == "load" and "empty[" in wait.name:
            assert f"empty[{filled[load.item]}]" in wait.name
    assert any("empty[0]" in span.name for span in loader)


def test_waits_at_the_edge_of_a_piece_are_left_out():
    spans = (
        Span(0, 0, "wait", 0, 4), Span(0, 0, "load", 4, 5, 0), Span(0, 0, "wait", 5, 8), Span(0, 0, "load", 8, 9, 1),
        Span(0, 0, "wait", 9, 11), Span(0, 0, "load", 11, 12, 2), Span(0, 1, "compute", 9, 11, 0),
    )  # fmt: skip
    assert kept(spans, Window(blocks=1, first=1, last=3)) == spans[3:6]
    assert kept(spans, Window()) == spans


def test_a_piece_begins_with_slot_0_of_the_ring():
    spans = tuple(
        span
        for n, item in enumerate((40, 43, 44, 49, 50))
        for span in (Span(0, 0, "wait", 10 * n, 10 * n + 5), Span(0, 0, "load", 10 * n + 5, 10 * n + 10, item))
    )
    assert (
        aligned(spans, {0: 24}, 3) == spans and aligned(spans, {}, 3) == spans and aligned(spans, {0: 25}, 0) == spans
    )
    assert [s.item for s in aligned(spans, {0: 25}, 3)] == [44, -1, 49, -1, 50]
    assert [s.item for s in aligned(spans, {0: 26}, 3)] == [43, -1, 44, -1, 49, -1, 50]


@pytest.mark.skipif(bool(device.driver().gpus), reason="this machine has a GPU")
def test_without_a_gpu_the_fix_is_named():
    with pytest.raises(BackendError, match="ws-course doctor"):
        timeline("tile_00_one_buffer", SMALL, backend="gpu")
