"""The tile ladder, measured: which kernels, with which constants, at which occupancy, and how."""

from __future__ import annotations

import datetime
import itertools
import math
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from ws_course.bench.record import RECORDS, Measurement, Record, slug
from ws_course.bench.timing import interleaved
from ws_course.build import nvrtc
from ws_course.kernels import catalog
from ws_course.kernels.catalog import ABLATIONS, LADDER, KernelSpec
from ws_course.problem import TileProblem
from ws_course.runtime import gpu
from ws_course.runtime.launch import Launch

SET = "tile-ladder"
TILES = 16384  # 805 MB in and out: far more than any L2, and long enough to drown the launch
CTAS = (1, 2, 3, 4, 5)
INTENSITIES = (1, 2, 4, 8)
ROUNDS = 15
COPY_BYTES = 1 << 32  # 4 GiB read and as much written


@dataclass(frozen=True)
class Case:
    """Name one thing to measure: a kernel, its constants, and the resident CTAs per SM (0: as many as fit)."""

    kernel: str
    params: tuple[tuple[str, int], ...]
    ctas: int

    @property
    def spec(self) -> KernelSpec:
        """Return the kernel's entry in the catalog."""
        return catalog.get(self.kernel)


def cases(
    kernels: Iterable[str] | None = None,
    intensities: Iterable[int] = INTENSITIES,
    stages: Iterable[int] = (2, 3, 4),
    loader_warps: Iterable[int] = (1, 2, 4),
    storer_warps: Iterable[int] = (1, 2),
    compute_threads: Iterable[int] = (128,),
    ctas: Iterable[int] = CTAS,
) -> Iterator[Case]:
    """Yield every combination of the constants that each kernel has, whether it fits on a device or not."""
    values = {
        "INTENSITY": tuple(intensities),
        "COMPUTE_THREADS": tuple(compute_threads),
        "STAGES": tuple(stages),
        "LOADER_WARPS": tuple(loader_warps),
        "STORER_WARPS": tuple(storer_warps),
    }
    ctas = tuple(ctas)
    for spec in LADDER if kernels is None else map(catalog.get, kernels):
        names = [name for name in values if name in spec.defaults]
        for numbers in itertools.product(*(values[name] for name in names)):
            for n in ctas:
                yield Case(spec.name, tuple(zip(names, numbers, strict=True)), n)


def measure(
    wanted: Iterable[Case], tiles: int = TILES, rounds: int = ROUNDS, live: bool = False, say: Callable = print
) -> Record:
    """Check and time every case that fits on this machine's GPU and return the record.

    Random inputs; the output is filled with NaN before each check, every element is compared with a float64 reference
    and a case with a wrong one is reported and not timed. Raises ``BackendError`` without a GPU, ``RuntimeError`` if a
    result is wrong.
    """
    device = gpu.first_gpu()
    wanted = list(dict.fromkeys(wanted))
    cubins = _compile_all(device, {(case.kernel, case.params) for case in wanted}, say)
    gpu.start()
    bench = _Bench(tiles)
    works, found = {}, {}
    for case in wanted:
        prepared = bench.prepare(case, cubins[case.kernel, case.params], device.sms)
        if prepared and prepared.key not in found:
            found[prepared.key] = prepared
            works[prepared.key] = prepared.fire
    say(f"{len(works)} cases fit on {device.name}; every result is right. Timing {rounds} rounds …")
    limits = _Limits(bench)
    works["copy"], works["fma"] = limits.copy, limits.fma
    clocks = {"before": _clocks()}
    times = interleaved(works, gpu.elapsed_ms, rounds, warmup=3)
    clocks["after"] = _clocks()
    return Record(
        set=SET,
        device={**gpu.facts(), "clocks": clocks},
        versions=_versions(),
        date=datetime.date.today().isoformat(),
        method=_method(rounds, tiles),
        limits=limits.reached(times["copy"], times["fma"]),
        measurements=tuple(found[key].measurement(times[key]) for key in found),
        live=live,
    )


def record_ladder(path: str | Path | None = None) -> Path:
    """Measure the whole ladder on this machine's GPU and write the record; return where it is.

    The default is where the package keeps its records. Takes a few minutes, most of them compiling. Raises
    ``BackendError`` with the fix without a GPU.
    """
    everything = [spec.name for spec in (*LADDER, *ABLATIONS)]
    wide = cases(everything, intensities=(1,), compute_threads=(256,))
    record = measure([*cases(everything), *wide])
    path = Path(path) if path else RECORDS / f"{slug(str(record.device['name']))}_{SET}.json"
    return record.save(path)


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
) -> Record:
    """Measure a few cases now, in seconds, for a lesson on a machine with a GPU; raise ``BackendError`` without one."""
    chosen = cases(kernels, intensities, stages, loader_warps, storer_warps, ctas=ctas)
    return measure(chosen, tiles, rounds, live=True, say=lambda text: None)


@dataclass(frozen=True)
class _Prepared:
    case: Case
    problem: TileProblem
    launch: Launch
    resources: Mapping[str, int]
    check: Mapping[str, object]
    fire: Callable[[], None]

    @property
    def key(self) -> tuple:
        return self.case.kernel, self.case.params, self.launch.grid

    def measurement(self, times: tuple[float, ...]) -> Measurement:
        p = self.problem
        return Measurement(
            kernel=self.case.kernel,
            params=dict(self.case.params),
            ctas_per_sm=self.case.ctas,
            problem={"name": "tile", "tiles": p.tiles, "tile": p.tile, "bytes": p.bytes, "flops": p.flops},
            launch={"grid": self.launch.grid[0], "block": self.launch.threads, "smem": self.launch.smem},
            times_ms=times,
            check=self.check,
            resources=self.resources,
        )


class _Bench:
    """Holds the arrays on the GPU: all cases read the same random inputs and write the same output."""

    def __init__(self, tiles: int) -> None:
        problem = TileProblem(tiles)
        self.tiles = tiles
        self.a, self.b, self.reference = (gpu.upload(x) for x in (*problem.inputs(), problem.reference()))
        self.c = gpu.zeros(math.prod(problem.shape), np.float32)
        spec = catalog.MEASURE["compare"]
        device = gpu.first_gpu()
        self._compare = gpu.Function(gpu.compile_for(device, spec.read_text(), "compare", spec.name, {}))

    def prepare(self, case: Case, cubin: nvrtc.Cubin, sms: int) -> _Prepared | None:
        params = dict(case.params)
        spec = case.spec
        function = gpu.Function(cubin)
        block, smem = spec.block(**params), spec.smem(**params)
        if not 1 <= case.ctas <= function.ctas_per_sm(block, smem):
            return None
        launch = Launch(case.ctas * sms, block, smem=smem)
        arguments = [self.a.data.ptr, self.b.data.ptr, self.c.data.ptr, np.int32(self.tiles).tobytes()]
        fire = function.prepare(arguments, launch)
        problem = TileProblem(self.tiles, params.get("TILE", 64), params["INTENSITY"])
        resources = {"registers": function.registers, "static_smem": function.static_smem, "local": function.local}
        return _Prepared(case, problem, launch, resources, self._check(fire, problem, case), fire)

    def _check(self, fire: Callable[[], None], problem: TileProblem, case: Case) -> dict[str, object]:
        gpu.fill_nan(self.c)
        fire()
        bad, largest = gpu.zeros(1, np.uint64), gpu.zeros(1, np.float32)
        arguments = [
            self.c.data.ptr,
            self.reference.data.ptr,
            np.float32(problem.intensity).tobytes(),
            np.float32(problem.tolerance).tobytes(),
            np.int64(self.c.size).tobytes(),
            bad.data.ptr,
            largest.data.ptr,
        ]
        self._compare.prepare(arguments, Launch(1024, 256))()
        gpu.synchronize()
        wrong, error = int(gpu.download(bad)[0]), float(gpu.download(largest)[0])
        if wrong:
            raise RuntimeError(f"{case} computes {wrong} of {self.c.size} elements wrongly (largest error {error})")
        return {"ok": True, "max_error": error, "tolerance": problem.tolerance}


class _Limits:
    """The ceilings of the device, measured in the same run: a large copy, and multiply-adds in registers only."""

    STEPS = 4096

    def __init__(self, bench: _Bench) -> None:
        self._source, self._to = (gpu.zeros(COPY_BYTES // 4, np.float32) for _ in range(2))
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
            "copy_gb_s": round(2 * COPY_BYTES / float(np.median(copy_ms)) / 1e6, 1),
            "fp32_tflop_s": round(flops / float(np.median(fma_ms)) / 1e9, 2),
        }


def _compile_all(device: object, wanted: set[tuple], say: Callable) -> dict[tuple, nvrtc.Cubin]:
    """Compile in several processes (the compiler uses one core), then read everything from the cache."""
    arch = gpu.architecture(device)
    if len(wanted) > 8 and (os.cpu_count() or 1) > 2:
        say(f"compiling {len(wanted)} variants …")
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(16, os.cpu_count()), mp_context=spawn) as pool:
            list(pool.map(_compile, sorted(wanted), itertools.repeat(arch)))
    return {one: _compile(one, arch) for one in wanted}


def _compile(one: tuple[str, tuple], arch: str) -> nvrtc.Cubin:
    name, params = one
    spec = catalog.get(name)
    defines = spec.defines(**dict(params))
    return nvrtc.compile_cubin(spec.source, spec.name, file=spec.path.name, defines=defines, arch=arch)


def _method(rounds: int, tiles: int) -> dict[str, object]:
    return {
        "repetitions": f"{rounds} timed rounds after 3 warm-up rounds, all kept; a figure shows their median",
        "interleaving": "every round runs every case once, in a fresh random order",
        "clock": "CUDA events around one launch",
        "l2": f"exceeded: each launch streams {TileProblem(tiles).bytes / 1e6:.0f} MB, and other cases run in between",
        "inputs": "standard normal float32, the same for all cases",
        "check": "output filled with NaN, one launch, every element compared with a float64 reference, before timing",
        "occupancy": "grid = SMs x CTAs per SM; a case is left out where that many CTAs do not fit on one SM",
        "copy_limit": f"device-to-device copy of {COPY_BYTES >> 30} GiB, read plus written bytes, in the same rounds",
        "fp32_limit": "multiply-adds in registers, 8 CTAs of 256 threads per SM, timed in the same rounds",
    }


def _versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0], "nvrtc": ".".join(map(str, nvrtc.nvrtc_version()))}
    for name in (
        "cuda-core",
        "cuda-bindings",
        "cupy-cuda13x",
        "nvidia-cuda-nvrtc",
        "nvidia-cuda-cccl",
        "numpy",
        "ws-course",
    ):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _clocks() -> dict[str, str]:
    fields = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "temperature.gpu", "power.draw")
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(fields, (value.strip() for value in done.stdout.split(",")), strict=False))
