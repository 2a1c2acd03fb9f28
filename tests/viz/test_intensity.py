"""Lines over intensity start at zero and say where they start."""

from ws_course import viz
from ws_course.bench.intensity import Split
from ws_course.viz.intensity import over_intensity


def test_axes_start_at_zero_and_each_line_is_named_with_its_numbers():
    splits = [
        Split("tile_00_one_buffer", 1, ((1, 5.0), (2, 8.0), (4, 14.0)), 2.0, 3.0),
        Split("tile_01_double_buffer", 1, ((1, 4.0), (4, 13.0)), 1.0, 3.0),
    ]
    picture, ax = viz.figure(7, 3)
    over_intensity(ax, splits, provenance=viz.Provenance.modelled("a test"), title="two kernels")
    assert ax.get_xlim()[0] == ax.get_ylim()[0] == 0
    assert list(ax.get_xticks()) == [0, 1, 2, 4]
    words = [text.get_text() for text in ax.texts]
    assert "00 one buffer: 2.000 + 3.000 × intensity" in words
    assert "01 double buffer: 1.000 + 3.000 × intensity" in words
    assert "modelled (a test)" in picture.describe()
