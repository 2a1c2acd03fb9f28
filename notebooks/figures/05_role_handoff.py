"""Draw how loader, compute and storer warps hand buffers on: full goes forward, empty comes back."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import arrow, box, canvas, note


def draw():
    """Return the figure."""
    figure, ax = canvas(8.4, 3.3, "Three roles, two handoffs: full goes forward, empty comes back")
    y, h = 1.35, 0.95
    roles = (
        (0.1, "loader\nwarps", palette.LOADER),
        (3.5, "compute\nwarps", palette.COMPUTE),
        (6.9, "storer\nwarps", palette.STORER),
    )
    for x, name, colour in roles:
        box(ax, x, y, 1.4, h, name, colour=colour, size=palette.TITLE_SIZE, weight="bold")
    rings = ((1.95, "input stages\nA and B tiles", palette.LOADER), (5.35, "output buffer\nC tile", palette.COMPUTE))
    for x, name, colour in rings:
        box(ax, x, y + 0.12, 1.1, h - 0.24, name, size=palette.SMALL_SIZE)
        arrow(ax, (x - 0.42, y + h / 2), (x - 0.03, y + h / 2), colour=colour)
        arrow(ax, (x + 1.13, y + h / 2), (x + 1.52, y + h / 2), colour=colour)
        # Full: the writer tells the reader. Empty: the reader tells the writer.
        start, end = x - 0.9, x + 2.0
        arrow(ax, (start, y + h + 0.03), (end, y + h + 0.03), bend=-0.22, colour=colour)
        arrow(ax, (end, y - 0.03), (start, y - 0.03), bend=-0.22, colour=palette.MUTED, dashed=True)
        note(ax, x + 0.55, y + h + 0.57, "full", align="center", strong=True)
        note(ax, x + 0.55, y - 0.57, "empty", align="center", strong=True)
    note(ax, 0.1, 0.42, "reads global memory")
    note(ax, 4.2, 0.42, "multiplies", align="center")
    note(ax, 8.3, 0.42, "writes global memory", align="right")
    note(ax, 0.1, 0.1, "Each role waits only for its own handoffs: no barrier stops the whole block inside the loop.")
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
