"""Who works on which tile, and until when: tiles dealt out beforehand, or taken from a counter."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heapreplace
from itertools import count

import numpy as np

from ws_course.runtime.result import Span
from ws_course.trace.timeline import Timeline

STATIC, DYNAMIC = "static", "dynamic"


@dataclass(frozen=True, eq=False)
class Schedule:
    """Hold for each tile its CTA, and when work on it starts and ends; ``ctas`` CTAs start together at 0.

    All three arrays have one element a tile; ``start`` and ``end`` are in the unit of the work.
    """

    name: str
    ctas: int
    cta: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @property
    def length(self) -> float:
        """Return when the last CTA is done: 0 without tiles."""
        return float(self.end.max(initial=0.0))

    @property
    def finish(self) -> np.ndarray:
        """Return when each CTA is done, 0 for one that had no tile."""
        done = np.zeros(self.ctas)
        np.maximum.at(done, self.cta, self.end)
        return done

    @property
    def busy(self) -> float:
        """Return the share of all CTAs' time, until the last one is done, in which they work."""
        return float((self.end - self.start).sum() / (self.length * self.ctas)) if self.length else 1.0

    def timeline(self, title: str = "") -> Timeline:
        """Return the schedule as a timeline of one row a CTA, times in units of the work, rounded to whole ones."""
        spans = [
            Span(int(c), 0, "compute", round(float(a)), round(float(b)), tile)
            for tile, (c, a, b) in enumerate(zip(self.cta, self.start, self.end, strict=True))
        ]
        return Timeline(title or self.name, tuple(spans), "modelled (schedule)", unit="units of work")


def static(work: Sequence[float], ctas: int) -> Schedule:
    """Deal tile i to CTA ``i % ctas``, as a grid-stride loop does; ``work`` is what each tile costs."""
    amounts = _checked(work, ctas)
    rounds = -(-len(amounts) // ctas)
    table = np.zeros((rounds, ctas))
    table.flat[: len(amounts)] = amounts
    end = table.cumsum(axis=0).ravel()[: len(amounts)]
    return Schedule(STATIC, ctas, np.arange(len(amounts)) % ctas, end - amounts, end)


def dynamic(work: Sequence[float], ctas: int, ahead: int = 0) -> Schedule:
    """Let each CTA take the next number of a counter, ``ahead`` tiles before it works on that tile.

    The first tile of a CTA is its own number. With ``ahead`` 0 it asks when it is done with a tile; otherwise at the
    beginning of the tile that is ``ahead`` before, so that the first ``ahead`` rounds are dealt out at the start. Of
    CTAs that ask at the same time the one with the lowest number is first.
    """
    amounts = _checked(work, ctas)
    if ahead < 0:
        raise ValueError(f"ahead={ahead} must be at least 0: a tile cannot be taken after it is done")
    tiles, kept = len(amounts), max(1, ahead)
    cta, start, end = np.zeros(tiles, int), np.zeros(tiles), np.zeros(tiles)
    queues = [deque(range(c, c + kept * ctas, ctas)) for c in range(ctas)]
    counter = count(kept * ctas)
    free = [(0.0, c) for c in range(ctas)]  # when, and who: sorted, so already a heap
    while free:
        now, c = free[0]
        if not queues[c]:  # it asks only now
            queues[c].append(next(counter))
        tile = queues[c].popleft()
        if tile >= tiles:
            heappop(free)
            continue
        if ahead:
            queues[c].append(next(counter))
        cta[tile], start[tile], end[tile] = c, now, now + amounts[tile]
        heapreplace(free, (end[tile], c))
    return Schedule(DYNAMIC, ctas, cta, start, end)


def _checked(work: Sequence[float], ctas: int) -> np.ndarray:
    amounts = np.asarray(work, float)
    if amounts.ndim != 1 or not (np.isfinite(amounts).all() and (amounts >= 0).all()) or ctas < 1:
        raise ValueError(f"give one amount of work a tile, none negative, and at least one CTA, not {ctas}")
    return amounts
