"""Draw an mbarrier that expects three arrivals: how it counts down, when its phase turns, and which wait returns."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import arrow, box, canvas, note

EXPECTED, LEFT, W, H = 3, 1.45, 0.76, 0.5
COUNTS = 9  # how many states of the counter are shown


def draw():
    """Return the figure."""
    figure, ax = canvas(8.4, 3.5, "An mbarrier that expects 3 arrivals")
    note(ax, LEFT - 0.15, 2.85, "pending arrivals", align="right")
    for n in range(COUNTS):
        x = LEFT + n * W
        box(ax, x + 0.13, 2.6, W - 0.26, H, str(EXPECTED - n % EXPECTED), weight="bold")
        if n:
            arrow(ax, (x - 0.12, 2.85), (x + 0.12, 2.85))
    for phase in range(COUNTS // EXPECTED):
        x, span = LEFT + phase * EXPECTED * W, EXPECTED * W
        note(ax, x + span / 2, 3.32, f"phase {phase}, parity {phase & 1}", align="center", strong=True)
        ax.plot((x, x), (0.55, 3.45), color=palette.MUTED, linewidth=0.9, linestyle=(0, (3, 3)))
        for parity, y in ((0, 1.65), (1, 0.85)):
            returns = parity != phase & 1
            colour = palette.PAPER if returns else palette.WORK["wait"]
            text = "returns at once" if returns else "waits"
            box(ax, x + 0.08, y, span - 0.16, H, text, colour=colour, hatch="" if returns else palette.HATCH["wait"])
    for parity, y in ((0, 1.9), (1, 1.1)):
        note(ax, LEFT - 0.15, y, f"wait(parity {parity})", align="right", strong=True)
    note(ax, LEFT, 0.28, "Each arrow is an arrival. The third completes the phase: a new count, the other parity.")
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
