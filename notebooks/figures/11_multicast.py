"""Draw a multicast: one request of the leader, one read of L2, a delivery to the stage of every CTA."""

from pathlib import Path

from ws_course.viz import save
from ws_course.viz.cluster import CTAS, above_b, beside_a, cluster, hand_out, under_l2
from ws_course.viz.schematic import arrow, canvas


def draw():
    """Return the figure."""
    figure, ax = canvas(8.4, 3.8, "Multicast: one request for B, a delivery to each")
    cluster(ax, "L2: B is read once")
    hand_out(ax, under_l2(1, 1.86), range(CTAS))
    end = under_l2(0, 0.85)
    arrow(ax, (end[0], above_b(0)[1] + 0.27), end)
    beside_a(ax, 0, "one request,\nmask 0b1111")
    beside_a(ax, 2, f"{CTAS} deliveries, no SM sends")
    return figure


if __name__ == "__main__":
    save(draw(), Path(__file__).with_suffix(""))
