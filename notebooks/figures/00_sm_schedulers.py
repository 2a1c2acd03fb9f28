"""Draw a streaming multiprocessor: four schedulers, and the warps that belong to each for life."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import box, canvas, note

# The state of the warps of each scheduler, top to bottom: what it is doing or waiting for at this moment.
WARPS = (
    (("0", "load"), ("4", "wait"), ("8", "compute")),
    (("1", "wait"), ("5", "compute"), ("9", "wait")),
    (("2", "compute"), ("6", "wait"), ("10", "wait")),
    (("3", "wait"), ("7", "wait"), ("11", "store")),
)


def draw():
    """Return the figure."""
    figure, ax = canvas(8.0, 4.1, "One SM: four schedulers, each issues from its own warps")
    box(ax, 0.05, 0.1, 7.9, 3.95)
    for i, warps in enumerate(WARPS):
        x = 0.25 + 1.9 * i
        box(ax, x, 1.45, 1.8, 2.45, f"scheduler {i}", weight="bold", top=True)
        note(ax, x + 0.9, 3.48, "1 instruction per cycle", align="center")
        for row, (warp, work) in enumerate(warps):
            text = f"warp {warp}: {'waits' if work == 'wait' else work}"
            box(ax, x + 0.15, 2.92 - 0.4 * row, 1.5, 0.33, text, colour=palette.WORK[work], size=palette.SMALL_SIZE)
        note(ax, x + 0.9, 1.98, "…", align="center")
        note(ax, x + 0.9, 1.7, "its quarter of registers\nand arithmetic units", align="center")
    box(ax, 0.25, 0.8, 7.5, 0.5, "shared memory and L1 cache: one for all warps of the SM")
    note(
        ax,
        0.3,
        0.45,
        "A resident warp stays with its scheduler until it exits. When one warp waits, its scheduler issues from\n"
        "another that is ready: overlap comes from different warps, whether they share a scheduler or not.",
    )
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
