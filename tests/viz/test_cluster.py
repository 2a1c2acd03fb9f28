"""The drawing of a cluster: everything that counts, and B's way to the CTAs that are named."""

from ws_course.viz import cluster, palette
from ws_course.viz.schematic import canvas


def drawn():
    _, ax = canvas(8.4, 3.8, "a cluster")
    cluster.cluster(ax, "L2: B is read once")
    return ax


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_cta_has_a_stage_and_a_full_and_the_leader_has_ready():
    words = texts(drawn())
    assert [words.count(f"A{rank}") for rank in range(cluster.CTAS)] == [1] * cluster.CTAS
    assert words.count("B") == cluster.CTAS
    assert sum(word.startswith("full:") for word in words) == cluster.CTAS
    assert words.count("ready") == 1 and "L2: B is read once" in words


def test_as_many_arrivals_leave_for_ready_as_there_are_ctas():
    lines = [line for line in drawn().lines if line.get_linestyle() == "--"]
    upright = {line.get_xdata()[0] for line in lines if line.get_xdata()[0] == line.get_xdata()[1]}
    assert len(upright) == cluster.CTAS
    for rank, x in enumerate(sorted(upright)):
        assert cluster.left(rank) < x < cluster.left(rank) + 1.72


def test_b_is_handed_out_to_the_named_ctas_alone():
    ax = drawn()
    before = len(ax.patches)
    cluster.hand_out(ax, cluster.above_b(0), range(1, cluster.CTAS))
    arrows = ax.patches[before:]
    assert len(arrows) == cluster.CTAS - 1
    assert {arrow.get_edgecolor()[:3] for arrow in arrows} == {arrows[0].get_edgecolor()[:3]}
    assert ax.lines[-1].get_color() == palette.LOADER
