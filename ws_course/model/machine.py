"""What the model of pipelines knows about a device: numbers of two micro-benchmarks, none of a kernel of the ladder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from ws_course.bench.micro import LAYOUTS, Micro, load

MAX_CTAS = 6
SHARED, RESERVED = 228 << 10, 1 << 10
"""Shared memory of an SM, and what it keeps for each CTA, in bytes: compute capability 9.0 and 10.0 (CUDA Programming
Guide, technical specifications per compute capability)."""
THREADS = (128, 256)
"""How many threads compute, in the micro-benchmarks and so in the model."""

Curve = tuple[float, ...]


@dataclass(frozen=True)
class Queue:
    """Hold how long loads wait for the other SMs: ``wait_ns`` at ``rate`` stages per ns and SM, both ascending.

    The last rate is the most that the device delivers: with more in flight, loads wait longer for the same traffic.
    """

    rate: tuple[float, ...]
    wait_ns: tuple[float, ...]

    def at(self, wait_ns: float) -> float:
        """Return the traffic, in stages per ns and SM, at which loads wait so long."""
        return float(np.interp(wait_ns, (0.0, *self.wait_ns), (0.0, *self.rate)))


@dataclass(frozen=True)
class Machine:
    """Hold what the model knows about a device, all of it from :mod:`ws_course.bench.micro`; ``source`` says so.

    Times are nanoseconds. By (load, threads): ``latency`` of a stage on an idle chip; ``issue``, the shortest time
    between two stages of one SM on an idle chip, which is what the loading threads, or the path into the SM, need.
    ``queue`` by (load, store): the waiting of a busy chip. ``handoff``, by compute threads: to another warp, one way.
    ``barrier``, by compute threads: a __syncthreads. ``store``: a tile of C on its way from an SM, ``bulk_store``: the
    same by the copy engine, until it has read C. ``launch``: an empty kernel.

    The rest are curves, for 1, 2, … CTAs that do the same at once: ``product`` by (layout, compute threads). What is
    added to the product of a tile: ``meet`` by (handoff, layout, compute threads), when all threads meet after it;
    ``put`` by compute threads, when the tiles come by way of their registers; ``epilogue`` by (store, layout, compute
    threads, storer warps), until C is out of their hands; ``beside`` by (load, loader warps, compute threads), when a
    stage is loaded at the same time.
    """

    source: str
    sms: int
    launch: float
    latency: Mapping[tuple[str, int], float]
    issue: Mapping[tuple[str, int], float]
    queue: Mapping[tuple[str, str], Queue]
    handoff: Mapping[int, float]
    barrier: Mapping[int, float]
    store: float
    bulk_store: float
    product: Mapping[tuple[str, int], Curve]
    meet: Mapping[tuple[str, str, int], Curve]
    put: Mapping[int, Curve]
    epilogue: Mapping[tuple[str, str, int, int], Curve]
    beside: Mapping[tuple[str, int, int], Curve]


def machine(micro: Micro | None = None) -> Machine:
    """Return what micro-benchmarks say of a device (default: the packaged ones)."""
    m = micro or load()
    barrier = {n: m.work_ns("none", "syncthreads", threads=n) for n in THREADS}

    def alone(kind: str, store: str, threads: int = 128, stages: int = 1) -> float:
        return m.stage_ns(kind, store, threads=threads, stages=stages, sms=1)

    loads = [("registers", n) for n in THREADS] + [("cp.async", n) for n in (32, 64, 128, 256)] + [("bulk", 128)]
    put = {n: _curve(lambda k, n=n: m.work_ns("put", "syncthreads", k, threads=n) - barrier[n] * k) for n in THREADS}
    latency = {(kind, n): alone(kind, "none", n) - barrier[n if n in THREADS else 128] for kind, n in loads}
    latency |= {("registers", n): latency["registers", n] - put[n][0] for n in THREADS}
    store = alone("none", "threads") - barrier[128]
    return Machine(
        source=f"micro-benchmarks{' now' if m.live else ''}, {m.device['name']}{'' if m.live else f', {m.date}'}",
        sms=int(m.device["sm_count"]),
        launch=median(m.launch_ms) * 1e6,
        latency=latency,
        issue={(kind, n): alone(kind, "none", n, 1 if kind == "registers" else 6) for kind, n in loads},
        queue={
            (kind, to): _queue(m, kind, to)
            for kind, to in (("registers", "threads"), ("cp.async", "threads"), ("bulk", "threads"), ("bulk", "bulk"))
        },
        handoff={n: m.work_ns("none", "round trip", threads=n) / 2 for n in THREADS},
        barrier=barrier,
        store=store,
        bulk_store=alone("none", "bulk") - barrier[128],
        product={
            (layout, n): _curve(lambda k, n=n, layout=layout: m.work_ns(ctas_per_sm=k, threads=n, layout=layout))
            for layout in LAYOUTS
            for n in THREADS
        },
        meet=_meetings(m),
        put=put,
        epilogue=_epilogues(m, store, put),
        beside={
            (kind, warps, n): _curve(lambda k, kind=kind, warps=warps, n=n: _beside(m, kind, warps, n, k))
            for kind, warps in (("bulk", 1), ("cp.async", 1), ("cp.async", 2), ("cp.async", 4))
            for n in THREADS
        },
    )


def _added(m: Micro, to: Mapping[str, object], by: Mapping[str, object]) -> Curve:
    """Return what ``by`` adds to the time of ``to``, both fields of a micro-benchmark's product."""
    return _curve(lambda k: max(0.0, m.work_ns(ctas_per_sm=k, **{**to, **by}) - m.work_ns(ctas_per_sm=k, **to)))


def _meetings(m: Micro) -> dict[tuple[str, str, int], Curve]:
    """Return what meeting after a product adds; a record without the calls of cuda::pipeline takes a block barrier."""
    found = {}
    for n in THREADS:
        for layout in LAYOUTS:
            to = {"threads": n, "layout": layout}
            found["syncthreads", layout, n] = _added(m, to, {"handoff": "syncthreads"})
        try:
            found["pipeline", "rows", n] = _added(m, {"threads": n}, {"handoff": "pipeline"})
        except KeyError:
            found["pipeline", "rows", n] = found["syncthreads", "rows", n]
    return found


def _epilogues(m: Micro, store: float, put: Mapping[int, Curve]) -> dict[tuple[str, str, int, int], Curve]:
    """Return what getting rid of C adds to a product, by (store, layout, compute threads, storer warps).

    A record without epilogues gives their parts: a whole store, or half of what it takes to put a stage.
    """
    found = {}
    for n in THREADS:
        for kind, layout, storers, warps in (
            ("threads", "rows", 0, 0),
            ("threads", "swizzled", 0, 0),
            ("storer", "rows", 1, 1),
            ("storer", "rows", 2, 2),
            ("bulk", "swizzled", 0, 0),
            ("bulk storer", "swizzled", 0, 1),
        ):
            try:
                by = {"epilogue": kind, "loader_warps": warps}
                found[kind, layout, n, storers] = _added(m, {"threads": n, "layout": layout}, by)
            except KeyError:
                parts = (store,) * MAX_CTAS if kind == "threads" else tuple(ns / 2 for ns in put[n])
                found[kind, layout, n, storers] = parts
    return found


def _beside(m: Micro, kind: str, warps: int, threads: int, ctas: int) -> float:
    """Return what loading a stage in each of ``ctas`` CTAs adds to the time of the products that they do meanwhile."""
    busy = m.product(ctas_per_sm=ctas, threads=threads, loader_warps=warps, background=kind)
    try:
        idle = m.product(ctas_per_sm=ctas, threads=threads, loader_warps=warps)
    except KeyError:
        idle = m.product(ctas_per_sm=ctas, threads=threads)
    return max(0.0, (busy.ms - idle.ms) * 1e6 / busy.loaded * ctas)


def _curve(of: Callable[[int], float]) -> Curve:
    """Return a value for 1, 2, … CTAs; where so many do not fit, the last one in proportion."""
    found = [of(1)]
    for k in range(2, MAX_CTAS + 1):
        try:
            found.append(of(k))
        except KeyError:
            found.append(found[-1] * k / (k - 1))
    return tuple(found)


def _queue(m: Micro, kind: str, store: str) -> Queue:
    """Return the waiting on a busy chip: by Little's law, a stage takes (in flight) x (time of a stage)."""
    lonely = m.stage_ns(kind, store, stages=1, sms=1)
    points: dict[int, list[float]] = {}
    for s in m.streams:
        if (s.kind, s.store, s.threads, s.pace) == (kind, store, 128, 0) and s.sms > 1:
            ns = m.stage_ns(kind, store, s.ctas_per_sm, stages=s.stages)
            points.setdefault(s.stages * s.ctas_per_sm, []).append(ns)
    rates: list[float] = []
    waits: list[float] = []
    for n, found in sorted(points.items()):
        ns = median(found)
        wait = max(n * ns - lonely, 0.0)
        if not rates or (1 / ns > rates[-1] and wait > waits[-1]):
            rates.append(1 / ns)
            waits.append(wait)
    return Queue(tuple(rates), tuple(waits))
