"""The kernels on the tile problem, measured: which, with which constants, at which occupancy, and how."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from ws_course.bench.record import RECORDS, Measurement, Record, slug
from ws_course.bench.surroundings import clock_rates, versions
from ws_course.bench.timing import interleaved
from ws_course.build import nvrtc
from ws_course.kernels import catalog
from ws_course.kernels.catalog import ABLATIONS, HOPPER, LADDER, KernelSpec
from ws_course.problem import TileProblem
from ws_course.runtime import gpu
from ws_course.runtime.launch import Launch
from ws_course.runtime.tiles import on_device

TILES = 16384  # of 64 x 64: 805 MB in and out, far more than any L2, and long enough to drown the launch
CTAS = (1, 2, 3, 4, 5)
INTENSITIES = (1, 2, 4, 8)
STAGES = (2, 3, 4)
LOADER_WARPS = (1, 2, 4)
STORER_WARPS = (1, 2)
CLUSTERS = (1, 2, 4, 8)
SHARE = 8  # consecutive tiles that multiply one matrix of B, where B is shared
WARPS = 64  # that an SM holds (compute capability 8.0, 9.0 and 10.0)
ROUNDS = 31
COPY_BYTES = 1 << 32  # 4 GiB read and as much written, where the memory is large enough


@dataclass(frozen=True)
class Case:
    """Name one thing to measure: a kernel, all its constants, and the resident CTAs per SM.

    ``promised`` CTAs per SM are the second number of ``__launch_bounds__``, for which the compiler saves registers (0:
    the file's own).
    """

    kernel: str
    params: tuple[tuple[str, int], ...]
    ctas: int
    promised: int = 0

    @property
    def spec(self) -> KernelSpec:
        """Return the kernel's entry in the catalog."""
        return catalog.get(self.kernel)

    @property
    def variant(self) -> tuple:
        """Return what is compiled for it: cases with other numbers of CTAs can share that."""
        return self.kernel, self.params, self.promised


def cases(
    kernels: Iterable[str] | None = None, ctas: Iterable[int] = CTAS, **constants: Iterable[int]
) -> Iterator[Case]:
    """Yield every combination of ``constants`` (``STAGES=(2, 3)``), whether it fits on a device or not.

    ``kernels`` are names, by default those of the ladder. A kernel takes its default for a constant that is not given,
    and ignores one that it does not have. A cluster needs a B that all its CTAs use: combinations whose SHARE is no
    multiple of CLUSTER are left out. Raises ``ValueError`` for a constant that no kernel has.
    """
    ctas, values = tuple(ctas), {name: tuple(numbers) for name, numbers in constants.items()}
    known = {name for spec in (*LADDER, *ABLATIONS, *HOPPER) for name in spec.defaults}
    if unknown := sorted(set(values) - known):
        raise ValueError(f"no kernel has a constant {unknown[0]}: there are {', '.join(sorted(known))}")
    for spec in LADDER if kernels is None else map(catalog.get, kernels):
        names = [name for name in values if name in spec.defaults]
        for numbers in itertools.product(*(values[name] for name in names)):
            params = spec.defines(**dict(zip(names, numbers, strict=True)))
            if params["SHARE"] % params.get("CLUSTER", 1) == 0:
                yield from (Case(spec.name, tuple(params.items()), n) for n in ctas)


def measure(
    wanted: Iterable[Case],
    tiles: int = TILES,
    rounds: int = ROUNDS,
    live: bool = False,
    say: Callable = print,
    set_name: str = "tile-ladder",
) -> Record:
    """Check and time every case that fits on this machine's GPU and return the record.

    Random inputs; the output is filled with NaN before each check, every element is compared with a float64 reference
    and a case with a wrong one is reported and not timed. ``tiles`` counts tiles of 64 x 64; of smaller ones there are
    as many more, so that A stays as large. Kernels that need a newer GPU are left out. Raises ``BackendError`` without
    a GPU, ``RuntimeError`` if a result is wrong.
    """
    device = gpu.first_gpu()
    wanted = [case for case in dict.fromkeys(wanted) if runs_on(case.spec, device.capability)]
    cubins = compile_all(device, {case.variant for case in wanted}, say)
    gpu.start()
    bench = Bench(tiles)
    works, found = {}, {}
    for case in wanted:
        prepared = bench.prepare(case, cubins[case.variant], device.sms)
        if prepared and prepared.key not in found:
            found[prepared.key] = prepared
            works[prepared.key] = prepared.fire
    say(f"{len(works)} cases fit on {device.name}; every result is right. Timing {rounds} rounds …")
    limits = _Limits(bench)
    works["copy"], works["fma"] = limits.copy, limits.fma
    clocks = {"before": clock_rates()}
    times = interleaved(works, gpu.elapsed_ms, rounds, warmup=3)
    clocks["after"] = clock_rates()
    return Record(
        set=set_name,
        device={**gpu.facts(), "clocks": clocks},
        versions=versions(),
        date=datetime.date.today().isoformat(),
        method=_method(rounds, [one.problem for one in found.values()], limits.bytes),
        limits=limits.reached(times["copy"], times["fma"]),
        measurements=tuple(found[key].measurement(times[key]) for key in found),
        live=live,
    )


def ladder_cases() -> Iterator[Case]:
    """Yield what lessons 01 to 05 choose from: the rungs and ablations that run on any GPU."""
    everything = [spec.name for spec in (*LADDER, *ABLATIONS) if runs_on(spec, (8, 0))]
    pipeline = {"STAGES": STAGES, "LOADER_WARPS": LOADER_WARPS, "STORER_WARPS": STORER_WARPS}
    yield from cases(everything, INTENSITY=INTENSITIES, **pipeline)
    yield from cases(everything, COMPUTE_THREADS=(256,), **pipeline)


def hopper_cases() -> Iterator[Case]:
    """Yield every rung, old and new, and the ablations: by stages and roles, by intensity, and with a shared B."""
    everything = [spec.name for spec in (*LADDER, *ABLATIONS, *HOPPER)]
    own = {"SHARE": (1,), "CLUSTER": (1,)}  # the base problem: no two tiles share anything
    yield from cases(everything, STAGES=STAGES, CTAS=(2, 3), SCHEDULE=(1, 2), SCHEDULERS=(1, 2, 4), **own)
    loaders = [name for name in everything if "LOADER_WARPS" in catalog.get(name).defaults]
    yield from cases(loaders, STAGES=STAGES, LOADER_WARPS=LOADER_WARPS, STORER_WARPS=(1,))
    yield from cases(everything, INTENSITY=(2, 4), **own)
    yield from cases(everything, ctas=(1, 2, 3), SHARE=(SHARE,), CLUSTER=CLUSTERS, STAGES=(2, 3))
    clusters = ("tile_06_bulk_copy", "tile_10_cluster_dsmem", "tile_11_cluster_multicast")
    yield from cases(clusters, TILE=(32,), SHARE=(SHARE,), CLUSTER=CLUSTERS, STAGES=(3, 6))  # less work per byte


def warps_cases() -> Iterator[Case]:
    """Yield from 1 resident warp per SM to 64: small tiles, blocks of one warp to eight, as many CTAs as fit.

    More warps get fewer registers each: the compiler is told how many CTAs share an SM.
    """
    kernels = ("tile_01_double_buffer", "tile_04_two_roles", "tile_04_two_roles_aligned", "tile_06_bulk_copy")
    small = {"TILE": (32,), "STAGES": (2,), "LOADER_WARPS": (1,), "COMPUTE_THREADS": (32, 64, 128, 256)}
    for case in cases(kernels, ctas=range(1, 14), **small):
        if case.ctas * case.spec.block(**dict(case.params)) <= WARPS * 32:
            yield replace(case, promised=case.ctas)


SETS: Mapping[str, Callable[[], Iterator[Case]]] = {
    "tile-ladder": ladder_cases,
    "hopper-ladder": hopper_cases,
    "warps-sweep": warps_cases,
}
"""The cases of every set that is recorded: each is one run, so that all its times can be compared."""


def record_set(set_name: str, path: str | Path | None = None) -> Path:
    """Measure one of :data:`SETS` on this machine's GPU and write the record; return where it is.

    The default is where the package keeps its records. Takes a few minutes, most of them compiling. Raises
    ``BackendError`` with the fix without a GPU, ``ValueError`` for another set.
    """
    if set_name not in SETS:
        raise ValueError(f"no set is called {set_name!r}: there are {', '.join(SETS)}")
    record = measure(SETS[set_name](), set_name=set_name)
    return record.save(path or RECORDS / f"{slug(str(record.device['name']))}_{set_name}.json")


def measure_live(
    kernels: Iterable[str] | None = None,
    *,
    stages: Iterable[int] = (2,),
    loader_warps: Iterable[int] = (2,),
    storer_warps: Iterable[int] = (2,),
    intensities: Iterable[int] = (1,),
    ctas: Iterable[int] = (1, 2),
    tiles: int = 4096,
    rounds: int = 9,
    **constants: Iterable[int],
) -> Record:
    """Measure a few cases now, in seconds, for a lesson on a machine with a GPU; raise ``BackendError`` without one.

    ``constants`` are further ones as in :func:`cases` (``SHARE=(8,)``, ``CLUSTER=(1, 2)``).
    """
    chosen = {"INTENSITY": intensities, "STAGES": stages, "LOADER_WARPS": loader_warps, "STORER_WARPS": storer_warps}
    return measure(cases(kernels, ctas, **chosen, **constants), tiles, rounds, live=True, say=lambda text: None)


def runs_on(spec: KernelSpec, capability: tuple[int, int]) -> bool:
    """Return whether a device of this compute capability is new enough for a kernel."""
    oldest = min(int(arch.removeprefix("sm_").rstrip("a")) for arch in spec.archs)
    return 10 * capability[0] + capability[1] >= oldest


@dataclass(frozen=True)
class Prepared:
    """Hold a case that fits and whose result is right: ``fire`` launches its ``function`` once."""

    case: Case
    problem: TileProblem
    launch: Launch
    resources: Mapping[str, int]
    check: Mapping[str, object]
    fire: Callable[[], None]
    function: gpu.Function

    @property
    def key(self) -> tuple:
        """Return what makes a launch the same as another: kernel, constants, grid."""
        return *self.case.variant, self.launch.grid

    @property
    def problem_json(self) -> dict[str, object]:
        """Return the problem as a record holds it."""
        p = self.problem
        size = {"tiles": p.tiles, "tile": p.tile, "share": p.share}
        return {"name": "tile", **size, "bytes": p.bytes, "flops": p.flops}

    @property
    def launch_json(self) -> dict[str, int]:
        """Return the launch as a record holds it; ``sms`` is how many SMs its CTAs can fill."""
        blocks, cluster = self.launch.blocks, self.launch.cluster[0]
        return {
            "grid": blocks,
            "block": self.launch.threads,
            "smem": self.launch.smem,
            "cluster": cluster,
            "sms": blocks // self.case.ctas,
            **({"promised": self.case.promised} if self.case.promised else {}),
        }

    def measurement(self, times: tuple[float, ...]) -> Measurement:
        """Return the case with its times in milliseconds."""
        return Measurement(
            kernel=self.case.kernel,
            params=dict(self.case.params),
            ctas_per_sm=self.case.ctas,
            problem=self.problem_json,
            launch=self.launch_json,
            times_ms=times,
            check=self.check,
            resources=self.resources,
        )


class Bench:
    """Holds the arrays on the GPU: cases of one tile and share read the same random inputs; all write one output."""

    def __init__(self, tiles: int) -> None:
        self._tiles = tiles
        self.c = gpu.zeros(math.prod(TileProblem(tiles).shape), np.float32)
        self._counter = gpu.zeros(1, np.int32)
        self._inputs = cache(lambda problem: tuple(map(gpu.upload, problem.inputs())))
        self._reference = cache(lambda problem: gpu.upload(problem.reference()))
        spec = catalog.MEASURE["compare"]
        device = gpu.first_gpu()
        self._compare = gpu.Function(gpu.compile_for(device, spec.read_text(), "compare", spec.name, {}))

    def problem(self, params: Mapping[str, int]) -> TileProblem:
        """Return the problem of a case's constants: as many tiles as make A as large as that of 64 x 64 tiles."""
        tile = params["TILE"]
        return TileProblem(self._tiles * 64**2 // tile**2, tile, params["INTENSITY"], share=params["SHARE"])

    def prepare(self, case: Case, cubin: nvrtc.Cubin, sms: int) -> Prepared | None:
        """Load a case and check its result; return None if so many CTAs do not fit on an SM."""
        function = gpu.Function(cubin)
        launch = launch_of(case, function, sms)
        if launch is None:
            return None
        problem = self.problem(dict(case.params))
        c = self.c[: math.prod(problem.shape)].reshape(problem.shape)
        a, b = self._inputs(replace(problem, intensity=1))
        fire = function.prepare(on_device(case.spec, a, b, c, self._counter), launch)
        resources = {"registers": function.registers, "static_smem": function.static_smem, "local": function.local}
        return Prepared(case, problem, launch, resources, self._check(fire, problem, c, case), fire, function)

    def _check(self, fire: Callable[[], None], problem: TileProblem, c: object, case: Case) -> dict[str, object]:
        reference = self._reference(replace(problem, intensity=1))
        gpu.fill_nan(c)
        fire()
        bad, largest = gpu.zeros(1, np.uint64), gpu.zeros(1, np.float32)
        arguments = [
            c.data.ptr,
            reference.data.ptr,
            np.float32(problem.intensity).tobytes(),
            np.float32(problem.tolerance).tobytes(),
            np.int64(c.size).tobytes(),
            bad.data.ptr,
            largest.data.ptr,
        ]
        self._compare.prepare(arguments, Launch(1024, 256))()
        gpu.synchronize()
        wrong, error = int(gpu.download(bad)[0]), float(gpu.download(largest)[0])
        if wrong:
            raise RuntimeError(f"{case} computes {wrong} of {c.size} elements wrongly (largest error {error})")
        if left := int(gpu.download(self._counter)[0]):
            raise RuntimeError(f"{case} leaves its tile counter at {left}, not at 0: the next launch would miss tiles")
        return {"ok": True, "max_error": error, "tolerance": problem.tolerance}


def launch_of(case: Case, function: gpu.Function, sms: int) -> Launch | None:
    """Return the launch that fills the device with ``case.ctas`` CTAs per SM, or None if they do not fit.

    Clusters do not fill every SM: the grid is as many as the driver says are resident at once. To keep the hardware
    from placing more than ``case.ctas`` of their CTAs on one SM, they ask for so much shared memory that no more fit.
    """
    spec, params = case.spec, dict(case.params)
    block, smem, cluster = spec.block(**params), spec.smem(**params), spec.cluster(**params)
    fit = function.ctas_per_sm(block, smem)
    if not 1 <= case.ctas <= fit:
        return None
    if cluster == 1:
        return Launch(case.ctas * sms, block, smem=smem)
    if case.ctas < fit:
        smem = max(smem, gpu.limits().smem_per_sm // (case.ctas + 1) - function.static_smem)
    if function.ctas_per_sm(block, smem) != case.ctas:
        raise RuntimeError(f"{smem} bytes of shared memory do not leave room for {case.ctas} CTAs of {case.kernel}")
    clusters = function.clusters(Launch(cluster, block, cluster, smem))
    return Launch(clusters * cluster, block, cluster, smem) if clusters else None


class _Limits:
    """The ceilings of the device, measured in the same run: a large copy, and multiply-adds in registers only."""

    STEPS = 4096

    def __init__(self, bench: Bench) -> None:
        self.bytes = min(COPY_BYTES, gpu.free_memory() // 4) // 256 * 256
        self._source, self._to = (gpu.zeros(self.bytes // 4, np.float32) for _ in range(2))
        path, device = catalog.MEASURE["fma_peak"], gpu.first_gpu()
        function = gpu.Function(gpu.compile_for(device, path.read_text(), "fma_peak", path.name, {}))
        launch = Launch(device.sms * 8, 256)
        self._threads = launch.blocks * launch.threads
        out = bench.c.data.ptr
        scalars = [np.float32(0.999).tobytes(), np.float32(0.5).tobytes(), np.int32(self.STEPS).tobytes()]
        self.fma = function.prepare([out, *scalars], launch)

    def copy(self) -> None:
        gpu.copy(self._to, self._source)

    def reached(self, copy_ms: tuple[float, ...], fma_ms: tuple[float, ...]) -> dict[str, float]:
        flops = 2 * 16 * self.STEPS * self._threads
        return {
            "copy_gb_s": round(2 * self.bytes / float(np.median(copy_ms)) / 1e6, 1),
            "fp32_tflop_s": round(flops / float(np.median(fma_ms)) / 1e9, 2),
        }


def compile_all(device: object, wanted: set[tuple], say: Callable) -> dict[tuple, nvrtc.Cubin]:
    """Compile variants (:attr:`Case.variant`), several at a time."""
    arch = gpu.architecture(device)
    if len(wanted) > 8:
        say(f"compiling {len(wanted)} variants …")
    order = sorted(wanted)
    return dict(zip(order, nvrtc.compile_several([_job(one, arch) for one in order]), strict=True))


def compile_variant(variant: tuple, arch: str) -> nvrtc.Cubin:
    """Compile one variant (:attr:`Case.variant`), or read it from the cache."""
    return nvrtc.compile_cubin(**_job(variant, arch))


def _job(variant: tuple, arch: str) -> dict[str, object]:
    name, params, promised = variant
    spec = catalog.get(name)
    source = spec.source
    if promised:
        source, count = re.subn(r"(__launch_bounds__\([^()]*), 1\)", rf"\1, {promised})", source)
        if count != 1:
            raise ValueError(f"{name} promises the compiler something else than 1 CTA per SM: it cannot be changed")
    return {
        "source": source,
        "entry": name,
        "file": spec.path.name,
        "defines": spec.defines(**dict(params)),
        "arch": arch,
    }


def _method(rounds: int, problems: list[TileProblem], copied: int) -> dict[str, object]:
    least = min((p.bytes for p in problems), default=0)
    return {
        "repetitions": f"{rounds} timed rounds after 3 warm-up rounds, all kept; a figure shows their median",
        "interleaving": "every round runs every case once, in a fresh random order",
        "clock": "CUDA events around one launch, all queued while the GPU is kept busy: the host's time does not count",
        "l2": f"exceeded: each launch streams at least {least / 1e6:.0f} MB, and other cases run in between",
        "inputs": "standard normal float32, the same for all cases of one tile and share",
        "check": "output filled with NaN, one launch, every element compared with a float64 reference, before timing",
        "occupancy": "grid = SMs x CTAs per SM; a case is left out where that many CTAs do not fit on one SM",
        "clusters": "grid = clusters that the driver says are resident at once x their CTAs, which leaves SMs out: "
        "launch.sms = grid / CTAs per SM; shared memory is asked for until no more CTAs fit on an SM",
        "registers": "as the compiler likes, or, where a launch has it, so few that launch.promised CTAs fit on an SM "
        "(second number of __launch_bounds__); resources.local counts what did not fit into them",
        "counter": "a kernel that takes tiles from a counter puts it back to 0 itself, for the next launch",
        "copy_limit": f"device-to-device copy of {copied / 2**30:.3g} GiB, read plus written bytes, in the same rounds",
        "fp32_limit": "multiply-adds in registers, 8 CTAs of 256 threads per SM, timed in the same rounds",
    }
