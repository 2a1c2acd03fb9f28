"""What a launch brought back, whichever backend ran it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ws_course.faults import Fault


@dataclass(frozen=True)
class Span:
    """Mark what one warp did from ``start`` to ``end``.

    ``work`` is "load", "compute", "store" or "wait"; ``name`` is what is waited for, or empty; ``item`` counts tiles
    (-1: none). Times are nanoseconds on a GPU, from the earliest start on; in the emulator they are ticks of its
    logical clock: an order, not a duration. A GPU does not write down waiting: its spans of waiting are the gaps
    between what a warp marked (:func:`ws_course.runtime.spans.decode`).
    """

    block: int
    warp: int
    work: str
    start: int
    end: int
    item: int = -1
    name: str = ""


@dataclass(frozen=True)
class Result:
    """Hold the outcome of one run: faults (empty if none was found), trace spans, and how it ran.

    ``backend`` is "gpu" or "emulator", ``device`` a readable name, ``seconds`` the wall time of the run (compile time
    apart), ``seeds`` the schedules tried (emulator), ``printed`` what the kernel printed. Output arrays were written
    in place, by the first schedule; ``outputs`` (emulator) holds for each schedule the contents of the call's distinct
    arrays, in the order of the arguments.
    """

    backend: str
    device: str
    seconds: float
    faults: tuple[Fault, ...] = ()
    spans: tuple[Span, ...] = ()
    seeds: tuple[int, ...] = ()
    printed: str = ""
    stats: dict = field(default_factory=dict)
    outputs: tuple[tuple[np.ndarray, ...], ...] = field(default=(), repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Return whether no fault was found."""
        return not self.faults

    def __str__(self) -> str:
        if self.ok:
            schedules = f", {len(self.seeds)} schedule{'s' if len(self.seeds) != 1 else ''}" if self.seeds else ""
            return f"no fault found ({self.device}{schedules})"
        return "\n".join(str(f) for f in self.faults)
