"""What a tile schedule is worth on one device: tiles of equal or unequal work, dealt out or taken from a counter."""

from __future__ import annotations

import datetime
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from ws_course.bench import command
from ws_course.bench.record import RECORDS, slug
from ws_course.bench.surroundings import versions
from ws_course.bench.timing import interleaved
from ws_course.kernels import catalog
from ws_course.runtime import gpu
from ws_course.runtime.launch import Launch

SCHEMA = 1
FOLDER = RECORDS / "schedules"
TILES = 16384
CTAS_PER_SM = 2
THREADS = 128
SMEM = 100  # KiB at most for a CTA: so much that no more than CTAS_PER_SM fit on an SM, whatever the schedule
ROUNDS = 21
WARMUP = 3

ONE_EACH, STATIC, LATE, DYNAMIC, EARLY = "one CTA a tile", "static", "counter, late", "counter", "counter, 3 ahead"
SCHEDULES: dict[str, dict[str, int]] = {
    ONE_EACH: {"SCHEDULE": 1},
    STATIC: {"SCHEDULE": 1},
    LATE: {"SCHEDULE": 2, "AHEAD": 0},
    DYNAMIC: {"SCHEDULE": 2, "AHEAD": 1},
    EARLY: {"SCHEDULE": 2, "AHEAD": 3},
}
"""The schedules and the constants of ``uneven_tiles`` that make them; the first has as many CTAs as tiles."""

PATTERNS: dict[str, Callable[[int], np.ndarray]] = {
    "equal": lambda tiles: np.full(tiles, 8),
    "small": lambda tiles: np.full(tiles, 1),
    "large": lambda tiles: np.full(tiles, 64),
    "every eighth": lambda tiles: np.where(np.arange(tiles) % 8 == 0, 22, 6),
    "triangle": lambda tiles: np.arange(tiles) % 64 // 4 + 1,
    "random": lambda tiles: np.random.RandomState(0).geometric(1 / 8, tiles),
    "heaviest first": lambda tiles: -np.sort(-PATTERNS["random"](tiles)),
    "heaviest last": lambda tiles: np.sort(PATTERNS["random"](tiles)),
    "giant first": lambda tiles: np.r_[300, np.full(tiles - 1, 8)],
    "giant last": lambda tiles: np.r_[np.full(tiles - 1, 8), 300],
}
"""How the work is spread over the tiles; :func:`work` gives its numbers."""


def work(pattern: str, tiles: int = TILES) -> np.ndarray:
    """Return the work of each tile, int32 in units of ``STEP`` multiply-adds; raise ``KeyError`` with the patterns."""
    if pattern not in PATTERNS:
        raise KeyError(f"no pattern of work is called {pattern!r}: there are {', '.join(PATTERNS)}")
    return PATTERNS[pattern](tiles).astype(np.int32)


@dataclass(frozen=True)
class Run:
    """Hold the times of one launch: ``tiles`` tiles of a ``pattern``, by one of :data:`SCHEDULES`, on ``grid`` CTAs."""

    pattern: str
    tiles: int
    schedule: str
    grid: int
    times_ms: tuple[float, ...] = ()

    @property
    def median_ms(self) -> float:
        """Return the median time in milliseconds."""
        return median(self.times_ms)

    @property
    def spread(self) -> float:
        """Return the interquartile range as a share of the median."""
        return float(np.subtract(*np.quantile(self.times_ms, (0.75, 0.25)))) / self.median_ms


@dataclass(frozen=True)
class Schedules:
    """Hold the runs of one device, with what makes them numbers; ``live``: measured in this session.

    ``ctas`` is the grid of the persistent schedules; ``launch_ms`` are the times of a launch without tiles.
    """

    device: Mapping[str, object]
    versions: Mapping[str, str]
    date: str
    method: Mapping[str, str]
    ctas: int
    launch_ms: tuple[float, ...]
    runs: tuple[Run, ...]
    live: bool = False

    @property
    def label(self) -> str:
        """Return where the numbers come from, as the label of a record does."""
        name = self.device["name"]
        return f"measured now ({name})" if self.live else f"recorded ({name}, {self.date})"

    def find(self, pattern: str, schedule: str, tiles: int = TILES) -> Run:
        """Return one run; raise ``KeyError`` with the ones there are."""
        for run in self.runs:
            if (run.pattern, run.schedule, run.tiles) == (pattern, schedule, tiles):
                return run
        have = sorted({(r.pattern, r.schedule) for r in self.runs})
        raise KeyError(f"{self.label} has no run of {tiles} tiles {pattern!r} by {schedule!r}; it has {have}")

    def times(self, pattern: str, schedule: str, tiles: int = TILES) -> tuple[float, ...]:
        """Return the times of a run without that of an empty launch, in milliseconds."""
        empty = median(self.launch_ms)
        return tuple(time - empty for time in self.find(pattern, schedule, tiles).times_ms)

    def ms(self, pattern: str, schedule: str, tiles: int = TILES) -> float:
        """Return the median of :meth:`times`."""
        return median(self.times(pattern, schedule, tiles))

    def curve(self, pattern: str, schedule: str) -> tuple[Run, ...]:
        """Return the runs of a pattern for every number of tiles, fewest first."""
        found = [run for run in self.runs if (run.pattern, run.schedule) == (pattern, schedule)]
        return tuple(sorted(found, key=lambda run: run.tiles))

    def save(self, path: str | Path) -> Path:
        """Write the runs as JSON, one a line, and return the path."""
        data = {"schema": SCHEMA, **asdict(self)}
        rows = [{**row, "times_ms": [round(t, 6) for t in row["times_ms"]]} for row in data.pop("runs")]
        del data["live"]
        lines = ",\n".join("    " + json.dumps(row) for row in rows)
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{json.dumps(data, indent=2)[:-2]},\n  "runs": [\n{lines}\n  ]\n}}\n', encoding="utf-8")
        return path


def read(path: str | Path) -> Schedules:
    """Read a file that :meth:`Schedules.save` wrote; raise ``ValueError`` for another schema or impossible times."""
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    if data.pop("schema", None) != SCHEMA:
        raise ValueError(f"{path} is no file of schema {SCHEMA}: run python -m ws_course.bench.schedules again")
    runs = tuple(Run(**{**row, "times_ms": tuple(row["times_ms"])}) for row in data.pop("runs"))
    launch = tuple(data.pop("launch_ms"))
    if not all(ts and all(math.isfinite(t) and t > 0 for t in ts) for ts in (launch, *(r.times_ms for r in runs))):
        raise ValueError(f"{path} holds times that are no times")
    return Schedules(**data, launch_ms=launch, runs=runs)


def load(device: str | None = None) -> Schedules:
    """Return the packaged runs of ``device`` ("NVIDIA H200"), else the latest ones."""
    found = [read(path) for path in sorted(FOLDER.glob(f"{slug(device)}.json" if device else "*.json"))]
    if not found:
        raise FileNotFoundError(f"no schedules of {device or 'any device'}: run python -m ws_course.bench.schedules")
    return max(found, key=lambda schedules: schedules.date)


def wanted(ctas: int) -> list[Run]:
    """Return what is run on a device that holds ``ctas`` CTAs: every pattern by every schedule, and a staircase.

    The staircase is equal tiles in growing numbers, from one for each CTA to four.
    """
    cases = [(pattern, TILES, schedule) for pattern in PATTERNS if pattern != "large" for schedule in SCHEDULES]
    steps = range(ctas, 4 * ctas + 1, ctas // 8)
    cases += [("large", tiles, schedule) for tiles in steps for schedule in (ONE_EACH, STATIC, DYNAMIC)]
    return [Run(pattern, tiles, name, tiles if name == ONE_EACH else ctas) for pattern, tiles, name in cases]


def measure(rounds: int = ROUNDS) -> Schedules:
    """Run every schedule on every pattern on this machine's GPU, in some seconds; raise ``BackendError`` without one.

    Raises ``RuntimeError`` if a tile was not done, was done twice, or a counter is not back at 0 after a launch.
    """
    found = gpu.first_gpu()
    ctas = CTAS_PER_SM * found.sms
    gpu.start()
    path = catalog.MEASURE["uneven_tiles"]
    functions = {
        name: gpu.Function(gpu.compile_for(found, path.read_text(), path.stem, path.name, constants))
        for name, constants in SCHEDULES.items()
    }
    counter, result = gpu.zeros(1, np.int32), gpu.zeros(1, np.float32)
    smem = min(map(_smem, functions.values()))
    works: dict[object, Callable[[], None]] = {}
    for run in wanted(ctas):
        fire, done = _prepare(functions[run.schedule], run, counter, result, smem)
        _check(run, fire, done, counter)
        works[run] = fire
    works["launch"], _ = _prepare(functions[STATIC], Run("equal", 0, STATIC, ctas), counter, result, smem)
    times = interleaved(works, gpu.elapsed_ms, rounds, warmup=WARMUP)
    return Schedules(
        device=gpu.facts(),
        versions=versions(),
        date=datetime.date.today().isoformat(),
        method={
            "kernel": "kernels/measure/uneven_tiles.cu: chains of multiply-adds, no traffic to speak of",
            "repetitions": f"{rounds} timed rounds after {WARMUP} warm-up rounds, all kept; medians are used",
            "interleaving": "every round runs every case once, in a fresh random order",
            "clock": "CUDA events around one launch; launch_ms is a launch without tiles",
            "occupancy": f"{THREADS} threads and {smem} bytes of shared memory a CTA: {CTAS_PER_SM} fit on an SM",
            "check": "two launches first: every tile done once in each, the counter back at 0 after each",
        },
        ctas=ctas,
        launch_ms=tuple(round(t, 6) for t in times.pop("launch")),
        runs=tuple(Run(**{**asdict(run), "times_ms": kept}) for run, kept in times.items()),
        live=True,
    )


def _smem(function: gpu.Function) -> int:
    """Return the bytes of shared memory with which CTAS_PER_SM CTAs fit on an SM, and no more."""
    for kib in range(SMEM, 0, -1):
        if function.ctas_per_sm(THREADS, kib << 10) == CTAS_PER_SM:
            return kib << 10
    raise RuntimeError(f"no amount of shared memory lets {CTAS_PER_SM} CTAs of uneven_tiles fit on an SM here")


def _prepare(
    function: gpu.Function, run: Run, counter: object, result: object, smem: int
) -> tuple[Callable[[], None], object]:
    amounts, done = gpu.upload(work(run.pattern, max(run.tiles, 1))), gpu.zeros(max(run.tiles, 1), np.int32)
    arguments = [amounts.data.ptr, done.data.ptr, result.data.ptr, np.int32(run.tiles).tobytes(), counter.data.ptr]
    launch = function.prepare(arguments, Launch(run.grid, THREADS, smem=smem))

    def fire(keep: tuple = (amounts, done)) -> None:  # the arrays live as long as what is launched on them
        launch()

    return fire, done


def _check(run: Run, fire: Callable[[], None], done: object, counter: object) -> None:
    for launches in (1, 2):
        fire()
        gpu.synchronize()
        if (gpu.download(done) != launches).any() or gpu.download(counter)[0] != 0:
            raise RuntimeError(f"{run.tiles} tiles {run.pattern} by {run.schedule!r}: not every tile once, or no reset")


def _record(path: str | None) -> None:
    found = measure()
    print(found.save(path or FOLDER / f"{slug(str(found.device['name']))}.json"))
    for run in found.runs:
        what = f"{run.pattern:16}{run.tiles:>6} tiles  {run.schedule:18}"
        print(f"{what}{run.median_ms:8.4f} ms  spread {run.spread:.1%}")


if __name__ == "__main__":
    sys.exit(
        command.run("ws_course.bench.schedules", "Measure static and dynamic schedules on unequal tiles.", _record)
    )
