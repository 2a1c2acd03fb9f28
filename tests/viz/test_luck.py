"""The bars of a kernel that is wrong and sometimes right."""

from ws_course.bench.probes import Luck
from ws_course.viz import Provenance, figure
from ws_course.viz.luck import luck


def test_every_count_is_written_beside_its_bar_and_bars_start_at_zero():
    counts = {"32 threads": Luck("race", 32, 2000, 2000, ""), "64 threads": Luck("race", 64, 2000, 10, "")}
    picture, ax = figure(6, 2)
    luck(ax, counts, provenance=Provenance.modelled("a test"), unit="blocks", title="race")
    words = [text.get_text() for text in ax.texts]
    assert "2,000 of 2,000" in words and "10 of 2,000" in words
    assert [text.get_text() for text in ax.get_yticklabels()] == list(counts)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == [100, 100, 100, 0.5] and all(bar.get_x() == 0 for bar in ax.patches)
    assert ax.get_ylim() == (1.5, -0.5), "the first on top"
    assert "modelled (a test)" in picture.describe()
