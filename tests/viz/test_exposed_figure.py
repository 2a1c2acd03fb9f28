"""Arithmetic and what it does not hide."""

import numpy as np
import pytest

from ws_course import viz
from ws_course.bench.intensity import Split
from ws_course.viz.exposed import exposed

SPLITS = [Split("tile_03_pipeline_unified", 1, (), 0.1, 0.2), Split("tile_04_pipeline_roles", 1, (), 0.05, 0.2)]


def test_two_parts_of_each_bar_add_up_from_zero():
    _, ax = viz.figure(6, 2)
    exposed(ax, SPLITS, provenance=viz.Provenance.modelled("a test"))
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert np.allclose(ends, [(0.0, 0.2), (0.2, 0.3), (0.0, 0.2), (0.2, 0.25)])
    words = [text.get_text() for text in ax.texts]
    assert "0.200 + 0.100 ms" in words and "modelled (a test)" in words


def test_kernels_are_named_and_the_parts_explained():
    _, ax = viz.figure(6, 2)
    exposed(ax, SPLITS, provenance=viz.Provenance.modelled("a test"))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["03 pipeline unified", "04 pipeline roles"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["arithmetic", "not hidden behind it"]


def test_a_figure_without_provenance_is_refused():
    _, ax = viz.figure(6, 2)
    with pytest.raises(TypeError, match="provenance must be a Provenance"):
        exposed(ax, SPLITS, provenance="somewhere")
