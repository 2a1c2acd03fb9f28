"""How fast the emulator is, next to numba's CUDA simulator: ``python -m ws_course.bench.emulator [PATH]``.

Both run the same shared-memory matrix product (``matmul_shared.cu`` and its twin in ``numba_kernels``) on this
machine's CPU, the emulator with every check on. Times are CPU time (user + system) of the process that runs the kernel,
which other work on the machine disturbs less than wall time; both are kept. Compilation is apart: the emulator's is
measured on its own, and numba's simulator has none.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median

import numpy as np

from ws_course import device
from ws_course.bench.record import RECORDS, slug
from ws_course.kernels import catalog
from ws_course.runtime import Kernel

SCHEMA = 1
SET = "emulator"
SIZES = (16, 32, 64)
REPEATS = 5
SIMULATOR_REPEATS = {16: 3, 32: 3, 64: 3}
MATMUL = Path(catalog.__file__).parent / "matmul" / "matmul_shared.cu"
STEPS = 32  # of the wgmma main loop


@dataclass(frozen=True)
class Sample:
    """Hold the wall and CPU time of one run in seconds."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Comparison:
    """Hold the runs of one matrix size in both."""

    n: int
    emulator: tuple[Sample, ...]
    simulator: tuple[Sample, ...]

    @property
    def times_faster(self) -> float:
        """Return the simulator's median CPU time divided by the emulator's."""
        return _middle(self.simulator) / _middle(self.emulator)

    @property
    def times_sooner(self) -> float:
        """Return the same ratio in wall time: how much sooner the result is there."""
        return median(s.wall_s for s in self.simulator) / median(s.wall_s for s in self.emulator)


@dataclass(frozen=True)
class Footprint:
    """Hold one kernel's runs in the emulator; ``what`` says which kernel at which size.

    ``memory_mb`` is the largest resident set of the process that ran it, in MiB (0: not measured).
    """

    name: str
    what: str
    samples: tuple[Sample, ...]
    memory_mb: float = 0.0

    @property
    def cpu_s(self) -> float:
        """Return the median CPU time in seconds."""
        return _middle(self.samples)


@dataclass(frozen=True)
class EmulatorRecord:
    """Hold a comparison of emulators on one machine, with what makes it one: machine, versions, date, method."""

    device: Mapping[str, object]
    versions: Mapping[str, str]
    date: str
    method: Mapping[str, str]
    comparisons: tuple[Comparison, ...]
    footprints: tuple[Footprint, ...] = field(default=())

    @property
    def label(self) -> str:
        """Return where the numbers come from."""
        return f"recorded ({self.device['name']}, {self.date})"

    def footprint(self, name: str) -> Footprint:
        """Return the footprint called ``name``; raise ``KeyError`` with the names that there are."""
        for f in self.footprints:
            if f.name == name:
                return f
        raise KeyError(f"no footprint is called {name}: there are {', '.join(f.name for f in self.footprints)}")

    def __str__(self) -> str:
        lines = [f"Shared-memory matrix product, {self.label}; CPU time of one run", ""]
        lines.append(f"{'n':>4}  {'emulator, all checks':>20}  {'numba simulator':>16}  {'times faster':>12}")
        for c in self.comparisons:
            ours, theirs = _middle(c.emulator) * 1e3, _middle(c.simulator) * 1e3
            lines.append(f"{c.n:>4}  {ours:>17.1f} ms  {theirs:>13.0f} ms  {c.times_faster:>12.0f}")
        lines += ["", f"{'emulator':<22}  {'CPU time':>10}  {'memory':>10}"]
        for f in self.footprints:
            memory = f"{f.memory_mb:.0f} MiB" if f.memory_mb else ""
            lines.append(f"{f.name:<22}  {f.cpu_s * 1e3:>7.0f} ms  {memory:>10}  {f.what}")
        return "\n".join(lines)

    def save(self, path: str | Path) -> Path:
        """Write the record as JSON and return the path."""
        path = Path(path)
        path.write_text(json.dumps({"schema": SCHEMA, "set": SET, **asdict(self)}, indent=1) + "\n", encoding="utf-8")
        return path


def read(path: str | Path) -> EmulatorRecord:
    """Read a record; raise ``ValueError`` for another schema."""
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    if data.pop("schema", None) != SCHEMA or data.pop("set", None) != SET:
        raise ValueError(f"{path} is no emulator record of schema {SCHEMA}")

    def samples(items: list) -> tuple[Sample, ...]:
        return tuple(Sample(**s) for s in items)

    return EmulatorRecord(
        **{
            **data,
            "comparisons": tuple(
                Comparison(c["n"], samples(c["emulator"]), samples(c["simulator"])) for c in data["comparisons"]
            ),
            "footprints": tuple(Footprint(**{**f, "samples": samples(f["samples"])}) for f in data["footprints"]),
        }
    )


def load() -> EmulatorRecord:
    """Return the latest packaged record; raise ``FileNotFoundError`` where there is none."""
    found = [read(path) for path in sorted((RECORDS / SET).glob("*.json"))]
    if not found:
        raise FileNotFoundError("there is no record of the emulator: write one with python -m ws_course.bench.emulator")
    return max(found, key=lambda record: record.date)


# ---- what is run --------------------------------------------------------------------------------


def matmul(n: int, repeats: int = REPEATS) -> tuple[Sample, ...]:
    """Time the product of two [n, n] matrices in the emulator; raise ``RuntimeError`` if a result is wrong."""
    kernel = Kernel.from_file(MATMUL)
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    blocks = -(-n // 16)

    def once() -> None:
        c = np.full((n, n), np.nan, np.float32)
        result = kernel.run(a, b, c, np.int32(n), grid=(blocks, blocks), block=(16, 16), backend="emulator")
        if not result.ok or not np.allclose(c, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4):
            raise RuntimeError(f"the emulator computed a wrong product for n={n}: {result}")

    return _measure(once, repeats)


def simulated_matmul(n: int, repeats: int = 1) -> tuple[Sample, ...]:
    """Time the same product in numba's CUDA simulator, each run in a process of its own, imports apart.

    Raises ``RuntimeError`` where numba-cuda is not installed.
    """
    code = (
        "import json, time\nfrom ws_course.numba_kernels.matmul import seconds\nbegin = time.process_time()\n"
        f"wall = seconds({n})[0]\nprint(json.dumps([wall, time.process_time() - begin]))"
    )
    samples = []
    for _ in range(repeats):
        environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        if done.returncode:
            raise RuntimeError(f"numba's simulator did not run: {done.stderr.strip().splitlines()[-1:]}")
        samples.append(Sample(*json.loads(done.stdout)))
    return tuple(samples)


WGMMA = """
#include <cstdint>
__device__ uint64_t describe(const unsigned char* p) {  // 128-byte swizzle, atoms of 1024 bytes
  const uint64_t at = __cvta_generic_to_shared(p) & 0x3ffff;
  return at >> 4 | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {REGISTERS}, %64, %65, 1, 1, 1, 0, 0;"
               : OUTPUTS : "l"(a), "l"(b));
}
extern "C" __global__ void mainloop(const unsigned* A, const unsigned* B, float* C, int steps) {
  extern __shared__ alignas(1024) unsigned char raw[];
  unsigned char *sa = raw, *sb = raw + 128 * 128;
  const int group = threadIdx.x / 128, K = 64 * steps;
  float d[64];
  for (float& v : d) v = 0;
  for (int k0 = 0; k0 < K; k0 += 64) {
    for (int i = threadIdx.x; i < 2 * 128 * 8; i += 256) {
      const int r = i / 8 % 128, c = i % 8;
      const uint4* from = reinterpret_cast<const uint4*>(i < 1024 ? A : B);
      *reinterpret_cast<uint4*>((i < 1024 ? sa : sb) + r * 128 + (c ^ r % 8) * 16) = from[(r * K + k0) / 8 + c];
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int kk = 0; kk < 4; ++kk) multiply(d, describe(sa + group * 64 * 128 + kk * 32), describe(sb + kk * 32));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 64; ++i)
    C[(group * 64 + warp * 16 + lane / 4 + (i & 2) * 4) * 128 + i / 4 * 8 + lane % 4 * 2 + (i & 1)] = d[i];
}
""".replace("REGISTERS", ", ".join(f"%{i}" for i in range(64))).replace(
    "OUTPUTS", ", ".join(f'"+f"(d[{i}])' for i in range(64))
)

BLOCK = """
extern "C" __global__ void block(const float* x, float* y, int rounds) {
  __shared__ float s[1024];
  float v = x[threadIdx.x];
  for (int i = 0; i < rounds; ++i) {
    s[threadIdx.x] = v;
    __syncthreads();
    v = s[blockDim.x - 1 - threadIdx.x] + 1;
    __syncthreads();
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
"""


def wgmma(steps: int = STEPS, repeats: int = REPEATS) -> tuple[Sample, ...]:
    """Time a 128 x 128 x 64 bf16 tensor-core main loop of ``steps`` steps (one block of two warpgroups)."""
    random = np.random.default_rng(0)
    K = 64 * steps
    a, b = (random.standard_normal((128, K), dtype=np.float32).view(np.uint32) >> 16 for _ in range(2))
    wide = [(m << 16).view(np.float32) for m in (a, b)]
    packed = [np.ascontiguousarray(m.astype(np.uint16)).view(np.uint32) for m in (a, b)]
    kernel = Kernel(WGMMA, "mainloop", "mainloop.cu")

    def once() -> None:
        c = np.full((128, 128), np.nan, np.float32)
        result = kernel.run(*packed, c, np.int32(steps), grid=1, block=256, smem=32768, backend="emulator", timeout=60)
        if not result.ok or not np.allclose(c, wide[0] @ wide[1].T, rtol=1e-3, atol=1e-2):
            raise RuntimeError(f"the emulated main loop is wrong: {result}")

    return _measure(once, repeats)


def blocks(grid: int, threads: int = 1024, rounds: int = 100, repeats: int = REPEATS) -> tuple[Sample, ...]:
    """Time ``grid`` blocks of ``threads`` threads that meet at 2 x ``rounds`` barriers."""
    kernel = Kernel(BLOCK, "block", "block.cu")
    x = np.zeros(threads, np.float32)

    def once() -> None:
        y = np.zeros((grid, threads), np.float32)
        result = kernel.run(x, y, np.int32(rounds), grid=grid, block=threads, backend="emulator", timeout=60)
        if not result.ok or not (y == rounds).all():
            raise RuntimeError(f"the emulated blocks are wrong: {result}")

    return _measure(once, repeats)


def cold_compile() -> Sample:
    """Time the compilation of the matrix product with an empty cache (the emulator itself is compiled before)."""
    kernel = Kernel.from_file(MATMUL)
    kernel.compile("emulator")
    fresh = Kernel(f"// {time.time_ns()}\n{kernel.source}", kernel.entry, kernel.file)
    begin, before = time.perf_counter(), _children()
    if faults := fresh.compile("emulator"):
        raise RuntimeError(f"the kernel does not compile: {faults[0]}")
    return Sample(time.perf_counter() - begin, _children() - before)


RUNS: dict[str, tuple[str, Callable[[], tuple[Sample, ...]]]] = {
    "wgmma main loop": (f"128 x 128 x 64 bf16 tile, {STEPS} steps, 256 threads", wgmma),
    "1024 threads": ("one block, 200 barriers", lambda: blocks(1)),
    "8 blocks": ("256 threads each, 200 barriers", lambda: blocks(8, 256)),
    "32 blocks": ("256 threads each, 200 barriers", lambda: blocks(32, 256)),
    "128 blocks": ("256 threads each, 200 barriers", lambda: blocks(128, 256)),
}


def peak_memory(name: str) -> float:
    """Return the largest resident set, in MiB, of the process that runs the kernel of ``RUNS[name]``.

    It is asked in a fresh Python process, whose other children are small once the kernel is compiled. The system counts
    the memory of the Python process that starts the runner into it, so the true figure is at most this.
    """
    RUNS[name][1]()
    code = (
        "import resource\nfrom ws_course.bench import emulator\n"
        f"emulator.RUNS[{name!r}][1]()\nprint(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def record(path: str | Path | None = None) -> Path:
    """Measure everything on this machine, write the record (default: into the package) and return its path."""
    comparisons = []
    for n in SIZES:
        emulated = matmul(n)
        comparisons.append(Comparison(n, emulated, simulated_matmul(n, SIMULATOR_REPEATS[n])))
    compiled = tuple(cold_compile() for _ in range(3))
    footprints = [Footprint("compile, cold", "the matrix product, nothing cached", compiled)]
    footprints += [Footprint(name, what, run(), peak_memory(name)) for name, (what, run) in RUNS.items()]
    name = _cpu_name()
    done = EmulatorRecord(
        device={"name": name, "cores": os.cpu_count(), "system": platform.system()},
        versions={
            "python": platform.python_version(),
            "compiler": str(device.host_compiler()),
            **{package: metadata.version(package) for package in ("numba", "numba-cuda", "numpy")},
        },
        date=datetime.date.today().isoformat(),
        method={
            "time": "CPU time (user + system) of the process that runs one launch, from its start to its end; median",
            "simulator": "CPU time of the launch in a Python process that has imported everything; median",
            "checks": "races, bounds, uninitialised reads, barriers: all on; one schedule; results compared with NumPy",
            "memory": "largest resident set of the process that runs the kernel, the Python that starts it included",
        },
        comparisons=tuple(comparisons),
        footprints=tuple(footprints),
    )
    path = Path(path) if path else RECORDS / SET / f"{slug(name)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return done.save(path)


def _middle(samples: tuple[Sample, ...]) -> float:
    return median(s.cpu_s for s in samples)


def _measure(once: Callable[[], None], repeats: int) -> tuple[Sample, ...]:
    """Run once unmeasured (it compiles), then ``repeats`` times; the children of this process are what is measured."""
    once()
    samples = []
    for _ in range(repeats):
        begin, before = time.perf_counter(), _children()
        once()
        samples.append(Sample(time.perf_counter() - begin, _children() - before))
    return tuple(samples)


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    print(read(record(*sys.argv[1:2])))
