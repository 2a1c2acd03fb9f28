"""Two micro-benchmarks of a device: how tiles travel, and what a product of two tiles and a handoff cost.

They give a model of pipelines (:mod:`ws_course.model.pipeline`) its numbers. Neither runs a kernel of the ladder: one
moves tiles and computes nothing, the other computes and moves nothing between device memory and the SM.
"""

from __future__ import annotations

import datetime
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median

import numpy as np

from ws_course.bench import command
from ws_course.bench.record import RECORDS, slug
from ws_course.bench.surroundings import clock_rates, versions
from ws_course.bench.timing import interleaved
from ws_course.build import nvrtc
from ws_course.kernels import catalog
from ws_course.runtime import gpu
from ws_course.runtime.launch import Launch

SCHEMA = 1
FOLDER = RECORDS / "micro"
STAGE = 32 << 10  # bytes: a tile of A and one of B
TILE = 16 << 10  # bytes: a tile of C
TILES = 16384  # stages of a launch on the whole chip: 512 MiB read, 256 MiB written, far more than any L2
TILES_OF_ONE = 512  # … and on one SM alone
PACES = (1000, 1500, 2000, 2400, 2800, 3200, 3600, 4000)  # cycles between two stages of an SM
TIMES = 400  # products of a launch
ROUNDS = 15
WARMUP = 3

KINDS = ("registers", "cp.async", "bulk", "none")
STORES = ("none", "threads", "bulk", "bulk fenced")
WORKS = ("none", "product", "put")
HANDOFFS = ("none", "syncthreads", "mbarrier", "round trip", "pipeline")
EPILOGUES = ("none", "threads", "bulk", "bulk storer", "storer")
LAYOUTS = ("rows", "swizzled")
BACKGROUNDS = ("none", "bulk", "cp.async")
"""Names of the kernels' constants: the place in the tuple is the constant's value."""


@dataclass(frozen=True)
class Stream:
    """Hold the times of launches that stream ``tiles`` stages of 32 KiB over ``sms`` SMs and compute nothing.

    ``kind`` (of :data:`KINDS`) says how a stage is loaded, ``store`` (of :data:`STORES`) how 16 KiB are written for
    each; ``stages`` are in flight in each of ``ctas_per_sm`` CTAs of ``threads`` threads, which are busy for ``pace``
    clock cycles after each.
    """

    kind: str
    store: str
    threads: int
    stages: int
    ctas_per_sm: int
    sms: int
    tiles: int
    pace: int = 0
    times_ms: tuple[float, ...] = ()

    @property
    def ms(self) -> float:
        """Return the median time of a launch in milliseconds."""
        return median(self.times_ms)

    @property
    def in_flight(self) -> int:
        """Return the bytes of loads that one SM keeps in flight."""
        return self.stages * self.ctas_per_sm * STAGE


@dataclass(frozen=True)
class Product:
    """Hold the times of launches in which every CTA does one piece of work ``times`` times, out of shared memory.

    ``work``, ``handoff``, ``layout``, ``background`` and ``epilogue`` are of :data:`WORKS`, :data:`HANDOFFS`,
    :data:`LAYOUTS`, :data:`BACKGROUNDS` and :data:`EPILOGUES`; ``loader_warps`` are there beside ``threads`` compute
    threads in each of ``ctas_per_sm`` CTAs; ``loaded`` counts the stages that the background loaded on one SM during
    one (other) launch.
    """

    work: str
    handoff: str
    layout: str
    threads: int
    background: str
    loader_warps: int
    ctas_per_sm: int
    times: int
    epilogue: str = "none"
    loaded: float = 0.0
    times_ms: tuple[float, ...] = ()

    @property
    def ms(self) -> float:
        """Return the median time of a launch in milliseconds."""
        return median(self.times_ms)


@dataclass(frozen=True)
class Micro:
    """Hold both micro-benchmarks of one device, with what makes them numbers; ``live``: measured in this session.

    ``launch_ms`` are the times of an empty launch.
    """

    device: Mapping[str, object]
    versions: Mapping[str, str]
    date: str
    method: Mapping[str, str]
    launch_ms: tuple[float, ...]
    streams: tuple[Stream, ...]
    products: tuple[Product, ...]
    live: bool = False

    @property
    def label(self) -> str:
        """Return where the numbers come from, as the label of a record does."""
        name = self.device["name"]
        return f"measured now ({name})" if self.live else f"recorded ({name}, {self.date})"

    def stage_ns(self, kind: str, store: str, ctas_per_sm: int = 1, **rest: int) -> float:
        """Return the nanoseconds between two stages of one SM; ``rest`` are other fields of :class:`Stream`.

        The launch itself is taken off. Raises ``KeyError`` if nothing or more than one measurement matches.
        """
        rest = {"threads": 128, "sms": int(self.device["sm_count"]), "pace": 0, **rest}
        found = self._one(self.streams, kind=kind, store=store, ctas_per_sm=ctas_per_sm, **rest)
        return (found.ms - median(self.launch_ms)) * 1e6 / (found.tiles / found.sms)

    def work_ns(self, work: str = "product", handoff: str = "none", ctas_per_sm: int = 1, **rest: object) -> float:
        """Return the nanoseconds that one piece of work and its handoff take while ``ctas_per_sm`` CTAs do the same.

        ``rest`` are other fields of :class:`Product`; the launch is taken off. Raises ``KeyError`` as
        :meth:`stage_ns`.
        """
        found = self.product(work, handoff, ctas_per_sm, **rest)
        return (found.ms - median(self.launch_ms)) * 1e6 / found.times

    def product(self, work: str = "product", handoff: str = "none", ctas_per_sm: int = 1, **rest: object) -> Product:
        """Return one measurement of :class:`Product`, with the whole record's name in the ``KeyError``."""
        usual = {"layout": "rows", "threads": 128, "background": "none", "epilogue": "none"}
        usual["loader_warps"] = 1 if handoff == "round trip" else 0
        return self._one(self.products, work=work, handoff=handoff, ctas_per_sm=ctas_per_sm, **{**usual, **rest})

    def _one(self, where: tuple, **wanted: object) -> object:
        found = [x for x in where if all(getattr(x, name) == value for name, value in wanted.items())]
        if len(found) != 1:
            raise KeyError(f"{self.label} has {len(found)} measurements with {wanted}, not one")
        return found[0]

    def save(self, path: str | Path) -> Path:
        """Write the record as JSON, one measurement a line, and return the path."""
        data = {"schema": SCHEMA, **{f.name: getattr(self, f.name) for f in fields(self) if f.name != "live"}}
        lists = {name: data.pop(name) for name in ("streams", "products")}
        text = json.dumps(data, indent=2)[:-2]
        for name, rows in lists.items():
            text += f',\n  "{name}": [\n' + ",\n".join("    " + json.dumps(_rounded(row)) for row in rows) + "\n  ]"
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n}\n", encoding="utf-8")
        return path


def _rounded(row: Stream | Product) -> dict:
    data = asdict(row)
    return {**data, "times_ms": [round(t, 6) for t in data["times_ms"]]}


def read(path: str | Path) -> Micro:
    """Read a file that :meth:`Micro.save` wrote; raise ``ValueError`` for another schema or times that are none."""
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    if data.pop("schema", None) != SCHEMA:
        raise ValueError(f"{path} is no file of schema {SCHEMA}: measure again with python -m ws_course.bench.micro")
    streams = tuple(Stream(**{**x, "times_ms": tuple(x["times_ms"])}) for x in data.pop("streams"))
    products = tuple(Product(**{**x, "times_ms": tuple(x["times_ms"])}) for x in data.pop("products"))
    launch = tuple(data.pop("launch_ms"))
    times = [launch, *(x.times_ms for x in (*streams, *products))]
    if not all(ts and all(math.isfinite(t) and t > 0 for t in ts) for ts in times):
        raise ValueError(f"{path} holds times that are no times")
    return Micro(**data, launch_ms=launch, streams=streams, products=products)


def load(device: str | None = None) -> Micro:
    """Return the packaged micro-benchmarks of ``device`` ("NVIDIA H200"), else the latest ones."""
    found = [read(path) for path in sorted(FOLDER.glob(f"{slug(device)}.json" if device else "*.json"))]
    if not found:
        raise FileNotFoundError(f"no micro-benchmarks of {device or 'any device'}: run python -m ws_course.bench.micro")
    return max(found, key=lambda micro: micro.date)


def streams(sms: int) -> Iterator[Stream]:
    """Yield what is streamed on a chip of ``sms`` SMs, whether it fits or not."""
    for kind, threads in (("registers", 128), ("registers", 256), ("none", 128), ("none", 256)):
        for store in ("none", "threads") if kind != "none" else ("threads", "bulk", "bulk fenced"):
            for ctas in (1, 2, 3, 4, 5):
                yield Stream(kind, store, threads, 1, ctas, sms, TILES)
            yield Stream(kind, store, threads, 1, 1, 1, TILES_OF_ONE)
    # cp.async by all threads of a CTA, and by as many as a loader has
    for kind, threads in (("cp.async", 128), ("cp.async", 256), ("cp.async", 32), ("cp.async", 64), ("bulk", 128)):
        for store in ("none",) if threads < 128 else ("none", "threads") if kind != "bulk" else STORES:
            for ctas, most in ((1, 6), (2, 3), (3, 2), (4, 1), (5, 1), (6, 1)):
                for stages in range(1, most + 1):
                    yield Stream(kind, store, threads, stages, ctas, sms, TILES)
            for stages in range(1, 7):
                yield Stream(kind, store, threads, stages, 1, 1, TILES_OF_ONE)
    # SMs that ask for less than they could have
    for kind, store in (("cp.async", "threads"), ("bulk", "threads"), ("bulk", "bulk"), ("bulk", "bulk fenced")):
        for ctas, stages in ((1, 3), (2, 2)):
            for pace in PACES:
                yield Stream(kind, store, 128, stages, ctas, sms, TILES, ctas * pace)


def products() -> Iterator[Product]:
    """Yield what is computed and handed over, whether it fits or not."""
    for threads in (128, 256):
        for ctas in range(1, 7):
            for layout in LAYOUTS:
                for handoff in ("none", "syncthreads", "pipeline") if layout == "rows" else ("none", "syncthreads"):
                    yield Product("product", handoff, layout, threads, "none", 0, ctas, TIMES)
            yield Product("put", "syncthreads", "rows", threads, "none", 0, ctas, TIMES)
            for handoff in HANDOFFS[1:]:
                warps = 1 if handoff == "round trip" else 0
                yield Product("none", handoff, "rows", threads, "none", warps, ctas, 4 * TIMES)
        for ctas in (1, 2, 3, 4):
            for epilogue, layout, warps in (
                ("threads", "rows", 0),
                ("threads", "swizzled", 0),
                ("bulk", "swizzled", 0),
                ("bulk storer", "swizzled", 1),
                ("storer", "rows", 1),
                ("storer", "rows", 2),
            ):
                yield Product("product", "none", layout, threads, "none", warps, ctas, TIMES, epilogue)
            for warps in (1, 2, 4):
                yield Product("product", "none", "rows", threads, "none", warps, ctas, TIMES)
        for ctas in (1, 2, 3):
            for background, layout, warps in (
                ("bulk", "rows", 1),
                ("bulk", "swizzled", 1),
                ("cp.async", "rows", 1),
                ("cp.async", "rows", 2),
                ("cp.async", "rows", 4),
            ):
                yield Product("product", "none", layout, threads, background, warps, ctas, TIMES)


def measure(rounds: int = ROUNDS, say: Callable[[str], None] = print) -> Micro:
    """Run both micro-benchmarks on this machine's GPU, in a minute; raise ``BackendError`` without one."""
    found = gpu.first_gpu()
    wanted = [*streams(found.sms), *products()]
    variants = [*dict.fromkeys(map(_variant, wanted))]
    jobs = [_job(variant, gpu.architecture(found)) for variant in variants]
    cubins = dict(zip(variants, nvrtc.compile_several(jobs), strict=True))
    gpu.start()
    arrays = _Arrays()
    works: dict[object, Callable[[], None]] = {}
    for case in wanted:
        fire = arrays.prepare(case, gpu.Function(cubins[_variant(case)]), found.sms)
        if fire:
            fire()
            gpu.synchronize()
            works[case] = fire
    works["launch"] = arrays.empty(gpu.Function(cubins[_variant(Stream("registers", "threads", 128, 1, 1, 1, 0))]))
    say(f"{len(works)} cases fit on {found.name}. Timing {rounds} rounds …")
    clocks = {"before": clock_rates()}
    times = interleaved(works, gpu.elapsed_ms, rounds, warmup=WARMUP)
    clocks["after"] = clock_rates()
    loaded = {case: arrays.count(works[case]) / found.sms for case in works if _loads_behind(case)}
    return Micro(
        device={**gpu.facts(), "clocks": clocks},
        versions=versions(),
        date=datetime.date.today().isoformat(),
        method={
            "repetitions": f"{rounds} timed rounds after {WARMUP} warm-up rounds, all kept; medians are used",
            "interleaving": "every round runs every case once, in a fresh random order",
            "clock": "CUDA events around one launch; launch_ms is a launch that does nothing",
            "streams": f"kernels/measure/memory_stream.cu: {TILES} stages of {STAGE >> 10} KiB on all SMs (more than "
            f"any L2), {TILES_OF_ONE} on one SM alone, each such case in its own place of the array",
            "products": "kernels/measure/compute_tile.cu: no traffic between device memory and the SMs",
            "background": "stages that a background loaded on one SM (out of L2), counted in a launch of its own",
            "occupancy": "grid = SMs x CTAs per SM; a case is left out where that many CTAs do not fit on one SM",
            "inputs": "standard normal float32",
        },
        launch_ms=tuple(round(t, 6) for t in times["launch"]),
        streams=tuple(Stream(**{**asdict(x), "times_ms": times[x]}) for x in works if isinstance(x, Stream)),
        products=tuple(
            Product(**{**asdict(x), "loaded": loaded.get(x, 0.0), "times_ms": times[x]})
            for x in works
            if isinstance(x, Product)
        ),
        live=True,
    )


class _Arrays:
    """The arrays on the GPU: what is read, what is written, and a counter."""

    def __init__(self) -> None:
        some = np.random.default_rng(0).standard_normal(1 << 22, dtype=np.float32)
        self.source = gpu.upload(np.tile(some, TILES * STAGE // some.nbytes))
        self.to = gpu.zeros(TILES * TILE // 4, np.float32)
        self.counter = gpu.zeros(1, np.uint32)
        self._place = 0

    def prepare(self, case: Stream | Product, function: gpu.Function, sms: int) -> Callable[[], None] | None:
        if isinstance(case, Product):
            threads = case.threads + 32 * case.loader_warps
            smem = STAGE * (1 if case.background == case.epilogue == "none" else 2)
            scalars = [np.int32(case.times).tobytes(), self.counter.data.ptr]
            grid, place = sms * case.ctas_per_sm, 0
        else:
            threads = case.threads
            smem = STAGE * case.stages + (TILE if case.store.startswith("bulk") else 0)
            scalars = [np.int32(n).tobytes() for n in (case.tiles, case.stages, case.pace)]
            grid, place = case.sms * case.ctas_per_sm, 0
            if case.sms == 1:  # a place of its own, so that the case before has not left it in L2
                place = self._place
                self._place = (place + case.tiles) % (TILES // 2)
        if function.ctas_per_sm(threads, smem) < case.ctas_per_sm:
            return None
        arrays = [self.source.data.ptr + place * STAGE, self.to.data.ptr + place * TILE]
        return function.prepare([*arrays, *scalars], Launch(grid, threads, smem=smem))

    def empty(self, function: gpu.Function) -> Callable[[], None]:
        scalars = [np.int32(n).tobytes() for n in (0, 1, 0)]
        return function.prepare([self.source.data.ptr, self.to.data.ptr, *scalars], Launch(1, 128, smem=STAGE))

    def count(self, fire: Callable[[], None]) -> int:
        before = int(gpu.download(self.counter)[0])
        fire()
        gpu.synchronize()
        return int(gpu.download(self.counter)[0]) - before


def _loads_behind(case: object) -> bool:
    return isinstance(case, Product) and case.background != "none"


def _variant(case: Stream | Product) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return the kernel and the constants that a case needs."""
    if isinstance(case, Stream):
        constants = {"KIND": KINDS.index(case.kind), "STORE": STORES.index(case.store), "THREADS": case.threads}
        return "memory_stream", tuple(constants.items())
    constants = {
        "WORK": WORKS.index(case.work),
        "HANDOFF": HANDOFFS.index(case.handoff),
        "LAYOUT": LAYOUTS.index(case.layout),
        "BACKGROUND": BACKGROUNDS.index(case.background),
        "EPILOGUE": EPILOGUES.index(case.epilogue),
        "THREADS": case.threads,
        "LOADER_WARPS": case.loader_warps,
    }
    return "compute_tile", tuple(constants.items())


def _job(variant: tuple[str, tuple], arch: str) -> dict[str, object]:
    name, constants = variant
    path = catalog.MEASURE[name]
    return {
        "source": path.read_text(encoding="utf-8"),
        "entry": name,
        "file": path.name,
        "defines": dict(constants),
        "arch": arch,
    }


def _record(path: str | None) -> None:
    micro = measure()
    print(micro.save(path or FOLDER / f"{slug(str(micro.device['name']))}.json"))
    for line in (*micro.streams, *micro.products):
        print(*(value for name, value in asdict(line).items() if name != "times_ms"), f"{line.ms:.4f} ms")


if __name__ == "__main__":
    sys.exit(command.run("ws_course.bench.micro", "Measure what memory and products cost apart.", _record))
