"""Record timelines on a GPU: for every kernel of the ladder a piece of its steady state, and what tracing it cost."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ws_course.bench.ladder import TILES, Bench, Case, Prepared, runs_on
from ws_course.bench.surroundings import clock_rates, versions
from ws_course.bench.timing import interleaved
from ws_course.build import nvrtc
from ws_course.device import Gpu
from ws_course.kernels import catalog
from ws_course.kernels.catalog import HOPPER, LADDER, KernelSpec
from ws_course.runtime import Window, gpu, spans
from ws_course.trace.run import aligned, asked, stages, title, window_of
from ws_course.trace.store import FOLDER, file_name, save
from ws_course.trace.timeline import Timeline

KEEP = range(24, 32)
"""The tiles of a CTA that are kept: long after the start, and from one that begins a round of a ring of 2, 3 or 4."""

ROUNDS = 9

_PLAIN, _PIECE, _ALL = "plain", "piece", "all"


@dataclass(frozen=True)
class _Ready:
    """A kernel that can be fired: built without tracing, or with; then ``recording`` holds what it writes."""

    prepared: Prepared
    recording: gpu.Recording | None = None
    window: Window | None = None

    def fire(self) -> None:
        self.prepared.fire()

    def clear(self) -> None:
        if self.recording:
            self.recording.clear()


def record(
    kernels: Iterable[str] | None = None, *, tiles: int = TILES, keep: range = KEEP, say: Callable = print
) -> list[Timeline]:
    """Run kernels with their default constants, one CTA per SM, and return a timeline of each.

    ``kernels`` are names, by default every rung that this GPU can run; those of which no CTA fits are left out. Each
    kernel is built three times: without tracing, keeping the tiles ``keep`` of the first CTA (or cluster), and keeping
    every span of every CTA. The result of each is compared with NumPy. All are then timed in the same rounds, in random
    order, and ``facts["cost"]`` of a timeline holds the times in ms: "plain_ms", "piece_ms", "all_ms", and the ratios
    of the medians to the plain one, "piece" (of the launch that the timeline is from) and "all" (how much longer a CTA
    takes that is traced from start to end). Raises ``BackendError`` without a GPU, ``RuntimeError`` if a result is
    wrong.
    """
    device = gpu.first_gpu()
    specs = [*map(catalog.get, kernels)] if kernels is not None else [*LADDER, *HOPPER]
    specs = [spec for spec in specs if runs_on(spec, device.capability)]
    cubins = _compile(specs, device)
    gpu.start()
    bench = Bench(tiles)
    ready: dict[tuple[str, str], _Ready] = {}
    for spec in specs:
        ready |= _prepare(spec, cubins, bench, device, keep)
    clocks = {"before": clock_rates()}
    say(f"{len(ready) // 3} kernels fit on {device.name}; every result is right. Timing {ROUNDS} rounds …")
    times = interleaved(ready, _elapsed, ROUNDS, warmup=3)
    clocks["after"] = clock_rates()
    about = {"device": {**gpu.facts(), "clocks": clocks}, "versions": versions()}
    about["date"] = datetime.date.today().isoformat()
    found = []
    for spec in specs:
        if (spec.name, _PIECE) not in ready:
            continue
        of_kernel = {how: times[spec.name, how] for how in (_PLAIN, _PIECE, _ALL)}
        found.append(_timeline(spec, ready[spec.name, _PIECE], of_kernel, about, keep))
        say(_line(found[-1]))
    return found


def record_all(folder: str | Path | None = None, say: Callable = print) -> list[Path]:
    """Record every kernel of the ladder and write the timelines; return where they are.

    The default folder is where the package keeps its records. Takes about a minute.
    """
    return [save(found, Path(folder or FOLDER) / file_name(found)) for found in record(say=say)]


def _compile(specs: list[KernelSpec], device: Gpu) -> dict[tuple[str, bool], nvrtc.Cubin]:
    """Compile each kernel without and with tracing."""
    wanted = [(spec, traced) for spec in specs for traced in (False, True)]
    jobs = [
        {
            "source": spec.source,
            "entry": spec.name,
            "file": spec.path.name,
            "defines": {**spec.defines(), **({spans.DEFINE: 1} if traced else {})},
            "arch": gpu.architecture(device),
        }
        for spec, traced in wanted
    ]
    names = [(spec.name, traced) for spec, traced in wanted]
    return dict(zip(names, nvrtc.compile_several(jobs), strict=True))


def _prepare(
    spec: KernelSpec, cubins: dict[tuple[str, bool], nvrtc.Cubin], bench: Bench, device: Gpu, keep: range
) -> dict[tuple[str, str], _Ready]:
    case = Case(spec.name, tuple(spec.defines().items()), 1)
    found = {}
    for how in (_PLAIN, _PIECE, _ALL):
        prepared = bench.prepare(case, cubins[spec.name, how != _PLAIN], device.sms)
        if prepared is None:
            return {}
        ready = _Ready(prepared)
        if how != _PLAIN:
            launch = prepared.launch
            per_cta = -(-prepared.problem.tiles // launch.blocks)
            everything = Window(launch.blocks, 8 * per_cta)  # no kernel marks more than four spans a tile
            window = window_of(keep, launch).resolve(launch) if how == _PIECE else everything.resolve(launch)
            ready = _Ready(prepared, prepared.function.arm(launch, window), window)
        found[spec.name, how] = ready
    return found


def _elapsed(ready: _Ready) -> float:
    ready.clear()
    return gpu.elapsed_ms(ready.fire)


def _timeline(
    spec: KernelSpec, ready: _Ready, times: dict[str, tuple[float, ...]], about: dict[str, object], keep: range
) -> Timeline:
    ready.clear()
    ready.fire()
    decoded = spans.decode(ready.recording.read(), gpu.nominal_mhz())
    if decoded.lost:
        raise RuntimeError(f"{spec.name} marked {decoded.lost} spans more than there was room for")
    plain = median(times[_PLAIN])
    cost = {f"{how}_ms": [round(t, 6) for t in kept] for how, kept in times.items()}
    cost |= {how: round(median(times[how]) / plain, 4) for how in (_PIECE, _ALL)}
    constants = spec.defines()
    return Timeline(
        title=title(spec, constants),
        spans=aligned(decoded.spans, decoded.skipped, stages(spec, constants)),
        label=f"measured now ({about['device']['name']})",
        stages=stages(spec, constants),
        kernel=spec.name,
        params=constants,
        facts={
            **about,
            **asked(ready.prepared.problem, ready.prepared.launch),
            "ctas_per_sm": 1,
            "keep": [keep.start, keep.stop],
            "check": dict(ready.prepared.check),
            "clock": decoded.facts(),
            "cost": cost,
        },
    )


def _line(timeline: Timeline) -> str:
    cost, clock = timeline.facts["cost"], timeline.facts["clock"]
    return (
        f"{timeline.kernel:28} {len(timeline.spans):4} spans, {max(s.end for s in timeline.spans) / 1e3:6.1f} us; "
        f"plain {median(cost['plain_ms']):.4f} ms, traced piece x{cost['piece']:.3f}, all x{cost['all']:.3f}; "
        f"{clock['mhz']:.0f} MHz, tick {clock['tick_ns']:.0f} ns, off by {clock['error_ns']:.0f} ns"
    )
