"""A timeline in a few lines of text: what each warp did, and on a GPU which share of the time."""

from __future__ import annotations

from collections import Counter

from ws_course.trace.roles import rows
from ws_course.trace.timeline import TICKS, Timeline


def summary(timeline: Timeline) -> str:
    """Return one line for the run and one for each warp.

    Shares are of the time from a warp's first span to its last; ticks of an emulated order have none.
    """
    if not timeline.spans:
        return f"{timeline.title}: {timeline.label}, no spans"
    reach = max(s.end for s in timeline.spans) - min(s.start for s in timeline.spans)
    lines = [f"{timeline.title}: {timeline.label}, {reach} {timeline.unit}"]
    for block, role, warp in rows(timeline.spans):
        own = [s for s in timeline.spans if (s.block, s.warp) == (block, warp)]
        count = Counter(s.work for s in own)
        took = max(1, max(s.end for s in own) - min(s.start for s in own))

        def share(work: str, own: list = own, took: int = took) -> str:
            busy = sum(s.end - s.start for s in own if s.work == work)
            return "" if timeline.unit == TICKS else f" ({busy / took:.0%})"

        works = [f"{work} {count[work]}{share(work)}" for work in ("load", "compute", "store", "wait") if count[work]]
        lines.append(f"  CTA {block:<3} warp {warp:<2} {role:14} {', '.join(works)}")
    return "\n".join(lines)
