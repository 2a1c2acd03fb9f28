"""Draw the same warps on one SM twice: the four that compute on four schedulers, and all on one."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import box, canvas, note

WARPS = 14
LAYOUTS = (("SCHEDULERS = 4", (1, 2, 3, 4)), ("SCHEDULERS = 1", (1, 5, 9, 13)))


def draw():
    """Return the figure."""
    figure, ax = canvas(8.6, 2.75, "If a warp's scheduler is its number mod 4: which four warps compute?")
    for side, (name, compute) in enumerate(LAYOUTS):
        left = 0.05 + 4.4 * side
        note(ax, left + 0.05, 2.6, f"{name}: warps {', '.join(map(str, compute))} compute", strong=True)
        for scheduler in range(4):
            x = left + 1.02 * scheduler
            box(ax, x, 0.42, 0.96, 2.0, f"scheduler {scheduler}", size=palette.SMALL_SIZE, weight="bold", top=True)
            for row, warp in enumerate(range(scheduler, WARPS, 4)):
                role = "loader" if warp == 0 else "compute" if warp in compute else ""
                colour = palette.ROLE.get(role, palette.PAPER)
                text = f"{warp} {role or 'leaves'}"
                box(ax, x + 0.06, 1.8 - 0.4 * row, 0.84, 0.33, text, colour=colour, size=palette.SMALL_SIZE - 0.5)
    note(ax, 0.1, 0.17, "Each scheduler issues at most one instruction per cycle, of one of its own warps.")
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
