"""The counts of a pipeline's barriers."""

from matplotlib.colors import to_hex

from ws_course import viz
from ws_course.model.ring import Barrier
from ws_course.viz import palette
from ws_course.viz.arrivals import arrivals


def test_every_barrier_has_a_row_with_its_count():
    _, ax = viz.figure(4, 3)
    full, empty = [Barrier(64, 32), Barrier(64)], [Barrier(96, 0, 3), Barrier(96)]
    arrivals(ax, full, empty, provenance=viz.Provenance.modelled("a test"))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["full[0]", "empty[0]", "full[1]", "empty[1]"]
    words = [text.get_text() for text in ax.texts]
    assert words[:4] == ["32 of 64, phase 0", "0 of 96, phase 3", "0 of 64, phase 0", "0 of 96, phase 0"]
    assert "modelled (a test)" in words


def test_arrivals_fill_the_outline_from_zero():
    _, ax = viz.figure(4, 3)
    arrivals(ax, [Barrier(64, 32)], [Barrier(32)], provenance=viz.Provenance.modelled("a test"))
    filled, outline = ax.patches[:2]
    assert (filled.get_x(), filled.get_width(), outline.get_width()) == (0, 32, 64)
    assert to_hex(filled.get_facecolor()).upper() == palette.LOADER
