"""What each warp does, in which order: run a tile kernel in the emulator and keep its spans."""

from __future__ import annotations

from ws_course.kernels import catalog
from ws_course.kernels.catalog import KernelSpec
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel, Span
from ws_course.runtime.launch import Dim


def emulated_order(kernel: KernelSpec | str, problem: TileProblem, *, grid: Dim = 1, **params: int) -> tuple[Span, ...]:
    """Return the spans of one run of a rung in the emulator, ready for a timeline: an order, not a time.

    ``kernel`` is a rung or its name, ``params`` its constants; TILE and INTENSITY come from the problem. Small tiles
    are enough to see an order: ``TileProblem(4, tile=32)``. Raises ``RuntimeError`` with the faults if there are any.
    """
    spec = catalog.get(kernel) if isinstance(kernel, str) else kernel
    params = {**params, "TILE": problem.tile, "INTENSITY": problem.intensity}
    result = Kernel(spec.source, spec.name, spec.path.name, spec.defines(**params)).run(
        *problem.inputs(),
        problem.output(),
        problem.tiles,
        grid=grid,
        block=spec.block(**params),
        smem=spec.smem(**params),
        backend="emulator",
        trace=True,
    )
    if result.faults:
        raise RuntimeError(f"no order to show: {result}")
    return result.spans
