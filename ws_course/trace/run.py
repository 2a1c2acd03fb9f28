"""One run of a tile kernel as a timeline: its order in the emulator, its times on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ws_course import device
from ws_course.kernels import catalog
from ws_course.kernels.catalog import KernelSpec
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel, Result, Span, Window, backends, gpu, tiles
from ws_course.runtime.launch import Launch
from ws_course.trace.timeline import TICKS, Timeline

ORDER = "emulated order"


def timeline(
    kernel: KernelSpec | str,
    problem: TileProblem,
    *,
    backend: str = "auto",
    grid: int | None = None,
    keep: range | None = None,
    timeout: float = 60.0,
    **params: int,
) -> Timeline:
    """Run a kernel of the catalog once with tracing and return what each warp did.

    ``kernel`` is an entry or its name, ``params`` its constants; TILE, INTENSITY and SHARE come from the problem.
    ``backend`` is "emulator", "gpu" or "auto" (the GPU, where there is one). ``grid`` counts CTAs: by default one (or
    one cluster) in the emulator, and one for each SM of a GPU, in whole clusters. ``keep=range(24, 32)`` keeps the 24th
    to the 31st tile of the first CTA (or cluster) and nothing else: a piece of the steady state of a long run. Which
    slot of the ring its first tile goes through, :meth:`Timeline.before` knows. On a GPU tracing takes time of its own,
    and spans of waiting are the gaps between marked work (:func:`ws_course.runtime.spans.decode`).

    ``facts`` of the answer holds "problem", "launch", "keep" where only a piece was kept, and on a GPU "device" (its
    name), "seconds" (of the traced launch) and "clock" (:meth:`ws_course.runtime.spans.Trace.facts`). Raises
    ``RuntimeError`` with the faults if there are any, ``ValueError`` for a cluster whose CTAs would share no matrix of
    B, for tiles to keep that no CTA has and for an unknown backend, ``BackendError`` where the backend is missing.
    """
    backends.get(backend)
    spec = catalog.get(kernel) if isinstance(kernel, str) else kernel
    if backend == "auto":
        backend = "gpu" if device.has_gpu() else "emulator"
    constants = {**params, "TILE": problem.tile, "INTENSITY": problem.intensity, "SHARE": problem.share}
    cluster = spec.cluster(**constants)
    if problem.share % cluster:
        raise ValueError(
            f"the CTAs of a cluster of {spec.name} use one matrix of B: give TileProblem(…, share={cluster}), "
            f"or a CLUSTER that divides share={problem.share}"
        )
    if grid is None:
        grid = cluster if backend == "emulator" else max(1, gpu.first_gpu().sms // cluster) * cluster
    launch = Launch(grid, spec.block(**constants), cluster, spec.smem(**constants))
    window = window_of(keep, launch)
    if keep is not None and window.first >= problem.tiles:
        raise ValueError(f"keep={keep}: there is no such tile: {_tiles_of_a_cta(problem.tiles, launch.blocks)}")
    result = Kernel(spec.source, spec.name, spec.path.name, spec.defines(**constants)).run(
        *tiles.arguments(spec, *problem.inputs(), problem.output()),
        grid=launch.grid,
        block=launch.block,
        cluster=launch.cluster,
        smem=launch.smem,
        backend=backend,
        trace=window,
        timeout=timeout,
    )
    if result.faults:
        raise RuntimeError(f"no timeline to show: {result}")
    if backend == "emulator":
        spans = kept(result.spans, window)
    else:
        spans = aligned(result.spans, result.stats.get("trace", {}).get("skipped", {}), stages(spec, constants))
    piece = {}
    if keep is not None:
        piece["keep"] = [keep.start, keep.stop]
        if backend == "emulator":
            piece["before"] = _before(result.spans, window)
    return Timeline(
        title=title(spec, constants),
        spans=spans,
        label=ORDER if backend == "emulator" else f"measured now ({result.device})",
        unit=TICKS if backend == "emulator" else "ns",
        stages=stages(spec, constants),
        kernel=spec.name,
        params=spec.defines(**constants),
        facts={**asked(problem, launch), **piece, **_measured(result)},
    )


def window_of(keep: range | None, launch: Launch) -> Window:
    """Return the window of :func:`timeline`'s ``keep``: tile n of CTA c is tile ``c + n * grid`` of the problem."""
    if keep is None:
        return Window()
    if not isinstance(keep, range) or keep.step != 1 or not 0 <= keep.start < keep.stop:
        raise ValueError(f"keep={keep}: say which tiles of a CTA, such as range(24, 32)")
    blocks = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]
    first, last = (min(n * launch.blocks, Window().last) for n in (keep.start, keep.stop))
    return Window(blocks=blocks, first=first, last=last)


def _tiles_of_a_cta(tiles: int, grid: int) -> str:
    """Return in words which tiles there are to keep."""
    if not tiles:
        return "the problem has none"
    last = -(-tiles // grid) - 1
    numbers = f"tiles 0 to {last}" if last else "tile 0 alone"
    return f"with {tiles} tile{'s' if tiles > 1 else ''} on {grid} CTA{'s' if grid > 1 else ''}, a CTA has {numbers}"


def kept(spans: tuple[Span, ...], window: Window) -> tuple[Span, ...]:
    """Return what a GPU keeps, out of spans that were recorded without a window."""
    if window == Window():
        return spans
    return _piece(spans, lambda s: s.block < window.blocks and window.first <= s.item < window.last)


def _before(spans: tuple[Span, ...], window: Window) -> dict[int, int]:
    """Return for each block how many tiles it took before the window, out of spans that were recorded without one."""
    taken = {(s.block, s.item) for s in spans if s.item >= 0 and s.block < window.blocks}
    return {b: sum(block == b and item < window.first for block, item in taken) for b in {block for block, _ in taken}}


def aligned(spans: tuple[Span, ...], skipped: Mapping[int, int], stages: int) -> tuple[Span, ...]:
    """Leave out the first tiles of each block until one goes through slot 0 of its ring.

    ``skipped`` maps a block to the tiles that it loaded before those in ``spans``. It matters where tiles come from a
    counter: which tile is the first of a piece is then chance.
    """
    dropped = {
        block: set(sorted({s.item for s in spans if s.block == block and s.item >= 0})[: -before % stages])
        for block, before in (skipped if stages else {}).items()
    }
    return _piece(spans, lambda s: s.item not in dropped.get(s.block, ())) if any(dropped.values()) else spans


def _piece(spans: tuple[Span, ...], wanted: Callable[[Span], bool]) -> tuple[Span, ...]:
    """Return the wanted spans of work, and the waits between those of one warp."""
    reach: dict[tuple[int, int], tuple[int, int]] = {}
    for s in spans:
        if s.work != "wait" and wanted(s):
            first, last = reach.get((s.block, s.warp), (s.start, s.end))
            reach[s.block, s.warp] = min(first, s.start), max(last, s.end)

    def within(s: Span) -> bool:
        first, last = reach.get((s.block, s.warp), (0, -1))
        return first <= s.start and s.end <= last

    return tuple(s for s in spans if (within(s) if s.work == "wait" else wanted(s)))


def title(spec: KernelSpec, constants: Mapping[str, int]) -> str:
    """Return a heading: the kernel, and the constants that shape its pipeline."""
    values = spec.defines(**constants)
    return ", ".join([spec.name, *(f"{name} {values[name]}" for name in ("STAGES", "CLUSTER") if name in values)])


def stages(spec: KernelSpec, constants: Mapping[str, int]) -> int:
    """Return the slots of a kernel's ring: 0 for a kernel without one."""
    return spec.defines(**constants).get("STAGES", 0)


def asked(problem: TileProblem, launch: Launch) -> dict[str, object]:
    """Return problem and launch as facts of a timeline."""
    return {
        "problem": {"name": "tile", "tiles": problem.tiles, "tile": problem.tile, "share": problem.share,
                    "intensity": problem.intensity, "bytes": problem.bytes, "flops": problem.flops},
        "launch": {"grid": launch.blocks, "block": launch.threads, "smem": launch.smem,
                   "cluster": launch.cluster[0] * launch.cluster[1] * launch.cluster[2]},
    }  # fmt: skip


def _measured(result: Result) -> dict[str, object]:
    if result.backend == "emulator":
        return {}
    return {"device": {"name": result.device}, "seconds": result.seconds, "clock": result.stats.get("trace", {})}
