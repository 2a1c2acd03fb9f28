"""Exports are valid Trace Event Format: required fields, microseconds, one process a CTA, one thread a warp."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ws_course.problem import TileProblem
from ws_course.runtime import Span
from ws_course.trace import store
from ws_course.trace.perfetto import perfetto, write
from ws_course.trace.run import timeline
from ws_course.trace.timeline import Timeline

SPANS = (
    Span(0, 4, "compute", 500, 1750, 24),
    Span(0, 0, "load", 0, 250, 24),
    Span(0, 0, "wait", 250, 1250, -1, "empty"),
    Span(1, 0, "load", 100, 350, 25),
)
MEASURED = Timeline(
    "ring", SPANS, "recorded (NVIDIA Testing 1, 2000-01-01)", "ns", 3, "tile_05_mbarrier_ring", {"STAGES": 3},
    {"clock": {"sms": {0: 17}}, "date": "2000-01-01"},
)  # fmt: skip

METADATA = {
    "process_name": "name",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}


def check_format(trace):
    """Check what the Trace Event Format requires of complete and metadata events."""
    assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"} and trace["displayTimeUnit"] in ("ms", "ns")
    named, threads = {}, set()
    for event in trace["traceEvents"]:
        assert isinstance(event["pid"], int) and event["pid"] > 0
        if event["ph"] == "M":
            (argument,) = event["args"]
            assert METADATA[event["name"]] == argument
            assert isinstance(event["args"][argument], str if argument == "name" else int)
            key = (event["name"], event["pid"], event.get("tid"))
            assert ("tid" in event) == event["name"].startswith("thread") and key not in named
            named[key] = event["args"][argument]
        else:
            assert event["ph"] == "X" and event["name"] and event["cat"]
            assert event["ts"] >= 0 and event["dur"] >= 0 and isinstance(event["args"], dict)
            threads.add((event["pid"], event["tid"]))
    assert threads == {(pid, tid) for kind, pid, tid in named if kind == "thread_name"}
    assert len({tid for _, tid in threads}) == len(threads), "threads are told apart by their number alone"
    work = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [event["ts"] for event in work] == sorted(event["ts"] for event in work)
    for thread in threads:  # complete events of one thread must nest or follow each other
        own = [event for event in work if (event["pid"], event["tid"]) == thread]
        assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-9 for a, b in zip(own, own[1:], strict=False))
    return named, work


def test_measured_times_are_in_microseconds():
    named, work = check_format(perfetto(MEASURED))
    compute = next(event for event in work if event["cat"] == "compute")
    assert (compute["name"], compute["ts"], compute["dur"]) == ("compute 24", 0.5, 1.25)
    assert compute["args"] == {"block": 0, "warp": 4, "tile": 24}
    wait = next(event for event in work if event["cat"] == "wait")
    assert wait["name"] == "wait empty" and "tile" not in wait["args"]
    assert named["process_name", 1, None] == "CTA 0 on SM 17, recorded (NVIDIA Testing 1, 2000-01-01)"
    assert named["process_name", 2, None] == "CTA 1, recorded (NVIDIA Testing 1, 2000-01-01)"
    assert named["thread_name", 1, 100] == "loader, warp 0" and named["thread_name", 1, 104] == "compute, warp 4"
    assert named["thread_sort_index", 1, 100] < named["thread_sort_index", 1, 104]


def test_it_says_where_it_comes_from(tmp_path):
    other = json.loads(write(MEASURED, tmp_path / "trace.json").read_text())["otherData"]
    assert other["provenance"] == MEASURED.label and other["unit"] == "us" and other["date"] == "2000-01-01"
    assert other["kernel"] == "tile_05_mbarrier_ring" and other["params"] == {"STAGES": 3}


@pytest.mark.parametrize("name", ["tile_00_one_buffer", "tile_04_pipeline_roles"])
def test_an_emulated_order_is_exported_as_one(name):
    order = timeline(name, TileProblem(4, tile=32), backend="emulator", grid=2)
    trace = json.loads(json.dumps(perfetto(order)))
    named, work = check_format(trace)
    assert "not a time" in trace["otherData"]["unit"] and trace["otherData"]["provenance"] == "emulated order"
    assert all("emulated order" in value for (kind, *_), value in named.items() if kind == "process_name")
    assert len(work) == len(order.spans) and max(e["ts"] + e["dur"] for e in work) == max(s.end for s in order.spans)


def test_facts_cannot_take_the_place_of_what_the_format_says():
    facts = {"title": "another", "unit": "s", "kernel": "k", "params": {}, "provenance": "measured now", "note": 1}
    other = perfetto(replace(MEASURED, facts=facts))["otherData"]
    assert (other["title"], other["unit"], other["kernel"]) == ("ring", "us", "tile_05_mbarrier_ring")
    assert other["provenance"] == MEASURED.label and other["params"] == {"STAGES": 3} and other["note"] == 1


def test_numbers_of_numpy_are_exported_and_kept(tmp_path):
    n = np.int64
    spans = [Span(n(0), n(4), "compute", n(500), np.float32(1750), n(24)), Span(0, 0, "load", 0, 250, 24)]
    facts = {"device": {"name": "NVIDIA Testing 1"}, "date": "2000-01-01", "clock": {"sms": {n(0): n(17)}},
             "times": np.arange(3), "pair": (n(1), [n(2)])}  # fmt: skip
    timeline = Timeline("ring", spans, MEASURED.label, "ns", n(3), "k", {"STAGES": n(3)}, facts)
    trace = json.loads(write(timeline, tmp_path / "trace.json").read_text())
    assert [event["ts"] for event in trace["traceEvents"] if event["ph"] == "X"] == [0, 0.5]
    assert trace["otherData"]["times"] == [0, 1, 2] and trace["otherData"]["pair"] == [1, [2]]
    assert "CTA 0 on SM 17" in json.dumps(trace)
    assert store.read(store.save(timeline, tmp_path / "kept.json")).spans == (spans[1], spans[0])
