"""Bars start at zero, show their spread, and compare with the limit."""

import numpy as np
import pytest

from ws_course import viz
from ws_course.kernels import catalog
from ws_course.viz import Bar, Provenance, palette, rungs

SOURCE = Provenance.modelled("a test")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_times_become_median_and_percentiles():
    times = list(range(1, 102))
    bar = Bar.from_times("a", times)
    assert (bar.low, bar.value, bar.high) == (26, 51, 76)


@pytest.mark.parametrize("times", [[], [1.0, float("nan")], [float("inf")]])
def test_times_that_are_no_numbers_are_refused(times):
    with pytest.raises(ValueError, match="finite"):
        Bar.from_times("a", times)


def test_ladder_starts_at_zero_and_keeps_the_order():
    _, ax = viz.figure()
    viz.ladder(ax, [Bar("slow", 0.4), Bar("fast", 0.25)], limit_ms=0.2, provenance=SOURCE)
    assert ax.get_xlim()[0] == 0
    assert [t.get_text() for t in ax.get_yticklabels()] == ["slow", "fast"]
    assert ax.yaxis_inverted()
    assert all(patch.get_x() == 0 for patch in ax.patches)


def test_ladder_says_the_share_of_the_limit():
    _, ax = viz.figure()
    viz.ladder(ax, [Bar("slow", 0.4)], limit_ms=0.2, limit_name="copy limit", provenance=SOURCE)
    assert "0.400 ms  (50%)" in texts(ax)
    assert "copy limit: 0.200 ms (100%)" in texts(ax)


def test_without_a_limit_there_is_no_share():
    _, ax = viz.figure()
    viz.ladder(ax, [Bar("slow", 0.4)], provenance=SOURCE)
    assert "0.400 ms" in texts(ax) and not any("%" in text for text in texts(ax))


def test_bars_of_one_name_stand_together():
    _, ax = viz.figure()
    bars = [Bar("a", 0.4, series="1 CTA per SM"), Bar("b", 0.3), Bar("a", 0.2, series="best")]
    viz.ladder(ax, bars, provenance=SOURCE)
    centres = [patch.get_y() + patch.get_height() / 2 for patch in ax.patches]
    assert centres == pytest.approx([-0.2, 0.2, 1.0])
    assert {"1 CTA per SM", "best"} <= set(texts(ax))


def test_a_hidden_bar_gives_nothing_away():
    _, ax = viz.figure()
    viz.ladder(ax, [Bar("a", 0.4), Bar("b", 9.0, 8.0, 10.0, hidden=True)], provenance=SOURCE)
    assert len(ax.patches) == 1 and "?" in texts(ax)
    assert not any("9.0" in text for text in texts(ax))
    assert ax.get_xlim()[1] < 1, "the axis must not betray how long the hidden bar is"


def test_a_guess_is_an_outline():
    _, ax = viz.figure()
    viz.ladder(ax, [Bar("a", 0.4), Bar("b", 0.3, hidden=True)], guesses={"b": 0.2}, provenance=SOURCE)
    assert "your guess: 0.200 ms" in texts(ax) and "?" not in texts(ax)
    assert ax.patches[-1].get_width() == pytest.approx(0.2) and not ax.patches[-1].get_fill()


def test_upright_bars_start_at_zero_and_name_their_unit():
    _, ax = viz.figure()
    viz.bars_with_spread(ax, [Bar("a", 600, 590, 640), Bar("b", 0.29)], unit="TFLOP/s", provenance=SOURCE)
    assert ax.get_ylim()[0] == 0 and ax.get_ylim()[1] > 640
    assert ax.get_ylabel() == "TFLOP/s"
    assert {"600", "0.290"} <= set(texts(ax))
    assert "percentile" in ax.get_xlabel()


def test_a_rung_has_one_name_and_one_colour_whatever_is_shown():
    assert rungs.name("tile_03_pipeline_unified") == "03 pipeline unified"
    assert rungs.name("mine") == "mine"
    ladder = ["tile_00_one_buffer", "tile_04_pipeline_roles"]
    assert [rungs.colour(k) for k in ladder] == [palette.rung(0, 5), palette.rung(4, 5)]
    assert rungs.colour("mine") == palette.MUTED


def test_whiskers_are_drawn_only_where_there_is_spread():
    _, ax = viz.figure()
    viz.ladder(ax, [Bar("a", 1.0, 0.9, 1.2), Bar("b", 1.0)], provenance=SOURCE)
    assert [np.asarray(line.get_xdata()).tolist() for line in ax.lines] == [[0.9, 1.2]]


def test_rungs_have_markers_of_their_own():
    shapes = [rungs.marker(spec.name) for spec in catalog.LADDER]
    assert len(set(shapes)) == len(shapes) and rungs.marker("mine") not in shapes


def test_a_hatched_bar_is_set_apart_and_its_text_stays_readable():
    _, ax = viz.figure()
    viz.ladder(ax, [Bar("a", 0.4, series="one", hatch="xx"), Bar("b", 0.3, series="two")], provenance=SOURCE)
    assert [patch.get_width() for patch in ax.patches if patch.get_hatch()] == [0.4]
    cased = {text.get_text() for text in ax.texts if text.get_path_effects()}
    assert cased == {"one"}
