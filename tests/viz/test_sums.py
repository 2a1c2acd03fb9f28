"""Measured times beside the sum of their parts."""

import pytest

from ws_course.bench.intensity import Split
from ws_course.viz import Provenance, figure
from ws_course.viz.sums import sums


@pytest.fixture
def drawn():
    picture, ax = figure(6, 3)
    origin = Provenance.modelled("a test")
    sums(ax, Split("tile_00_one_buffer", 1, ((1, 5.0), (4, 11.2)), 3.0, 2.0), provenance=origin, title="sum")
    return picture, ax


def test_bars_are_the_parts_from_zero_and_dots_the_measured_times(drawn):
    _, ax = drawn
    bars = [(bar.get_y(), bar.get_height()) for bar in ax.patches if bar.get_height()]
    assert bars == [(0, 3.0), (3.0, 2.0), (0, 3.0), (3.0, 8.0)]
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert list(dots.get_ydata()) == [5.0, 11.2]
    assert ax.get_ylim()[0] == 0 and ax.get_ylim()[1] > 11.2


def test_the_dash_is_the_larger_part(drawn):
    _, ax = drawn
    dashes = [line.get_ydata() for line in ax.lines if line.get_marker() != "o"]
    assert [tuple(y) for y in dashes] == [(3.0, 3.0), (8.0, 8.0)]


def test_numbers_are_written(drawn):
    picture, ax = drawn
    assert {"5.000 ms", "11.200 ms"} <= {text.get_text() for text in ax.texts}
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[1:3] == ["products, 2.000 ms each", "everything else, 3.000 ms"]
    assert "modelled (a test)" in picture.describe()
