"""What a pipeline should take: one SM, simulated event by event, with numbers that two micro-benchmarks measured.

The SM holds some CTAs of one :class:`Pipeline`. They share the path of loads into the SM (one stage at a time) and the
multipliers (the more CTAs compute at once, the longer each product takes). Everything else is a delay. The other SMs
do the same: how long a load waits for them is found such that the traffic the simulated SM makes and the traffic at
which loads wait that long agree. Every number is in :class:`Machine`; none comes from a kernel of the ladder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import numpy as np

from ws_course.bench.micro import Micro
from ws_course.bench.micro import load as load_micro
from ws_course.bench.record import Measurement, Record
from ws_course.kernels import catalog
from ws_course.problem import TileProblem
from ws_course.runtime.result import Span
from ws_course.trace.timeline import Timeline

KINDS = ("serial", "double", "async", "unified", "roles")
STORES = ("threads", "storer", "bulk", "bulk storer")
MAX_CTAS = 6
_WORK = ("load", "compute", "store")


@dataclass(frozen=True)
class Pipeline:
    """Describe how a kernel works through its tiles.

    ``kind`` is "serial" (load, wait, compute), "double" (a load into registers travels during the product), "async"
    (copies STAGES - 1 ahead, all threads meet at a block barrier), "unified" (the same with a barrier per stage) or
    "roles" (a loader of its own runs ahead by ``stages``). ``load`` is "registers", "cp.async" or "bulk"; ``store``
    "threads" (those that compute), "storer" (warps of their own, from shared memory), "bulk" (the copy engine, asked
    by a compute thread) or "bulk storer" (asked by a thread of its own). ``loader_threads`` issue the loads; ``share``
    tiles use the same B.
    """

    kind: str = "roles"
    load: str = "cp.async"
    store: str = "threads"
    stages: int = 2
    loader_threads: int = 64
    compute_threads: int = 128
    layout: str = "rows"
    intensity: int = 1
    ctas: int = 1
    share: int = 1

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.store not in STORES:
            raise ValueError(f"kind {self.kind!r} must be one of {KINDS} and store {self.store!r} one of {STORES}")
        if not 1 <= self.ctas <= MAX_CTAS or self.stages < 1 or self.intensity < 0:
            raise ValueError(f"{self} needs 1 to {MAX_CTAS} CTAs, a stage and an intensity of at least 0")
        if self.kind in ("async", "unified") and self.stages < 2:
            raise ValueError(f"a pipeline of kind {self.kind} needs 2 stages: one to read, one to fill")


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
    ``queue`` by (load, store): the waiting of a busy chip. ``product`` by (layout, compute threads): a tile product
    while 1, 2, … CTAs compute at once; ``ramp``: what the first product after a barrier takes more, likewise.
    ``barrier``, ``arrive``, ``handoff`` by compute threads: __syncthreads, a barrier of all compute threads in shared
    memory, and a round trip to another warp and back. ``put``: a stage from registers to shared memory. ``store`` by
    compute threads: a tile of C from registers; ``bulk_store``: by the copy engine, until it has read C. ``disturb``
    by (load, loader warps, compute threads): what one loaded stage adds to the products beside it. ``launch``: an
    empty kernel.
    """

    source: str
    sms: int
    launch: float
    latency: Mapping[tuple[str, int], float]
    issue: Mapping[tuple[str, int], float]
    queue: Mapping[tuple[str, str], Queue]
    product: Mapping[tuple[str, int], tuple[float, ...]]
    ramp: Mapping[tuple[str, int], tuple[float, ...]]
    barrier: Mapping[int, float]
    arrive: Mapping[int, float]
    handoff: Mapping[int, float]
    put: Mapping[int, float]
    store: Mapping[int, float]
    bulk_store: float
    disturb: Mapping[tuple[str, int, int], float]


class Times(NamedTuple):
    """Hold the times of one pipeline on one machine, in nanoseconds, ``ramp`` in products."""

    latency: float
    wait: float
    path: float
    issue: float
    ramp: float
    disturb: float
    barrier: float
    handoff: float
    put: float
    put_c: float
    store: float
    bulk_store: float


@dataclass(frozen=True)
class Prediction:
    """Hold what the model says of one pipeline: ``ms`` for the whole problem, and how it got there.

    ``wait_ns`` is how long a load waits for the other SMs, ``stages_in_flight`` the loads of one SM in flight on
    average, ``computing`` the share of the time in which at least one CTA of it multiplies.
    """

    pipeline: Pipeline
    machine: Machine = field(repr=False)
    tiles: int
    ms: float
    wait_ns: float
    stages_in_flight: float
    computing: float

    @property
    def label(self) -> str:
        """Return where the number comes from."""
        return f"modelled ({self.machine.source})"


def machine(micro: Micro | None = None) -> Machine:
    """Return what micro-benchmarks say of a device (default: the packaged ones)."""
    micro = micro or load_micro()
    both = (128, 256)
    barrier = {n: micro.work_ns("none", "syncthreads", threads=n) for n in both}
    put = {n: micro.work_ns("put", "syncthreads", threads=n) - barrier[n] for n in both}

    def alone(kind: str, store: str, threads: int = 128, stages: int = 1) -> float:
        return micro.stage_ns(kind, store, threads=threads, stages=stages, sms=1)

    loads = [("registers", n) for n in both] + [("cp.async", 32), ("cp.async", 64), ("cp.async", 128)]
    loads += [("cp.async", 256), ("bulk", 128)]
    latency = {(kind, n): alone(kind, "none", n) - barrier[128] for kind, n in loads}
    for n in both:
        latency["registers", n] -= put[n]
    product, ramp = {}, {}
    for layout in ("rows", "swizzled"):
        for n in both:
            lone = _curve(lambda k, n=n, layout=layout: micro.work_ns("product", "none", k, threads=n, layout=layout))
            met = _curve(
                lambda k, n=n, layout=layout: micro.work_ns("product", "syncthreads", k, threads=n, layout=layout)
            )
            product[layout, n] = lone
            ramp[layout, n] = tuple(max(0.0, (b - barrier[n]) / a - 1) for a, b in zip(lone, met, strict=True))
    disturb = {}
    for n in both:
        without = micro.product(threads=n)
        for kind, warps in (("bulk", 1), ("cp.async", 1), ("cp.async", 2), ("cp.async", 4)):
            beside = micro.product(threads=n, background=kind, loader_warps=warps)
            disturb[kind, warps, n] = max(0.0, (beside.ms - without.ms) * 1e6 / beside.loaded)
    return Machine(
        source=_source(micro),
        sms=int(micro.device["sm_count"]),
        launch=median(micro.launch_ms) * 1e6,
        latency=latency,
        issue={(kind, n): alone(kind, "none", n, 1 if kind == "registers" else 6) for kind, n in loads},
        queue={
            (kind, store): _queue(micro, kind, store)
            for kind, store in (
                ("registers", "threads"),
                ("cp.async", "threads"),
                ("bulk", "threads"),
                ("bulk", "bulk"),
            )
        },
        product=product,
        ramp=ramp,
        barrier=barrier,
        arrive={n: micro.work_ns("none", "mbarrier", threads=n) for n in both},
        handoff={n: micro.work_ns("none", "round trip", threads=n) / 2 for n in both},
        put=put,
        store={n: alone("none", "threads", n) - barrier[n] for n in both},
        bulk_store=alone("none", "bulk") - barrier[128],
        disturb=disturb,
    )


def _source(micro: Micro) -> str:
    name = micro.device["name"]
    return f"micro-benchmarks now, {name}" if micro.live else f"micro-benchmarks, {name}, {micro.date}"


def _curve(of: Callable[[int], float]) -> tuple[float, ...]:
    """Return a value for 1, 2, … CTAs; where so many do not fit, the last one in proportion."""
    found: list[float] = []
    for k in range(1, MAX_CTAS + 1):
        try:
            found.append(of(k))
        except KeyError:
            found.append(found[-1] * k / (k - 1))
    return tuple(found)


def _queue(micro: Micro, kind: str, store: str) -> Queue:
    """Return the waiting on a busy chip: by Little's law, a stage takes (in flight) x (time of a stage)."""
    lonely = micro.stage_ns(kind, store, stages=1, sms=1)
    points: dict[int, list[float]] = {}
    for s in micro.streams:
        if (s.kind, s.store, s.threads) == (kind, store, 128) and s.sms > 1:
            ns = micro.stage_ns(kind, store, s.ctas_per_sm, stages=s.stages)
            points.setdefault(s.stages * s.ctas_per_sm, []).append(ns)
    rates, waits = [], []
    for n, found in sorted(points.items()):
        ns = median(found)
        wait = max(n * ns - lonely, 0.0)
        if not rates or (1 / ns > rates[-1] and wait > waits[-1]):
            rates.append(1 / ns)
            waits.append(wait)
    return Queue(tuple(rates), tuple(waits))


_BULK = {"load": "bulk", "loader_threads": 32}
_SHAPES: dict[str, dict] = {
    "tile_00_one_buffer": {"kind": "serial", "load": "registers", "stages": 1},
    "tile_01_double_buffer": {"kind": "double", "load": "registers", "stages": 2},
    "tile_02_cp_async": {"kind": "async"},
    "tile_03_pipeline_unified": {"kind": "unified"},
    "tile_04_pipeline_roles": {"store": "storer"},
    "tile_04_two_roles": {},
    "tile_05_mbarrier_ring": {},
    "tile_06_bulk_copy": _BULK,
    "tile_07_tma_tensor": {**_BULK, "layout": "swizzled", "store": "bulk"},
    "tile_07_direct_store": {**_BULK, "layout": "swizzled"},
    "tile_08_registers": {**_BULK, "layout": "swizzled", "store": "bulk"},
    "tile_09_persistent": {**_BULK, "layout": "swizzled", "store": "bulk storer"},
    "tile_10_cluster_dsmem": _BULK,
    "tile_11_cluster_multicast": _BULK,
}


def knows(kernel: str) -> bool:
    """Return whether the model has a pipeline for a kernel of the catalog."""
    return kernel in _SHAPES


def of(kernel: str, params: Mapping[str, int], ctas: int) -> Pipeline:
    """Return the pipeline of a kernel with its constants; raise ``KeyError`` for one that the model does not know.

    A B that SHARE tiles use is read once from device memory. What the CTAs of a cluster do to each other is left out.
    """
    constants = catalog.get(kernel).defines(**params)
    if not knows(kernel):
        raise KeyError(f"the model knows no pipeline of {kernel}: it knows {', '.join(_SHAPES)}")
    shape = {
        "loader_threads": 32 * constants.get("LOADER_WARPS", 1),
        "stages": constants.get("STAGES", 1),
        **_SHAPES[kernel],
    }
    return Pipeline(
        intensity=constants["INTENSITY"],
        compute_threads=constants["COMPUTE_THREADS"],
        share=constants.get("SHARE", 1),
        ctas=ctas,
        **shape,
    )


def predict(pipeline: Pipeline, machine: Machine, problem: TileProblem) -> Prediction:
    """Return what the model says of ``pipeline`` on ``problem`` with tiles of 64 x 64."""
    p, times, product = pipeline, _times(pipeline, machine), _product(pipeline, machine)
    tiles = _tiles(problem.tiles, machine.sms, p.ctas)
    if not tiles.sum():
        return Prediction(p, machine, problem.tiles, machine.launch / 1e6, 0.0, 0.0, 0.0)
    none = np.empty((0, 5))
    queue = machine.queue[_traffic(p)]
    traffic = (2 + 1 / p.share) / 3  # of what a tile moves without sharing: A, B and C
    low, high = 0.0, 50_000.0  # ns: the wait at which the SM makes the traffic that such a wait belongs to
    for _ in range(30):
        wait = (low + high) / 2
        total, _, in_flight, busy = _run(p, tiles, times._replace(wait=wait), product, none)
        if traffic * tiles.sum() / total > queue.at(wait):
            low = wait
        else:
            high = wait
    ms = (total + machine.launch) / 1e6
    return Prediction(p, machine, problem.tiles, ms, wait, in_flight / total, busy / total)


def timeline(prediction: Prediction, tiles: int = 12) -> Timeline:
    """Return the first ``tiles`` tiles of each CTA of one SM, in nanoseconds.

    A block is a CTA. A "warp" is here what cannot overlap with itself: the loads into one stage, the products, the
    stores, in this order.
    """
    p, m = prediction.pipeline, prediction.machine
    times = _times(p, m)._replace(wait=prediction.wait_ns)
    counts = np.minimum(_tiles(prediction.tiles, m.sms, p.ctas), tiles)
    found = np.empty((3 * int(counts.sum()), 5))
    written = _run(p, counts, times, _product(p, m), found)[1] if counts.sum() else 0
    spans = []
    for cta, work, tile, start, end in found[:written]:
        row = int(tile) % p.stages if work == 0 else p.stages + int(work) - 1
        spans.append(Span(int(cta), row, _WORK[int(work)], round(start), round(end), int(tile)))
    ring = p.kind in ("async", "unified", "roles")
    words = f"{p.stages} stage{'s' if p.stages > 1 else ''}, {p.ctas} CTA{'s' if p.ctas > 1 else ''}"
    return Timeline(
        title=f"{p.kind}, {words}",
        spans=tuple(sorted(spans, key=lambda span: (span.block, span.warp, span.start))),
        label=prediction.label,
        stages=p.stages if ring else 0,
    )


def _run(p: Pipeline, tiles: np.ndarray, times: Times, product: np.ndarray, spans: np.ndarray) -> tuple:
    store = min(STORES.index(p.store), 2)
    from ws_course.model.sm import simulate  # numba takes half a second to import

    return simulate(KINDS.index(p.kind), store, p.stages, float(p.intensity), tiles, times, product, spans)


def _tiles(tiles: int, sms: int, ctas: int) -> np.ndarray:
    """Return how many tiles each CTA of the first SM has: CTA n takes n, n + grid, and so on."""
    return np.array([max(0, -(-(tiles - c * sms) // (sms * ctas))) for c in range(ctas)], np.int64)


def _traffic(p: Pipeline) -> tuple[str, str]:
    return p.load, "bulk" if p.store.startswith("bulk") else "threads"


def _product(p: Pipeline, m: Machine) -> np.ndarray:
    return np.array(m.product[p.layout, p.compute_threads])


def _times(p: Pipeline, m: Machine) -> Times:
    n = p.compute_threads
    threads = 128 if p.load == "bulk" else n if p.kind != "roles" else p.loader_threads
    warps = max(1, p.loader_threads // 32)
    return Times(
        latency=m.latency[p.load, threads],
        wait=0.0,
        path=m.issue["bulk", 128],
        issue=m.issue[p.load, threads],
        ramp=m.ramp[p.layout, n][p.ctas - 1],
        disturb=m.disturb[p.load, warps, n] if p.kind == "roles" else 0.0,
        barrier=m.barrier[n],
        handoff=m.handoff[n],
        put=m.put[n],
        put_c=m.put[n] / 2,
        store=m.store[n],
        bulk_store=m.bulk_store,
    )


@dataclass(frozen=True)
class Error:
    """Pair a measurement with its prediction; ``relative`` is predicted / measured - 1."""

    measurement: Measurement
    prediction: Prediction

    @property
    def relative(self) -> float:
        """Return by which part of the measured time the prediction is off."""
        return self.prediction.ms / self.measurement.median_ms - 1


def errors(record: Record, machine: Machine, kernels: Sequence[str] | None = None) -> tuple[Error, ...]:
    """Return the prediction beside each measurement of a kernel that the model knows (of ``kernels`` alone, if given)"""
    found = []
    for m in record.measurements:
        if knows(m.kernel) and (kernels is None or m.kernel in kernels):
            problem = TileProblem(int(m.problem["tiles"]), int(m.problem["tile"]), m.params.get("INTENSITY", 1))
            found.append(Error(m, predict(of(m.kernel, m.params, m.ctas_per_sm), machine, problem)))
    return tuple(found)


def median_error(found: Iterable[Error]) -> float:
    """Return the median of the absolute relative errors."""
    return median(abs(error.relative) for error in found)


def error_table(found: Sequence[Error]) -> str:
    """Return a table: for each kernel how many cases, the median error, its sign and the worst."""
    lines = [f"{'kernel':<26} {'cases':>5} {'median |error|':>14} {'median error':>13} {'worst':>7}"]
    for kernel in dict.fromkeys(e.measurement.kernel for e in found):
        relative = [e.relative for e in found if e.measurement.kernel == kernel]
        worst = max(relative, key=abs)
        line = f"{kernel:<26} {len(relative):>5} {median(map(abs, relative)):>14.1%} {median(relative):>+13.1%}"
        lines.append(f"{line} {worst:>+7.1%}")
    lines.append(f"{'all':<26} {len(found):>5} {median_error(found):>14.1%}")
    return "\n".join(lines)
