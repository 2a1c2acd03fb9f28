"""Draw the same tiles with one buffer and with two."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import canvas, key, lane, note

LEFT = 1.35
LOAD, COMPUTE = 0.8, 0.95


def draw():
    """Return the figure."""
    figure, ax = canvas(8.0, 3.3, "Two buffers: load the next tile while computing this one")
    one = 2.62
    memory, arithmetic, t = [], [], 0.0
    for tile in range(3):
        memory += [(t, t + LOAD, "load", f"tile {tile} → [0]"), (t + LOAD, t + LOAD + COMPUTE, "wait", "")]
        arithmetic += [(t, t + LOAD, "wait", ""), (t + LOAD, t + LOAD + COMPUTE, "compute", f"tile {tile} in [0]")]
        t += LOAD + COMPUTE
    done_one = t
    note(ax, LEFT, one + 0.34, "one buffer, [0]", strong=True)
    lane(ax, one, "memory", memory, left=LEFT)
    lane(ax, one - 0.38, "arithmetic", arithmetic, left=LEFT)

    two = 1.42
    memory, arithmetic = [(0, LOAD, "load", "tile 0 → [0]")], [(0, LOAD, "wait", "")]
    t = LOAD
    for tile in range(3):
        here, there = f"[{tile % 2}]", f"[{(tile + 1) % 2}]"
        if tile < 2:
            memory += [(t, t + LOAD, "load", f"tile {tile + 1} → {there}"), (t + LOAD, t + COMPUTE, "wait", "")]
        arithmetic += [(t, t + COMPUTE, "compute", f"tile {tile} in {here}")]
        t += COMPUTE
    note(ax, LEFT, two + 0.34, "two buffers, [0] and [1]", strong=True)
    lane(ax, two, "memory", memory, left=LEFT)
    lane(ax, two - 0.38, "arithmetic", arithmetic, left=LEFT)
    for at, y in ((done_one, one), (t, two)):
        ax.plot([LEFT + at] * 2, [y - 0.58, y + 0.25], color=palette.INK, linewidth=1.3)
    ax.annotate("", (LEFT + t, 0.62), (LEFT + done_one, 0.62), arrowprops={"arrowstyle": "<->", "color": palette.INK})
    note(ax, LEFT + (t + done_one) / 2, 0.48, "hidden behind arithmetic", align="center")
    key(ax, LEFT, 0.12, ("load", "compute", "wait"))
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
