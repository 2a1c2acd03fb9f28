"""Draw the life of one pipeline stage: empty, filling, full, draining, and the four calls between."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.schematic import arrow, box, canvas, note

W, H = 1.35, 0.62


def draw():
    """Return the figure."""
    figure, ax = canvas(7.6, 3.6, "One stage of a pipeline: four states, four calls")
    left, right, upper, lower = 1.5, 4.75, 2.5, 0.75
    box(ax, left, upper, W, H, "empty", weight="bold")
    box(ax, right, upper, W, H, colour=palette.LOADER, hatch="////")
    box(ax, right + 0.24, upper + 0.14, W - 0.48, H - 0.28, "filling", colour=palette.LOADER, weight="bold")
    box(ax, right, lower, W, H, "full", colour=palette.LOADER, weight="bold")
    box(ax, left, lower, W, H, "draining", colour=palette.COMPUTE, weight="bold")
    middle = (left + W + right) / 2
    arrow(ax, (left + W + 0.05, upper + H / 2), (right - 0.05, upper + H / 2), colour=palette.LOADER)
    note(ax, middle, upper + H / 2 + 0.16, "producer_acquire", align="center", strong=True)
    note(ax, middle, upper + H / 2 - 0.2, "waits until the stage is empty", align="center")
    arrow(ax, (right + W / 2, upper - 0.05), (right + W / 2, lower + H + 0.05), colour=palette.LOADER)
    note(ax, right + W / 2 + 0.14, (upper + lower + H) / 2 + 0.1, "producer_commit", strong=True)
    note(ax, right + W / 2 + 0.14, (upper + lower + H) / 2 - 0.16, "and the copies land")
    arrow(ax, (right - 0.05, lower + H / 2), (left + W + 0.05, lower + H / 2), colour=palette.COMPUTE)
    note(ax, middle, lower + H / 2 + 0.16, "consumer_wait", align="center", strong=True)
    note(ax, middle, lower + H / 2 - 0.2, "waits until the stage is full", align="center")
    arrow(ax, (left + W / 2, lower + H + 0.05), (left + W / 2, upper - 0.05), colour=palette.COMPUTE)
    note(ax, left + W / 2 - 0.14, (upper + lower + H) / 2 + 0.1, "consumer_release", align="right", strong=True)
    note(ax, left + W / 2 - 0.14, (upper + lower + H) / 2 - 0.16, "after the last read", align="right")
    note(ax, 3.8, 0.3, "blue: the producer's side      orange: the consumer's side", align="center")
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
