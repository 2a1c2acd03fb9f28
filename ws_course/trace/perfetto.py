"""Timelines for Perfetto (ui.perfetto.dev) and chrome://tracing, in the Trace Event Format.

The format is Google's "Trace Event Format" document, "JSON Object Format": complete events (``"ph": "X"``) with ``ts``
and ``dur`` in microseconds, metadata events (``"M"``) that name processes and threads. A CTA is a process and a warp a
thread of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ws_course.trace.roles import rows
from ws_course.trace.timeline import TICKS, Timeline

NS_PER_US = 1000


def perfetto(timeline: Timeline) -> dict[str, object]:
    """Return a timeline in the Trace Event Format, ready for ``json.dump``.

    Times in ns become microseconds. The ticks of an emulated order are no time, but the format has no other unit: one
    tick is shown as one microsecond, and the names of the processes and "otherData" say so. "otherData" holds the
    label, what ran and the timeline's facts.
    """
    ordered = timeline.unit == TICKS
    scale = 1 if ordered else NS_PER_US
    work = [
        {
            "ph": "X",
            "name": f"{span.work} {span.item}" if span.item >= 0 else f"{span.work} {span.name}".strip(),
            "cat": span.work,
            "pid": _process(span.block),
            "tid": _thread(span.block, span.warp),
            "ts": span.start / scale,
            "dur": (span.end - span.start) / scale,
            "args": {"block": span.block, "warp": span.warp, **({"tile": span.item} if span.item >= 0 else {})},
        }
        for span in sorted(timeline.spans, key=lambda span: (span.start, -span.end))
    ]
    return {
        "traceEvents": [*_names(timeline), *work],
        "displayTimeUnit": "ns",
        "otherData": {
            **timeline.facts,  # first: a fact called "title" is not the title
            "title": timeline.title,
            "provenance": timeline.label,
            "unit": "1 us shown is 1 tick: an order, not a time" if ordered else "us",
            "kernel": timeline.kernel,
            "params": dict(timeline.params),
        },
    }


def write(timeline: Timeline, path: str | Path) -> Path:
    """Write a timeline as a file that ui.perfetto.dev and chrome://tracing open; return the path."""
    path = Path(path)
    path.write_text(json.dumps(perfetto(timeline)), encoding="utf-8")
    return path


def _process(block: int) -> int:
    return block + 1  # process 0 is the idle process to Perfetto


def _thread(block: int, warp: int) -> int:
    return 100 * _process(block) + warp  # unique in the whole trace; a CTA has at most 32 warps


def _names(timeline: Timeline) -> list[dict[str, object]]:
    """Name and order CTAs and warps, loaders first."""
    clock = timeline.facts.get("clock")
    sms = clock.get("sms", {}) if isinstance(clock, Mapping) else {}
    order = rows(timeline.spans)
    named = []

    def name(kind: str, value: str, place: int, ids: dict[str, int]) -> None:
        named.append({"ph": "M", "name": f"{kind}_name", **ids, "args": {"name": value}})
        named.append({"ph": "M", "name": f"{kind}_sort_index", **ids, "args": {"sort_index": place}})

    for block in dict.fromkeys(block for block, _, _ in order):
        where = f" on SM {sms[block]}" if block in sms else ""
        name("process", f"CTA {block}{where}, {timeline.label}", block, {"pid": _process(block)})
    for place, (block, role, warp) in enumerate(order):
        ids = {"pid": _process(block), "tid": _thread(block, warp)}
        name("thread", f"{role}, warp {warp}", place, ids)
    return named
