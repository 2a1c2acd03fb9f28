"""Draw a push: the leader asks L2 for B, and a copy goes from its stage to that of each other CTA."""

from pathlib import Path

from ws_course.viz import palette, save
from ws_course.viz.cluster import CTAS, above_b, beside_a, cluster, hand_out, under_l2
from ws_course.viz.schematic import arrow, canvas


def draw():
    """Return the figure."""
    figure, ax = canvas(8.4, 3.8, "Push: the leader asks for B, and sends it on to each")
    cluster(ax, "L2")
    start = under_l2(0, 1.1)
    arrow(ax, start, (start[0], above_b(0)[1] + 0.01), colour=palette.LOADER)
    hand_out(ax, above_b(0), range(1, CTAS))
    beside_a(ax, 2, f"{CTAS - 1} copies leave the leader")
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
