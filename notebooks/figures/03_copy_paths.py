"""Draw the two ways from global to shared memory: through a register, and cp.async."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import arrow, box, canvas, note


def draw():
    """Return the figure."""
    figure, ax = canvas(8.0, 3.5, "From global to shared memory: through registers, or past them")
    for x, name in ((0.1, "load and store"), (4.1, "cp.async")):
        note(ax, x, 3.32, name, strong=True)
        box(ax, x, 2.5, 3.8, 0.55, "global memory, L2 cache")
        box(ax, x, 0.9, 3.8, 0.55, "shared memory")
    box(ax, 1.75, 1.72, 1.5, 0.5, "registers", colour=palette.LOADER)
    arrow(ax, (2.5, 2.5), (2.5, 2.24), colour=palette.LOADER)
    arrow(ax, (2.5, 1.72), (2.5, 1.47), colour=palette.LOADER)
    note(ax, 0.15, 2.2, "① r = global[i]")
    note(ax, 0.15, 1.97, "② the warp waits for r")
    note(ax, 0.15, 1.74, "③ shared[i] = r")
    box(ax, 6.25, 1.72, 1.5, 0.5, "registers", size=palette.TEXT_SIZE)
    arrow(ax, (5.95, 2.5), (5.95, 1.47), colour=palette.LOADER)
    note(ax, 4.15, 2.2, "① issue the copy")
    note(ax, 4.15, 1.97, "② compute goes on")
    note(ax, 4.15, 1.74, "③ wait, when needed")
    note(ax, 0.1, 0.45, "holds a register for every element in flight;\nthe warp stops at the first use of r")
    note(ax, 4.1, 0.45, "holds no register while in flight;\nthe warp stops only where it waits for the copy")
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
