"""Listings are read from the kernel files, so they cannot drift from them."""

import pytest

from ws_course.kernels.catalog import LADDER
from ws_course.widgets.listing import Difference, Listing, Tables

FIRST, SECOND = LADDER[0], LADDER[1]


def test_an_excerpt_has_the_files_text_and_line_numbers():
    listing = Listing(FIRST, "kernel", mark=["__syncthreads"])
    number, text = listing.regions[0][0]
    assert FIRST.source.splitlines()[number - 1] == text
    assert FIRST.excerpt("kernel") in repr(listing)
    html = listing._repr_html_()
    assert html.count("▶") == FIRST.excerpt("kernel").count("__syncthreads") == 2
    assert f"{number}</span>" in html


def test_code_is_escaped():
    html = Listing(FIRST, "kernel")._repr_html_()
    assert "tile &lt; tiles" in html and "tile < tiles" not in html


def test_an_unknown_anchor_is_refused():
    with pytest.raises(KeyError, match="no anchor 'nothing'"):
        Listing(FIRST, "nothing")


def test_a_difference_holds_both_files():
    (region,) = Difference(FIRST, SECOND, "kernel").regions
    assert "\n".join(text for sign, text in region if sign != "+") == FIRST.excerpt("kernel")
    assert "\n".join(text for sign, text in region if sign != "-") == SECOND.excerpt("kernel")
    assert {sign for sign, _ in region} == {" ", "-", "+"}


def test_what_is_the_same_differs_in_nothing():
    (region,) = Difference(FIRST, SECOND, "compute").regions
    assert {sign for sign, _ in region} == {" "}


@pytest.mark.parametrize("spec", LADDER, ids=lambda spec: spec.name)
def test_every_rung_has_both_tables(spec):
    tables = Tables(spec).tables
    assert set(tables) == {"Roles", "Barriers"}
    for head, *rows in tables.values():
        assert rows and all(len(row) == len(head) and all(row) for row in rows)
    assert repr(Tables(spec)).count("\n| --- ") == 2
