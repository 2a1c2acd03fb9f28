"""What each warp does, in which order: run a tile kernel in the emulator and keep its spans."""

from __future__ import annotations

from ws_course.kernels.catalog import KernelSpec
from ws_course.problem import TileProblem
from ws_course.runtime import Span
from ws_course.trace.run import timeline


def emulated_order(
    kernel: KernelSpec | str, problem: TileProblem, *, grid: int | None = None, **params: int
) -> tuple[Span, ...]:
    """Return the spans of one run of a kernel in the emulator, ready for a timeline: an order, not a time.

    As :func:`ws_course.trace.run.timeline`, of which it is the spans. Small tiles are enough to see an order:
    ``TileProblem(4, tile=32)``. Raises ``RuntimeError`` with the faults if there are any.
    """
    return timeline(kernel, problem, backend="emulator", grid=grid, **params).spans
