"""Draw what __syncthreads does to a block in which everybody loads, then everybody computes."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import canvas, key, lane, note

LEFT = 1.35
ROUND = 2.95
LOADS = (1.1, 1.25, 1.0, 1.3)
COMPUTES = (1.3, 1.2, 1.35, 1.25)


def draw():
    """Return the figure."""
    figure, ax = canvas(7.6, 3.3, "One buffer: everybody loads, then everybody computes")
    loaded = max(LOADS)
    barriers = []
    for row, (load, compute) in enumerate(zip(LOADS, COMPUTES, strict=True)):
        work = []
        for tile in range(2):
            t = ROUND * tile
            end = t + loaded + 0.05 + compute
            work += [
                (t, t + load, "load", f"load {tile}"),
                (t + load, t + loaded + 0.05, "wait", ""),
                (t + loaded + 0.05, end, "compute", f"compute {tile}"),
                (end, t + ROUND, "wait", ""),
            ]
            barriers = [loaded + 0.05, ROUND, ROUND + loaded + 0.05, 2 * ROUND]
        lane(ax, 2.62 - 0.38 * row, f"warp {row}", work, left=LEFT)
    for at in barriers:
        ax.plot([LEFT + at] * 2, [0.32, 2.85], color=palette.INK, linewidth=1.3)
        note(ax, LEFT + at, 2.95, "__syncthreads", align="center")
    memory, arithmetic = [], []
    for tile in range(2):
        t = ROUND * tile
        memory += [(t, t + loaded + 0.05, "load", "busy"), (t + loaded + 0.05, t + ROUND, "wait", "")]
        arithmetic += [(t, t + loaded + 0.05, "wait", ""), (t + loaded + 0.05, t + ROUND, "compute", "busy")]
    lane(ax, 0.92, "memory", memory, left=LEFT)
    lane(ax, 0.54, "arithmetic", arithmetic, left=LEFT)
    key(ax, LEFT, 0.12, ("load", "compute", "wait"))
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
