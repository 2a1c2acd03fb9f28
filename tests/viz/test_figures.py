"""A figure shows itself without pyplot, describes itself in words, and is the same bytes every time."""

import base64
import io

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from ws_course import viz
from ws_course.viz.figures import DPI, SHARPNESS, encode, pixels, png


def example():
    figure, ax = viz.figure(4, 2)
    viz.ladder(ax, [viz.Bar("a", 1.0)], provenance=viz.Provenance.modelled("a test"), title="one bar")
    return figure


def test_a_figure_shows_itself_as_a_sharp_picture():
    data, metadata = example()._repr_mimebundle_()
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert picture.size == (4 * DPI * SHARPNESS, 2 * DPI * SHARPNESS)
    assert metadata["image/png"]["width"] == 4 * DPI
    assert metadata["image/png"]["alt"] == "one bar; modelled (a test)"


def test_the_text_of_a_figure_holds_no_number_that_changes():
    assert repr(example()) == "<Figure: one bar>"
    assert repr(viz.figure()[0]) == "<Figure: untitled>"
    twice, axes = viz.figure(ncols=3)
    for ax, title in zip(axes, ("one", "two", "one"), strict=True):
        ax.set_title(title, loc="left")
    assert repr(twice) == "<Figure: one; two>"


def test_pixels_and_encode_are_inverse():
    picture = pixels(example(), sharpness=1)
    assert picture.dtype == np.uint8 and picture.shape == (2 * DPI, 4 * DPI, 3)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(encode(picture)))), picture)


def test_png_does_not_change_the_figure():
    figure = example()
    before = figure.dpi
    assert png(figure) == png(figure)
    assert figure.dpi == before


def test_a_callers_own_axes_get_the_same_look():
    figure = matplotlib.figure.Figure()
    FigureCanvasAgg(figure)
    ax = figure.subplots()
    viz.ladder(ax, [viz.Bar("a", 1.0)], provenance=viz.Provenance.modelled("a test"))
    assert matplotlib.colors.to_hex(figure.get_facecolor()).upper() == viz.palette.PAPER


def test_saving_twice_gives_the_same_bytes_without_a_date(tmp_path):
    first = [path.read_bytes() for path in viz.save(example(), tmp_path / "same")]
    second = [path.read_bytes() for path in viz.save(example(), tmp_path / "same")]
    assert first == second
    assert b"<dc:date>" not in first[1] and b"Matplotlib v" not in first[0] + first[1]


@pytest.mark.parametrize("name", ["02_two.buffers", "plain"])
def test_saving_keeps_dots_in_names(tmp_path, name):
    paths = viz.save(example(), tmp_path / name)
    assert [path.name for path in paths] == [f"{name}.png", f"{name}.svg"]
