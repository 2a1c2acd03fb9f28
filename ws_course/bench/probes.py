"""Small experiments on one device: how long one load takes, and how often a race goes unnoticed."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from ws_course import device
from ws_course.bench import command
from ws_course.bench.record import RECORDS, slug
from ws_course.build import nvrtc
from ws_course.kernels import catalog
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel, gpu
from ws_course.runtime.launch import Launch

SCHEMA = 1
FOLDER = RECORDS / "probes"
BLOCKS = (32, 64, 128, 256, 512, 1024)
LINE = 128  # bytes of a cache line, so that every hop goes to another one
SIZES = {"L2 cache": 8 << 20, "device memory": 512 << 20}  # bytes: far below and far above any L2 of today
HOPS = 40_000
ROUNDS = 9
WARMUP = 3  # launches; together they go once round the smaller chain


@dataclass(frozen=True)
class Latency:
    """Hold how long dependent loads take that are spread over ``bytes`` bytes: ``times_ms`` for ``hops`` each."""

    where: str
    bytes: int
    hops: int
    times_ms: tuple[float, ...]

    @property
    def ns(self) -> float:
        """Return the median time of one load in nanoseconds."""
        return median(self.times_ms) / self.hops * 1e6


@dataclass(frozen=True)
class Luck:
    """Count how often a kernel with a race gave the right values all the same.

    ``what`` names the mistake; ``tried`` counts blocks, or tiles, of ``block`` threads each; ``right`` of them were
    right. ``source`` is the text that ran.
    """

    what: str
    block: int
    tried: int
    right: int
    source: str

    @property
    def share(self) -> float:
        """Return the share that was right, 0 to 1."""
        return self.right / self.tried


@dataclass(frozen=True)
class Probes:
    """Hold the experiments of one device, with what makes them numbers; ``live``: measured in this session."""

    device: Mapping[str, object]
    versions: Mapping[str, str]
    date: str
    method: Mapping[str, str]
    latencies: tuple[Latency, ...]
    luck: tuple[Luck, ...]
    live: bool = False

    @property
    def label(self) -> str:
        """Return where the numbers come from, as the label of a record does."""
        name = self.device["name"]
        return f"measured now ({name})" if self.live else f"recorded ({name}, {self.date})"

    def latency(self, where: str) -> Latency:
        """Return the latency of "L2 cache" or "device memory"; raise ``KeyError`` with the names there are."""
        for latency in self.latencies:
            if latency.where == where:
                return latency
        raise KeyError(f"no latency of {where!r}: there are {', '.join(x.where for x in self.latencies)}")

    def lucky(self, what: str) -> tuple[Luck, ...]:
        """Return the counts of one mistake, by block size; raise ``KeyError`` with the mistakes there are."""
        found = tuple(luck for luck in self.luck if luck.what == what)
        if not found:
            raise KeyError(f"no mistake is called {what!r}: there are {', '.join({x.what for x in self.luck})}")
        return found

    def save(self, path: str | Path) -> Path:
        """Write the experiments as JSON and return the path."""
        data = {"schema": SCHEMA, **asdict(self)}
        del data["live"]
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        return path


def read(path: str | Path) -> Probes:
    """Read a file that :meth:`Probes.save` wrote; raise ``ValueError`` for another schema or impossible counts."""
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    if data.pop("schema", None) != SCHEMA:
        raise ValueError(f"{path} is no file of schema {SCHEMA}: measure again with python -m ws_course.bench.probes")
    latencies = tuple(Latency(**{**x, "times_ms": tuple(x["times_ms"])}) for x in data.pop("latencies"))
    luck = tuple(Luck(**x) for x in data.pop("luck"))
    if not all(0 <= x.right <= x.tried and x.tried > 0 for x in luck):
        raise ValueError(f"{path} counts more right blocks than it tried")
    if not all(0 < t < float("inf") for x in latencies for t in x.times_ms):
        raise ValueError(f"{path} holds times that are no times")
    return Probes(**data, latencies=latencies, luck=luck)


def load(device: str | None = None) -> Probes:
    """Return the packaged experiments of ``device`` ("NVIDIA H200"), else the latest ones."""
    found = [read(path) for path in sorted(FOLDER.glob(f"{slug(device)}.json" if device else "*.json"))]
    if not found:
        raise FileNotFoundError(f"no experiments of {device or 'any device'}: run python -m ws_course.bench.probes")
    return max(found, key=lambda probes: probes.date)


def one_buffer(without: int | None = None, late: bool = False, **constants: int) -> Kernel:
    """Return the kernel with one buffer, ``without`` its first or second ``__syncthreads``: a planted race.

    With ``late``, the first warp sleeps for some microseconds before it computes: legal, and enough to show on a GPU
    what the barrier was for.
    """
    spec = catalog.get("tile_00_one_buffer")
    source = spec.source
    if late:
        compute = "compute(s.a, s.b, c);"
        source = _replace(source, compute, f"if (threadIdx.x < 32) __nanosleep(20000);\n      {compute}")
    if without is not None:
        source = _replace(source, f"__syncthreads();  // {without}:", f"// barrier {without} removed:")
    return Kernel(source, spec.name, spec.path.name, spec.defines(**constants))


def _replace(source: str, old: str, new: str) -> str:
    if source.count(old) != 1:
        raise ValueError(f"the kernel has {old!r} in {source.count(old)} places, not in one")
    return source.replace(old, new)


def measure(blocks: Sequence[int] = BLOCKS, tried: int = 20_000, tiles: int = 8192, rounds: int = ROUNDS) -> Probes:
    """Run all experiments on this machine's GPU, in half a minute; raise ``BackendError`` without one."""
    gpu.first_gpu()
    luck = [unnoticed(block, tried) for block in blocks]
    luck += [unnoticed_in_tiles(tiles, without, late) for without in (1, 2, None) for late in (False, True)]
    gpu.start()
    latencies = tuple(_chase(where, size, rounds) for where, size in SIZES.items())
    return Probes(
        device=gpu.facts(),
        versions={"nvrtc": ".".join(map(str, nvrtc.nvrtc_version())), **device.packages()},
        date=datetime.date.today().isoformat(),
        method={
            "latency": f"one thread, dependent loads in a random cycle of lines of {LINE} bytes; {WARMUP} launches "
            "first, which fill the L2 cache where the cycle fits into it; CUDA events around one launch",
            "pass_left_racy": "one launch, random normal inputs, a block counts as right if all its values are",
            "tile_00_one_buffer": "one launch, grid = SMs, random normal inputs, a tile counts as right if all its "
            "values are within the problem's tolerance",
        },
        latencies=latencies,
        luck=tuple(luck),
        live=True,
    )


def unnoticed(block: int, tried: int = 20_000, backend: str = "gpu") -> Luck:
    """Run the neighbour exchange without a barrier in ``tried`` blocks and count the right ones."""
    path = catalog.MEASURE["pass_left_racy"]
    x = np.random.default_rng().standard_normal((tried, block), dtype=np.float32)
    y = np.full_like(x, np.nan)
    kernel = Kernel.from_file(path)
    kernel.run(x, y, grid=tried, block=block, backend=backend)
    right = int((y == np.roll(x, -1, axis=1)).all(axis=1).sum())
    return Luck("pass_left without its barrier", block, tried, right, kernel.source)


def unnoticed_in_tiles(
    tiles: int, without: int | None, late: bool = False, *, backend: str = "gpu", blocks: int | None = None
) -> Luck:
    """Run :func:`one_buffer` and count the right tiles; ``blocks`` defaults to the number of SMs."""
    kernel = one_buffer(without, late)
    problem = TileProblem(tiles)
    c = problem.output()
    block = catalog.get(kernel.entry).block()
    kernel.run(*problem.inputs(), c, tiles, grid=blocks or gpu.first_gpu().sms, block=block, backend=backend)
    error = np.abs(c - problem.reference()).reshape(tiles, -1)
    right = int((error <= problem.tolerance).all(axis=1).sum())  # a NaN is not right
    what = f"tile_00 without barrier {without}" if without else "tile_00"
    return Luck(f"{what}, one warp late" if late else what, block, tiles, right, kernel.source)


def _chase(where: str, size: int, rounds: int) -> Latency:
    following, place = gpu.upload(chain(size)), gpu.zeros(1, np.uint32)
    path = catalog.MEASURE["latency"]
    function = gpu.Function(gpu.compile_for(gpu.first_gpu(), path.read_text(), path.stem, path.name, {}))
    fire = function.prepare([following.data.ptr, place.data.ptr, np.int32(HOPS).tobytes()], Launch(1, 1))
    times = [gpu.elapsed_ms(fire) for _ in range(WARMUP + rounds)]
    return Latency(where, size, HOPS, tuple(times[WARMUP:]))


def chain(size: int) -> np.ndarray:
    """Return uint32 places of ``size`` bytes in which every line leads to the next one of a random cycle."""
    step = LINE // 4
    order = np.random.default_rng(0).permutation(size // LINE).astype(np.uint32) * np.uint32(step)
    places = np.zeros(size // 4, np.uint32)
    at = np.roll(order, -int(np.flatnonzero(order == 0)[0]))  # the thread starts at place 0
    places[at] = np.roll(at, -1)
    return places


def _record(path: str | None) -> None:
    probes = measure()
    print(probes.save(path or FOLDER / f"{slug(str(probes.device['name']))}.json"))
    for line in (*probes.latencies, *probes.luck):
        print({name: value for name, value in asdict(line).items() if name != "source"})


if __name__ == "__main__":
    sys.exit(command.run("ws_course.bench.probes", "Measure latencies, and races that go unnoticed.", _record))
