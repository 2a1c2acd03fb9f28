"""Draw where the number of a tile travels: from the counter to the loader, then in the stage to compute and storer."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import arrow, box, canvas, note


def draw():
    """Return the figure."""
    figure, ax = canvas(8.6, 3.15, "One role asks, the stage carries the answer")
    y, h, small = 1.3, 0.9, palette.SMALL_SIZE
    box(ax, 0.05, y + 0.1, 0.95, h - 0.2, "counter\nin global\nmemory", size=small)
    roles = ((1.65, "loader", palette.LOADER), (4.75, "compute", palette.COMPUTE), (7.4, "storer", palette.STORER))
    for x, name, colour in roles:
        box(ax, x, y, 1.15, h, name, colour=colour, size=palette.TITLE_SIZE, weight="bold")
    box(ax, 3.25, y + 0.02, 1.05, h - 0.04, "stage s\nA, B and\nnumber", size=small)
    box(ax, 6.25, y + 0.1, 0.8, h - 0.2, "C", size=small)
    arrow(ax, (1.0, y + h / 2), (1.62, y + h / 2), colour=palette.MUTED)
    arrow(ax, (2.8, y + h / 2), (3.22, y + h / 2), colour=palette.LOADER)
    arrow(ax, (4.3, y + h / 2), (4.72, y + h / 2), colour=palette.LOADER)
    arrow(ax, (5.9, y + h / 2), (6.22, y + h / 2), colour=palette.COMPUTE)
    arrow(ax, (7.05, y + h / 2), (7.37, y + h / 2), colour=palette.COMPUTE)
    # Full goes forward above, empty comes back below.
    top, low = y + h + 0.03, y - 0.03
    arrow(ax, (2.25, top), (5.05, top), bend=-0.24, colour=palette.LOADER)
    arrow(ax, (2.05, top), (7.95, top), bend=-0.2, colour=palette.LOADER)
    note(ax, 3.65, top + 0.2, "full[s]", align="center", strong=True)
    arrow(ax, (5.65, top), (7.65, top), bend=-0.18, colour=palette.COMPUTE)
    note(ax, 6.65, top + 0.06, "c_full", align="center", strong=True)
    back = {"colour": palette.MUTED, "dashed": True}
    arrow(ax, (5.05, low), (2.4, low), bend=-0.22, **back)
    arrow(ax, (7.95, low), (2.1, low), bend=-0.2, **back)
    arrow(ax, (7.55, low), (5.65, low), bend=-0.29, **back)
    note(ax, 3.7, low - 0.18, "empty[s]", align="center", strong=True)
    note(ax, 6.6, low - 0.12, "c_empty", align="center", strong=True)
    note(
        ax,
        0.05,
        0.15,
        "The storer waits for full[s] too: not for A and B, only for the number of the tile that C will be.",
    )
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
