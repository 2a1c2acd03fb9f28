"""What a GPU writes down of each warp's work, and how it becomes spans in nanoseconds.

A kernel that is built with ``-DWS_TRACE`` writes, for each ``ws::Span``, the cycles of its SM at the start and at the
end, and the time of a clock that all SMs share but that ticks coarsely (``ws/trace.cuh`` holds the same layouts).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ws_course.runtime.launch import Launch
from ws_course.runtime.result import Span

DEFINE = "WS_TRACE"
SYMBOL = "ws_trace"
BYTES = 16 << 20
"""The device memory for the events of one launch, unless a :class:`Window` asks for more."""

CONTROL = np.dtype([("place", "<u8"), ("blocks", "<u4"), ("events", "<u4"), ("first", "<i4"), ("last", "<i4")])
HEAD = np.dtype([("seen", "<u4"), ("kept", "<u4"), ("sm", "<u4"), ("speaker", "<u4")])
EVENT = np.dtype([("start", "<u8"), ("end", "<u8"), ("ns", "<u8"), ("number", "<u4"), ("what", "<i4")])
WORKS = ("load", "compute", "store")

_LEAST_TICKS = 50
_ALL = np.iinfo(np.int32)


@dataclass(frozen=True)
class Window:
    """Say which spans of a traced launch to keep.

    The first ``blocks`` blocks of the grid (0: all, up to 1024), at most ``events`` spans of each warp (0: as many as
    fit into :data:`BYTES`), and of those the spans whose item is at least ``first`` and below ``last``.
    """

    blocks: int = 0
    events: int = 0
    first: int = int(_ALL.min)
    last: int = int(_ALL.max)

    def resolve(self, launch: Launch) -> Window:
        """Return the window for one launch, with both numbers filled in."""
        blocks = min(self.blocks or 1024, launch.blocks)
        warps = blocks * warps_of(launch)
        events = self.events or max(16, min(4096, BYTES // (warps * EVENT.itemsize)))
        return Window(blocks, events, self.first, self.last)


def warps_of(launch: Launch) -> int:
    """Return the number of warps of one block."""
    return -(-launch.threads // 32)


def layout(window: Window, launch: Launch) -> np.dtype:
    """Return the type of what a launch writes with a resolved ``window``: per block, per warp, a head and events."""
    record = np.dtype([("head", HEAD), ("events", EVENT, (window.events,))])
    return np.dtype((record, (window.blocks, warps_of(launch))))


@dataclass(frozen=True)
class Trace:
    """Hold decoded spans, their times in ns from the earliest start on.

    ``sms`` maps each block to the SM it ran on, ``skipped`` to the tiles that it loaded before the first one that is
    kept (blocks that have a warp which only loads), ``lost`` counts spans for which there was no room, ``tick_ns`` is
    the finest step seen of the clock that all SMs share (0.0 with fewer than two readings), ``mhz`` the SM clock that
    turned cycles into ns, ``fitted`` whether it was measured by this launch (else it is the nominal one), ``error_ns``
    how far both clocks are apart after the fit (root mean square; a clock that ticks every t ns leaves 0.29 t).
    """

    spans: tuple[Span, ...]
    sms: dict[int, int]
    skipped: dict[int, int]
    lost: int
    tick_ns: float
    mhz: float
    fitted: bool
    error_ns: float

    def facts(self) -> dict[str, object]:
        """Return everything but the spans."""
        return {
            name: getattr(self, name) for name in ("sms", "skipped", "lost", "tick_ns", "mhz", "fitted", "error_ns")
        }


def decode(records: np.ndarray, nominal_mhz: float) -> Trace:
    """Turn what a launch wrote, an array of :func:`layout`, into spans; gaps of a warp become spans of waiting.

    Cycles become ns by one rate for the whole device (all SMs share a clock frequency) and one offset for each SM, both
    by least squares against the shared clock. Where that clock ticked less than 50 times during the launch the rate is
    ``nominal_mhz`` instead. A gap between two consecutive spans of a warp is what the warp waited, and the few
    instructions it did not mark; it is called "empty" before a load of a warp that only loads, "full" before a store of
    one that only stores and before a compute of one that computes and stores, and has no name where it may be more than
    one wait. Raises ``ValueError`` for what no kernel writes, such as a span that ends before it starts.
    """
    head, events = records["head"], records["events"]
    room = events.shape[-1]
    kept = np.minimum(head["kept"], room)
    lost = int((head["kept"].astype(np.int64) - kept).sum())
    block, warp, slot = np.nonzero(np.arange(room) < kept[..., None])
    found, sm = events[block, warp, slot], head["sm"][block, warp]
    if not len(found):
        return Trace((), {}, {}, lost, 0.0, nominal_mhz, False, 0.0)
    broken = (found["end"] < found["start"]) | ((found["what"] & 3) >= len(WORKS))
    if broken.any():
        b, w = block[broken][0], warp[broken][0]
        raise ValueError(
            f"the trace holds no span where block {b}, warp {w} should have written one: it ends before it starts, or "
            "is no work that can be marked; has the kernel written beyond one of its arrays?"
        )
    start, end, clock = _nanoseconds(found, sm, 1e3 / nominal_mhz)
    work, item, number = found["what"] & 3, found["what"] >> 2, found["number"]
    did = np.zeros(head.shape, int)
    np.bitwise_or.at(did, (block, warp), 1 << work)
    spans = []
    before: dict[tuple[int, int], tuple[int, int]] = {}
    columns = (block, warp, work, start, end, item, number)
    for b, w, k, s, e, i, n in zip(*(column.tolist() for column in columns), strict=True):
        last_number, last_end = before.get((b, w), (-2, 0))
        if n == last_number + 1 and s > last_end:
            spans.append(Span(b, w, "wait", last_end, s, -1, _waits_for(int(did[b, w]), k)))
        spans.append(Span(b, w, WORKS[k], s, e, i))
        before[b, w] = (n, max(e, last_end))
    sms, skipped = {}, {}
    firsts = np.flatnonzero(slot == 0)[::-1]  # backwards, so that the first loading warp of a block has the last word
    for b, w, s, n in zip(*(column[firsts].tolist() for column in (block, warp, sm, number)), strict=True):
        sms[b] = s
        if did[b, w] == 1 << WORKS.index("load"):
            skipped[b] = n
    return Trace(tuple(spans), sms, skipped, lost, **clock)


def _waits_for(did: int, work: int) -> str:
    """Name what a warp waited for before ``work``; ``did`` has the bit ``1 << work`` of everything the warp did."""
    load, compute, store = (1 << k for k in range(3))
    if did == load:
        return "empty"
    if did == store or (did == compute | store and 1 << work == compute):
        return "full"
    return ""


def _nanoseconds(
    found: np.ndarray, sm: np.ndarray, nominal: float
) -> tuple[np.ndarray, np.ndarray, dict[str, float | bool]]:
    """Return starts and ends in ns, and what :class:`Trace` says about the clocks."""
    shared = (found["ns"] - found["ns"].min()).astype(np.float64)
    steps = np.diff(np.unique(shared))
    tick = float(steps.min()) if len(steps) else 0.0
    numbers = np.unique(sm)
    base = {n: found["start"][sm == n].min() for n in numbers}  # whole numbers first: 64 bits do not fit a double
    origin = np.array([base[n] for n in sm], np.uint64)
    start, end = ((found[name] - origin).astype(np.float64) for name in ("start", "end"))
    x, y = end.copy(), shared.copy()
    for n in numbers:
        x[sm == n] -= x[sm == n].mean()
        y[sm == n] -= y[sm == n].mean()
    rate, fitted = nominal, False
    reach = max(float(np.ptp(shared[sm == n])) for n in numbers)
    if tick and reach >= _LEAST_TICKS * tick:
        rate, fitted = float((x @ y) / (x @ x)), True
    offset = {n: float((shared[sm == n] - rate * end[sm == n]).mean()) for n in numbers}
    shift = np.array([offset[n] for n in sm])
    start, end = start * rate + shift, end * rate + shift
    clock = {
        "tick_ns": tick,
        "mhz": 1e3 / rate,
        "fitted": fitted,
        "error_ns": float(np.sqrt(np.mean((shared - end) ** 2))),
    }
    zero = start.min()
    return np.rint(start - zero).astype(np.int64), np.rint(end - zero).astype(np.int64), clock
