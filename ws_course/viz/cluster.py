"""Draw a cluster under L2: in every CTA a stage with its `full`, A's way to it, and the permission that B needs."""

from __future__ import annotations

from matplotlib.axes import Axes

from ws_course.viz import palette
from ws_course.viz.schematic import arrow, box, note

CTAS = 4
BUS = 2.72
"""The height, in inches, at which B is handed out to the CTAs: between them and L2."""

_LEFT, _WIDE, _PITCH = 0.15, 1.72, 2.05
_A, _B = 0.48, 1.24  # the middle of a tile, from the left edge of its CTA
_FLOOR, _CEILING, _STAGE, _FULL, _L2 = 0.75, 2.42, 1.66, 1.18, 3.2
_PERMISSION = {"color": palette.INK, "linewidth": 1.3, "linestyle": (0, (4, 2))}


def left(rank: int) -> float:
    """Return the left edge of the CTA of this rank, in inches."""
    return _LEFT + rank * _PITCH


def cluster(ax: Axes, l2: str) -> None:
    """Draw all but the way of B on a canvas of 8.4 x 3.9 inches: L2, whose text is ``l2``, and the CTAs of a cluster.

    ``full`` counts one arrival and the bytes of A and B; ``ready``, in the leader, an arrival from every CTA.
    """
    box(ax, _LEFT, _L2, (CTAS - 1) * _PITCH + _WIDE, 0.45, l2, weight="bold")
    for rank in range(CTAS):
        x = left(rank)
        box(ax, x, _FLOOR, _WIDE, _CEILING - _FLOOR)
        for middle, text, colour in ((_A, f"A{rank}", palette.WAITING), (_B, "B", palette.LOADER)):
            box(ax, x + middle - 0.35, _STAGE, 0.7, 0.48, text, colour=colour)
            arrow(ax, (x + middle, _STAGE - 0.02), (x + middle, _FULL + 0.29), colour=palette.INK)
        box(ax, x + 0.13, _FULL, _WIDE - 0.26, 0.27, "full: 1, bytes of A, B", size=palette.SMALL_SIZE)
        note(ax, x + 0.13, _FLOOR + 0.2, f"CTA {rank}" + ("" if rank else ", leader"), strong=True)
        arrow(ax, (x + _A, _L2 - 0.02), (x + _A, _STAGE + 0.5), colour=palette.MUTED)
    line, ready = 0.38, left(0) + 1.37
    ax.plot((left(0) + 0.5, left(CTAS - 1) + _WIDE / 2), (line, line), **_PERMISSION)
    for x in (left(0) + 0.5, *(left(rank) + _WIDE / 2 for rank in range(1, CTAS))):
        ax.plot((x, x), (_FLOOR - 0.02, line), **_PERMISSION)
    box(ax, ready - 0.24, _FLOOR + 0.07, 0.46, 0.27, "ready", size=palette.SMALL_SIZE)
    arrow(ax, (ready, line), (ready, _FLOOR + 0.05), dashed=True)
    words = f"ready: {CTAS} arrivals, each says: my stage is free, and my full expects the bytes"
    note(ax, ax.get_xlim()[1] / 2, 0.16, words, align="center")


def hand_out(ax: Axes, start: tuple[float, float], ranks: range) -> None:
    """Draw B's way from ``start`` to :data:`BUS`, up or down, and on to the stages of the CTAs of ``ranks``."""
    ends = [left(rank) + _B for rank in ranks]
    look = {"color": palette.LOADER, "linewidth": 1.9}
    ax.plot((start[0], start[0]), (start[1], BUS), **look)
    ax.plot((min(start[0], *ends), max(start[0], *ends)), (BUS, BUS), **look)
    for x in ends:
        arrow(ax, (x, BUS), (x, _STAGE + 0.5), colour=palette.LOADER)


def above_b(rank: int) -> tuple[float, float]:
    """Return where the tile of B of this CTA has its upper edge, right of its middle."""
    return left(rank) + _B + 0.2, _STAGE + 0.49


def under_l2(rank: int, across: float) -> tuple[float, float]:
    """Return a place at the lower edge of L2, ``across`` inches from the left edge of this CTA."""
    return left(rank) + across, _L2 - 0.02


def beside_a(ax: Axes, rank: int, text: str) -> None:
    """Write ``text`` above :data:`BUS`, between A's way to this CTA and that to the next."""
    note(ax, left(rank) + _A + _PITCH / 2, BUS + 0.22, text, align="center")
