"""What the slots of a ring hold, and where their barriers stand, told from the spans of a timeline.

A trace has spans of work, no events of barriers. What follows from the spans is therefore inferred, by these rules:

- The n-th tile of a CTA, in the order of the tile numbers, goes through slot ``n % stages``, in round ``n // stages``.
- The slot is *filling* from the start of the first load span of the tile, and *landing* from the end of the last one:
  all copies are asked for, and are on their way or there.
- It is *full* when the first compute warp passes ``full[slot]``: at the end of that warp's wait for a ``full[…]`` just
  before its compute span, or where it did not wait, at the start of the span. A copy that nobody waited for has landed
  earlier, while the slot counts as landing: no span says when. A model knows: there a load span lasts until its data
  has landed, and the slot is full at the end of the tile's last one.
- It is *draining*, being read, from the start of the tile's first compute span.
- It is *empty* again at the end of the tile's last compute span, when the last reader releases it.

``full[slot]`` completes a phase whenever the slot becomes full, ``empty[slot]`` whenever it is released. That
``empty[slot]`` passes at first, before anybody has released anything, is the parity that the producer starts with and
no phase.

A piece cut from the middle of a run says nothing about the time around it. Until its first event, and after its last
tile has been released, what a slot holds and how far its barriers are is *unknown*: there are tiles before and behind
that the piece does not show. In between phases are those of the whole run: ``n`` counts all tiles of the CTA, also
those before the piece (:meth:`ws_course.trace.timeline.Timeline.before`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from ws_course.runtime.result import Span
from ws_course.trace.timeline import Timeline

STATES = ("empty", "filling", "landing", "full", "draining")
UNKNOWN = "unknown"
"""The state of a slot before and behind what a piece of a run shows of it."""

# "full[0]" in the emulator; a GPU that sees only a gap before the work calls it "full".
_FULL = re.compile(r"\bfull\[|^full$")
# What comes first of events at the same moment: a slot is released before it is filled, and full before it is read.
_ORDER = {"release": 0, "fill": 1, "issued": 2, "land": 3, "read": 4}


@dataclass(frozen=True)
class SlotEvent:
    """Say what a slot of the ring of ``block`` holds from ``time`` on, and how far its barriers are.

    ``state`` is one of :data:`STATES` or :data:`UNKNOWN`; then the numbers are the last that are known. ``item`` is the
    tile in the slot (-1: none). ``full`` and ``empty`` count the phases that the slot's two barriers have completed, so
    they are also the number of the phase in which each now is.
    """

    time: int
    block: int
    slot: int
    state: str
    item: int
    full: int
    empty: int

    @property
    def parities(self) -> tuple[int, int]:
        """Return the parity bits of the phases in which ``full`` and ``empty`` now are."""
        return self.full & 1, self.empty & 1


def loads_land(timeline: Timeline) -> bool:
    """Return whether a load span lasts until its data has landed, not only until the copy is asked for: in a model."""
    return timeline.label.startswith("modelled")


def slots(timeline: Timeline) -> tuple[SlotEvent, ...]:
    """Return what happens to the slots of the rings of all blocks, in order of time; nothing without a ring.

    Until its first event a slot is empty and both its barriers are in phase 0; where the CTA had tiles before those of
    the timeline, it is unknown. Phases count from the first tile of the CTA. The rules, and what they cannot know, are
    at the head of this module.
    """
    if not timeline.stages:
        return ()
    found: list[SlotEvent] = []
    for (block, slot), happened in _by_slot(timeline).items():
        # A piece begins with a full round behind it: each earlier tile of the slot has been filled and released.
        full = empty = len(range(slot, timeline.before(block), timeline.stages))
        state, tile, last = "empty", -1, max(item for _, _, item in happened)
        for time, kind, item in sorted(happened, key=lambda h: (h[0], _ORDER[h[1]])):
            if kind == "fill":
                state, tile = "filling", item
            elif kind == "issued":
                # Without effect where a reader was there before the loader said that it is done.
                if (state, tile) != ("filling", item):
                    continue
                state = "landing"
            elif kind == "land":
                state, tile, full = "full", item, full + 1
            elif kind == "read":
                state, tile = "draining", item
            else:
                empty += 1
                # A slot that was filled again before its readers have left it, a mistake, does not become empty.
                if tile == item:
                    state, tile = UNKNOWN if timeline.is_piece and item == last else "empty", -1
            found.append(SlotEvent(time, block, slot, state, tile, full, empty))
    # A stable sort: events of one slot at one moment stay in their order.
    return tuple(sorted(found, key=lambda event: (event.time, event.block, event.slot)))


def _by_slot(timeline: Timeline) -> dict[tuple[int, int], list[tuple[int, str, int]]]:
    """Return for each (block, slot) what happens there: (time, what, tile), where what is in ``_ORDER``."""
    loads, computes = defaultdict(list), defaultdict(list)
    for span in timeline.spans:
        if span.item >= 0 and span.work in ("load", "compute"):
            (loads if span.work == "load" else computes)[span.block, span.item].append(span)
    passed, landed_at_end = _passed_full(timeline.spans), loads_land(timeline)
    happened = defaultdict(list)
    number: dict[int, int] = {}
    for block, item in sorted({*loads, *computes}):
        number[block] = number.get(block, timeline.before(block) - 1) + 1
        mine = happened[block, number[block] % timeline.stages]
        load, compute = loads[block, item], computes[block, item]
        begin = min((span.start for span in load), default=None)
        if load:
            mine.append((begin, "fill", item))
        if load and landed_at_end:
            mine.append((max(span.end for span in load), "land", item))
        elif load:
            mine.append((max(span.end for span in load), "issued", item))
        if compute and not (load and landed_at_end):
            landed = min(passed.get(span, span.start) for span in compute)
            mine.append((landed if begin is None else max(begin, landed), "land", item))
        if compute:
            mine.append((min(span.start for span in compute), "read", item))
            mine.append((max(span.end for span in compute), "release", item))
    return happened


def _passed_full(spans: tuple[Span, ...]) -> dict[Span, int]:
    """Return when the warp of a compute span passed the full barrier: the end of its wait just before the span."""
    warps = defaultdict(list)
    for span in spans:
        warps[span.block, span.warp].append(span)
    passed = {}
    for own in warps.values():
        own.sort(key=lambda span: (span.start, span.end))
        for before, span in zip(own, own[1:], strict=False):
            if span.work == "compute" and before.work == "wait" and _FULL.search(before.name):
                passed[span] = before.end
    return passed
