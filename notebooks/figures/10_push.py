"""Draw a cluster of four CTAs: one asks L2 for B and sends it on, each asks for its own A."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import arrow, box, canvas, note

CTAS, LEFT, PITCH, WIDE, LOW, HIGH = 4, 0.35, 2.0, 1.7, 1.3, 1.65
A, B = 0.47, 1.23  # where the middles of the two tiles of a CTA are


def draw():
    """Return the figure."""
    figure, ax = canvas(8.4, 4.0, "One asks for B, and sends it on")
    box(ax, 0.1, LOW - 0.2, 8.2, HIGH + 0.95)
    note(ax, 0.25, LOW + HIGH + 0.5, "cluster", strong=True)
    bus = LOW + HIGH + 0.32
    ax.plot((LEFT + B, LEFT + B), (LOW + 0.78, bus), color=palette.LOADER, linewidth=1.7)
    ax.plot((LEFT + B, LEFT + (CTAS - 1) * PITCH + B), (bus, bus), color=palette.LOADER, linewidth=1.7)
    note(ax, LEFT + (CTAS - 1) * PITCH + B, bus + 0.18, "one copy for each receiver", align="right")
    for rank in range(CTAS):
        x = LEFT + rank * PITCH
        box(ax, x, LOW, WIDE, HIGH)
        note(ax, x + 0.12, LOW + HIGH - 0.18, f"rank {rank}", strong=True)
        box(ax, x + 0.12, LOW + 0.92, 0.7, 0.34, "full", size=palette.SMALL_SIZE)
        box(ax, x + A - 0.35, LOW + 0.15, 0.7, 0.6, f"A{rank}", colour=palette.LOADER)
        box(ax, x + B - 0.35, LOW + 0.15, 0.7, 0.6, "B", colour=palette.LOADER)
        arrow(ax, (x + A, 0.72), (x + A, LOW + 0.13), colour=palette.LOADER)
        if rank:
            arrow(ax, (x + B, bus), (x + B, LOW + 0.77), colour=palette.LOADER)
        else:
            arrow(ax, (x + B, 0.72), (x + B, LOW + 0.13), colour=palette.LOADER)
    box(ax, LEFT, 0.3, (CTAS - 1) * PITCH + WIDE, 0.42, "L2", weight="bold")
    note(ax, 0.1, 0.08, "Who receives counts: the bytes of A and of B arrive at its own full, wherever they come from.")
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
