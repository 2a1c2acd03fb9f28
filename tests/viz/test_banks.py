"""Pieces in banks: where they lie, which are read together, and how many of those meet."""

import pytest

from ws_course.viz import Provenance, figure
from ws_course.viz.banks import banks, most_in_one_place

ORIGIN = Provenance.modelled("a test")
ROWS = {16 * row: f"row {row}" for row in range(4)}  # rows of 256 bytes, as in a tile of 64 x 64 floats


def straight(piece):
    return piece


def swizzled(piece):
    return piece ^ piece // 8 % 8


def test_a_swizzle_of_128_bytes_spreads_rows_of_256_bytes():
    assert most_in_one_place(straight, ROWS) == 4
    assert most_in_one_place(swizzled, ROWS) == 1


def test_pieces_lie_where_the_formula_puts_them():
    _, ax = figure(4, 3)
    banks(ax, swizzled, ROWS, lines=8, provenance=ORIGIN)
    spots = {text.get_text(): text.get_position() for text in ax.texts}
    assert spots["row 0"] == (0.5, 0.5)
    assert spots["row 1"] == (2.5, 2.5)  # piece 16, in line 2: 16 ^ 2
    assert spots["9"] == (0.5, 1.5)


def test_what_is_read_together_is_filled_and_counted():
    picture, ax = figure(4, 3)
    banks(ax, straight, ROWS, lines=8, provenance=ORIGIN, title="as stored")
    colours = [patch.get_facecolor() for patch in ax.patches]
    assert sorted(map(colours.count, set(colours))) == [4, 60]
    assert ax.get_xlabel() == "banks; 4 of 4 pieces in the same four banks"
    assert "modelled (a test)" in picture.describe()


@pytest.mark.parametrize(("place", "read", "word"), [(straight, {}, "nothing"), (lambda _: 0, ROWS, "places")])
def test_nothing_to_draw_is_said(place, read, word):
    _, ax = figure(4, 3)
    with pytest.raises(ValueError, match=word):
        banks(ax, place, read, lines=8, provenance=ORIGIN)
