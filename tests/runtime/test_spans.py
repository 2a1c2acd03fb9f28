"""What a GPU wrote becomes spans: cycles become ns, SMs are aligned, gaps are waits, nothing is lost silently."""

import numpy as np
import pytest

from ws_course.runtime import Launch, Span, Window
from ws_course.runtime.spans import BYTES, EVENT, HEAD, WORKS, decode, layout

LAUNCH = Launch(grid=2, block=64)
NOMINAL = 1980.0


def written(warps, events=8, launch=LAUNCH, tick=32, mhz=2000.0, origin=(10**15, 3 * 10**15), start=5 * 10**17):
    """Return records of warps {(block, warp): [(work, item, start_ns, end_ns), ...]}: block b runs on SM 7 + b."""
    blocks = launch.blocks
    records = np.zeros((), layout(Window(blocks, events), launch))
    for (block, warp), spans in warps.items():
        one = records[block, warp]
        one["head"]["seen"] = one["head"]["kept"] = len(spans)
        one["head"]["sm"], one["head"]["speaker"] = 7 + block, 1
        for number, (work, item, begin, end) in enumerate(spans[:events]):
            cycles = [origin[block] + round(t * mhz / 1e3) for t in (begin, end)]
            shared = (start + int(end)) // tick * tick
            one["events"][number] = (*cycles, shared, number, 4 * item + WORKS.index(work))
    return records


def pipeline(tiles, at=0, step=1000):
    """Return a loader and a compute warp whose spans take known times."""
    loader = [("load", i, at + i * step, at + i * step + 100) for i in range(tiles)]
    compute = [("compute", i, at + i * step + 300, at + i * step + 900) for i in range(tiles)]
    return loader, compute


def test_the_layouts_are_those_of_the_header():
    assert HEAD.itemsize == 16 and EVENT.itemsize == 32
    one = layout(Window(3, 5), Launch(grid=9, block=100))
    assert one.shape == (3, 4) and one.itemsize == 3 * 4 * (16 + 5 * 32)


def test_cycles_become_ns_and_gaps_become_waits():
    loader, compute = pipeline(50)
    trace = decode(written({(0, 0): loader, (0, 1): compute}, events=64), NOMINAL)
    assert trace.fitted and trace.mhz == pytest.approx(2000, rel=2e-3) and trace.lost == 0 and trace.sms == {0: 7}
    assert trace.tick_ns % 32 == 0
    mine = [span for span in trace.spans if span.warp == 0]
    assert [(s.work, s.item, s.name) for s in mine[:4]] == [
        ("load", 0, ""),
        ("wait", -1, "empty"),
        ("load", 1, ""),
        ("wait", -1, "empty"),
    ]
    assert mine[0].start == 0
    for span in mine:
        if span.work == "load":
            assert span.start == pytest.approx(1000 * span.item, rel=2e-3, abs=1)
            assert span.end - span.start == pytest.approx(100, abs=1)
    assert [s.name for s in trace.spans if s.warp == 1 and s.work == "wait"] == [""] * 49, (
        "it may be more than one wait"
    )
    assert all(a.end <= b.start for a, b in zip(mine, mine[1:], strict=False))


def test_sms_whose_clocks_differ_are_aligned():
    loader, compute = pipeline(60)
    later, computed = pipeline(60, at=250)
    warps = {(0, 0): loader, (0, 1): compute, (1, 0): later, (1, 1): computed}
    trace = decode(written(warps, events=64), NOMINAL)
    starts = {s.block: s.start for s in trace.spans if (s.warp, s.item) == (0, 0)}
    assert starts[0] == 0 and starts[1] == pytest.approx(250, abs=16)
    assert trace.sms == {0: 7, 1: 8}


@pytest.mark.parametrize("tick", [1, 32, 1000])
def test_a_coarse_shared_clock_is_fitted_over_many_events(tick):
    loader, compute = pipeline(400, step=1037)  # in step with no tick
    trace = decode(written({(0, 0): loader, (1, 1): compute}, events=512, tick=tick), NOMINAL)
    assert trace.fitted and trace.mhz == pytest.approx(2000, rel=1e-3)
    assert trace.error_ns == pytest.approx(tick / 12**0.5, rel=0.2, abs=0.5)
    starts = {s.block: s.start for s in trace.spans if s.item == 0}
    assert starts[1] - starts[0] == pytest.approx(300, abs=max(1, tick / 8))


def test_a_launch_shorter_than_the_clock_can_see_has_the_nominal_rate():
    loader, compute = pipeline(2)
    trace = decode(written({(0, 0): loader, (0, 1): compute}, tick=1024, mhz=NOMINAL), NOMINAL)
    assert not trace.fitted and trace.mhz == pytest.approx(NOMINAL)
    first = trace.spans[0]
    assert (first.start, first.end) == (0, 100)


def test_what_had_no_room_is_counted():
    loader, _ = pipeline(11)
    trace = decode(written({(0, 0): loader}, events=8), NOMINAL)
    assert trace.lost == 3 and sum(span.work == "load" for span in trace.spans) == 8


def test_spans_that_were_left_out_make_no_gap_to_wait_in():
    loader, _ = pipeline(6)
    records = written({(0, 0): loader})
    records[0, 0]["events"]["number"][3:6] += 2  # two spans between the third and the fourth were not wanted
    trace = decode(records, NOMINAL)
    works = [span.work for span in trace.spans]
    assert works == ["load", "wait", "load", "wait", "load", "load", "wait", "load", "wait", "load"]
    assert trace.skipped == {0: 0}


def test_the_tiles_before_a_piece_are_counted_by_the_loader():
    loader, compute = pipeline(4)
    records = written({(0, 0): loader, (0, 1): compute, (1, 0): compute})
    records[0, 0]["events"]["number"] += 24
    records[0, 1]["events"]["number"] += 48
    assert decode(records, NOMINAL).skipped == {0: 24}


def test_the_wait_of_each_role_has_a_name_where_it_is_certain():
    three = list(zip(WORKS, (0, 30, 60), strict=True))
    warps = {
        (0, 0): [("store", i, 100 * i, 100 * i + 50) for i in range(3)],
        (0, 1): [(w, i, 100 * i + d, 100 * i + d + 20) for i in range(3) for w, d in (("compute", 0), ("store", 40))],
        (1, 0): [(w, i, 100 * i + d, 100 * i + d + 9) for i in range(3) for w, d in three],
    }
    trace = decode(written(warps, events=16, mhz=NOMINAL), NOMINAL)

    def waits(block, warp):
        return [s.name for s in trace.spans if (s.block, s.warp, s.work) == (block, warp, "wait")]

    assert waits(0, 0) == ["full", "full"]
    assert waits(0, 1) == ["", "full", "", "full", ""]
    assert set(waits(1, 0)) == {""}


def test_a_span_inside_another_ends_no_wait():
    spans = [("load", 0, 0, 500), ("compute", 0, 100, 200), ("store", 0, 600, 700)]
    trace = decode(written({(0, 0): spans}, mhz=NOMINAL, tick=1024), NOMINAL)
    assert [(s.start, s.end) for s in trace.spans if s.work == "wait"] == [(500, 600)]


def test_nothing_written_is_nothing():
    trace = decode(written({}), NOMINAL)
    assert trace.spans == () and trace.lost == 0 and trace.sms == {} and trace.tick_ns == 0


@pytest.mark.parametrize("field, value", [("end", 10**15 - 1), ("what", 3)])
def test_what_no_kernel_writes_is_refused(field, value):
    loader, compute = pipeline(3)
    records = written({(0, 0): loader, (0, 1): compute})
    records[0, 1]["events"][2][field] = value
    with pytest.raises(ValueError, match="no span where block 0, warp 1"):
        decode(records, NOMINAL)


def test_spans_come_with_plain_numbers():
    loader, compute = pipeline(3)
    for span in decode(written({(0, 0): loader, (1, 0): compute}), NOMINAL).spans:
        assert isinstance(span, Span)
        assert all(type(value) is int for value in (span.block, span.warp, span.start, span.end, span.item))


def test_a_window_is_filled_in_for_a_launch():
    large = Launch(grid=5000, block=256)
    window = Window().resolve(large)
    assert window.blocks == 1024 and window.events >= 16
    assert layout(window, large).itemsize <= 1.2 * BYTES
    assert Window().resolve(Launch(1, 32)).events == 4096
    assert Window(blocks=8, events=3, first=4, last=6).resolve(LAUNCH) == Window(2, 3, 4, 6)
