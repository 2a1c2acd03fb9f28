"""Draw one phase of a full barrier that counts an arrival and the bytes of two copies."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import arrow, box, canvas, note

LEFT, W, H = 1.5, 1.72, 0.5
STATES = (("1", "0"), ("0", "32,768"), ("0", "16,384"), ("1", "0"))
EVENTS = (
    "the thread arrives\nand announces\n32,768 bytes",
    "A has landed:\n16,384 bytes",
    "B has landed:\n16,384 bytes",
)


def draw():
    """Return the figure."""
    figure, ax = canvas(8.4, 3.0, "One phase of full: an arrival, and the bytes of a stage")
    for y, name in ((1.95, "pending arrivals"), (1.25, "pending bytes")):
        note(ax, LEFT - 0.12, y, name, align="right", strong=True)
    for n, (arrivals, count) in enumerate(STATES):
        x = LEFT + n * W
        colour = palette.LOADER if count != "0" else palette.PAPER
        box(ax, x, 1.7, W - 0.62, H, arrivals, weight="bold")
        box(ax, x, 1.0, W - 0.62, H, count, colour=colour, weight="bold")
        if n:
            arrow(ax, (x - 0.56, 1.6), (x - 0.06, 1.6))
            note(ax, x - 0.31, 2.58, EVENTS[n - 1], align="center")
    edge = LEFT + 3 * W - 0.31
    ax.plot((edge, edge), (0.5, 2.22), color=palette.MUTED, linewidth=0.9, linestyle=(0, (3, 3)))
    note(ax, edge - 0.12, 0.68, "phase n", align="right", strong=True)
    note(ax, edge + 0.12, 0.68, "phase n + 1", strong=True)
    ending = "The phase is complete when no arrival and no byte is pending. Both counters start again."
    note(ax, LEFT - 1.38, 0.25, ending)
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
