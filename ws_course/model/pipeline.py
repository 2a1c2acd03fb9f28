"""What a pipeline should take: one SM, simulated event by event, with numbers that two micro-benchmarks measured.

The SM holds some CTAs of one :class:`Pipeline`. They share the path of loads into the SM (one stage at a time) and the
multipliers (the more CTAs compute at once, the longer each product takes). Everything else is a delay. The other SMs
do the same: how long a load waits for them is found such that the traffic the simulated SM makes and the traffic at
which loads wait that long agree. Every number is in :class:`ws_course.model.machine.Machine`;
none comes from a kernel of the ladder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import numpy as np

from ws_course.bench.record import Measurement, Record
from ws_course.bench.record import load as load_record
from ws_course.kernels import catalog
from ws_course.model.machine import MAX_CTAS, RESERVED, SHARED, Machine, machine
from ws_course.problem import TileProblem
from ws_course.runtime.result import Span
from ws_course.trace.timeline import Timeline

KINDS = ("serial", "double", "async", "unified", "roles")
STORES = ("threads", "storer", "bulk", "bulk storer")
TILE = 64
"""The tiles of the micro-benchmarks, and so of the model."""
_WORK = ("load", "compute", "store")


@dataclass(frozen=True)
class Pipeline:
    """Describe how a kernel works through its tiles.

    ``kind`` is "serial" (load, wait, compute), "double" (a load into registers travels during the product), "async"
    (copies STAGES - 1 ahead, all threads meet at a block barrier), "unified" (the same with a barrier per stage) or
    "roles" (a loader of its own runs ahead by ``stages``). ``load`` is "registers", "cp.async" or "bulk"; ``store``
    "threads" (those that compute), "storer" (warps of their own, from shared memory), "bulk" (the copy engine, asked
    by a compute thread) or "bulk storer" (asked by a thread of its own). ``loader_threads`` issue the loads; ``share``
    tiles use the same B; ``storer_warps`` are those of a "storer".
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
    storer_warps: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.store not in STORES:
            raise ValueError(f"kind {self.kind!r} must be one of {KINDS} and store {self.store!r} one of {STORES}")
        if not 1 <= self.ctas <= MAX_CTAS or self.stages < 1 or self.intensity < 0:
            raise ValueError(f"{self} needs 1 to {MAX_CTAS} CTAs, a stage and an intensity of at least 0")
        if self.kind in ("async", "unified") and self.stages < 2:
            raise ValueError(f"a pipeline of kind {self.kind} needs 2 stages: one to read, one to fill")


class Times(NamedTuple):
    """Hold a pipeline's times on a machine in nanoseconds, but ``extra``, the work beside the products, in products."""

    latency: float
    wait: float
    path: float
    issue: float
    extra: float
    barrier: float
    handoff: float
    store: float


@dataclass(frozen=True)
class Prediction:
    """Hold what the model says of one pipeline: ``ms`` for the whole problem, and how it got there.

    ``wait_ns`` is how long a load waits for the other SMs, ``stages_in_flight`` the loads of one SM in flight on
    average, ``computing`` the share of the time in which at least one CTA of it multiplies.
    """

    pipeline: Pipeline
    machine: Machine = field(repr=False)
    sms: int
    tiles: int
    ms: float
    wait_ns: float
    stages_in_flight: float
    computing: float

    @property
    def label(self) -> str:
        """Return where the number comes from."""
        return f"modelled ({self.machine.source})"


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
    Raises ``ValueError`` where so many CTAs do not fit on an SM (:func:`misfit`).
    """
    if problem := misfit(kernel, params, ctas):
        raise ValueError(f"{kernel} {problem}")
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
        storer_warps=constants.get("STORER_WARPS", 0),
        ctas=ctas,
        **shape,
    )


def misfit(kernel: str, params: Mapping[str, int], ctas: int) -> str:
    """Return in words why ``ctas`` CTAs of a kernel are too many for the shared memory of an SM, "" where they fit.

    Registers are not looked at: only the compiler knows them.
    """
    each = catalog.get(kernel).smem(**params)
    room = SHARED - ctas * RESERVED
    if ctas * each <= room:
        return ""
    many = f"{ctas} CTAs of {_kib(each)} need {_kib(ctas * each)}" if ctas > 1 else f"a CTA needs {_kib(each)}"
    return f"does not fit: {many} of shared memory, an SM has {_kib(room)} for {'them' if ctas > 1 else 'it'}"


def _kib(size: int) -> str:
    return f"{size / 1024:.4g} KiB"


def predict(pipeline: Pipeline, machine: Machine, problem: TileProblem, sms: int | None = None) -> Prediction:
    """Return what the model says of ``pipeline`` on ``problem`` with tiles of 64 x 64.

    ``sms`` is the number of SMs that have CTAs (default: all): clusters leave some out.
    """
    sms = sms or machine.sms
    p, times, product = pipeline, _times(pipeline, machine), _product(pipeline, machine)
    tiles = _tiles(problem.tiles, sms, p.ctas)
    if not tiles.sum():
        return Prediction(p, machine, sms, problem.tiles, machine.launch / 1e6, 0.0, 0.0, 0.0)
    none = np.empty((0, 5))
    queue = machine.queue[_traffic(p)]
    # of what all SMs move without sharing: A, B and C of every tile
    traffic = (2 + 1 / p.share) / 3 * sms / machine.sms
    low, high = 0.0, 50_000.0  # ns: the wait at which the SM makes the traffic that such a wait belongs to
    for _ in range(30):
        wait = (low + high) / 2
        total, _, in_flight, busy = _run(p, tiles, times._replace(wait=wait), product, none)
        if traffic * tiles.sum() / total > queue.at(wait):
            low = wait
        else:
            high = wait
    ms = (total + machine.launch) / 1e6
    return Prediction(p, machine, sms, problem.tiles, ms, wait, in_flight / total, busy / total)


def timeline(prediction: Prediction, tiles: int = 12) -> Timeline:
    """Return the first ``tiles`` tiles of each CTA of one SM, in nanoseconds.

    A block is a CTA. A "warp" is here what cannot overlap with itself: the loads into one stage, the products, the
    stores, in this order.
    """
    p, m = prediction.pipeline, prediction.machine
    times = _times(p, m)._replace(wait=prediction.wait_ns)
    counts = np.minimum(_tiles(prediction.tiles, prediction.sms, p.ctas), tiles)
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
    from ws_course.model.sm import simulate  # numba takes half a second to import

    by_threads = p.store == "threads"
    return simulate(KINDS.index(p.kind), by_threads, p.stages, float(p.intensity), tiles, times, product, spans)


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
    added = [m.epilogue[p.store, p.layout, n, p.storer_warps]]
    if p.load == "registers":
        added.append(m.put[n])
    if p.kind == "roles":
        added.append(m.beside[p.load, max(1, p.loader_threads // 32), n])
    else:
        added.append(m.meet["pipeline" if p.kind == "unified" else "syncthreads", p.layout, n])
    return Times(
        latency=m.latency[p.load, threads],
        wait=0.0,
        path=m.issue["bulk", 128],
        issue=m.issue[p.load, threads],
        extra=sum(curve[p.ctas - 1] for curve in added) / m.product[p.layout, n][p.ctas - 1],
        barrier=m.barrier[n],
        handoff=m.handoff[n],
        store=m.bulk_store if p.store.startswith("bulk") else m.store,
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
    """Return the prediction beside each measurement of a kernel that the model knows, with tiles of 64 x 64.

    ``kernels`` keeps only those.
    """
    found = []
    for m in record.measurements:
        if knows(m.kernel) and m.problem["tile"] == TILE and (kernels is None or m.kernel in kernels):
            problem = TileProblem(int(m.problem["tiles"]), int(m.problem["tile"]), m.params.get("INTENSITY", 1))
            found.append(
                Error(m, predict(of(m.kernel, m.params, m.ctas_per_sm), machine, problem, m.launch.get("sms")))
            )
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


def packaged_errors() -> dict[str, tuple[Error, ...]]:
    """Return the errors against every packaged set of measurements, by the set's name."""
    device, found = machine(), {}
    for name in ("tile-ladder", "hopper-ladder"):
        try:
            found[name] = errors(load_record(name), device)
        except FileNotFoundError:
            continue
    return found


if __name__ == "__main__":
    for set_name, compared in packaged_errors().items():
        print(f"{set_name}, {machine().source}\n{error_table(compared)}\n")
