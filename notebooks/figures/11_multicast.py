"""Draw one multicast copy: permission from every CTA, one request, one read of L2, a delivery and a count in each."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import arrow, box, canvas, note

CTAS, LEFT, W, PITCH = 4, 0.15, 1.72, 2.05


def draw():
    """Return the figure."""
    figure, ax = canvas(8.4, 4.0, "One request, four deliveries: a stage of a cluster of 4 CTAs")
    middle, top = 4.55, 3.3
    box(ax, middle - 1.7, top, 3.4, 0.5, "L2: B is read once", weight="bold")
    for rank in range(CTAS):
        x = LEFT + rank * PITCH
        box(ax, x, 0.72, W, 1.5)
        note(ax, x + 0.12, 2.0, f"CTA {rank}" + ("" if rank else ", the leader"), strong=not rank)
        box(ax, x + 0.1, 1.22, 0.7, 0.5, "A", colour=palette.WAITING)
        box(ax, x + 0.92, 1.22, 0.7, 0.5, "B", colour=palette.LOADER)
        note(ax, x + W / 2, 0.94, "full: 1 + bytes of A and B", align="center")
        arrow(ax, (middle + 0.5 * (rank - 1.5), top - 0.02), (x + 1.27, 1.75), colour=palette.LOADER)
        if rank:
            ax.plot((x + W / 2, x + W / 2), (0.7, 0.4), color=palette.INK, linewidth=1.4, linestyle=(0, (4, 2)))
    arrow(ax, (LEFT + 0.5, 2.24), (middle - 1.75, top + 0.25), bend=-0.25)
    note(ax, LEFT, 3.5, "one request,\nmask 0b1111")
    ends = (LEFT + W / 2, LEFT + 3 * PITCH + W / 2)
    ax.plot(ends, (0.4, 0.4), color=palette.INK, linewidth=1.4, linestyle=(0, (4, 2)))
    arrow(ax, (ends[0], 0.4), (ends[0], 0.7))
    note(ax, sum(ends) / 2, 0.2, "ready: my stage is free, and my full expects the bytes", align="center")
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
