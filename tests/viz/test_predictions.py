"""The figure of errors: every kernel has a row, its numbers are those of the errors."""

import pytest

from ws_course import viz
from ws_course.bench import record
from ws_course.model import pipeline
from ws_course.viz.predictions import prediction_errors


@pytest.fixture(scope="module")
def errors():
    return pipeline.errors(record.load("tile-ladder"), pipeline.machine(), ["tile_00_one_buffer", "tile_02_cp_async"])


def test_a_row_a_kernel_with_its_median_and_its_dots(errors):
    drawing, ax = viz.figure(8, 3)
    prediction_errors(ax, errors, provenance=viz.Provenance.modelled("a test"), title="errors")
    assert [t.get_text() for t in ax.get_yticklabels()] == ["00 one buffer", "02 cp async"]
    dots = sorted(x for line in ax.lines if line.get_marker() == "o" for x in line.get_xdata())
    assert dots == sorted(e.relative for e in errors)
    low, high = ax.get_xlim()
    assert low == -high and all(low < x < high for x in dots)
    own = pipeline.median_error([e for e in errors if e.measurement.kernel == "tile_00_one_buffer"])
    assert f"{own:.1%} (19 cases)" in [t.get_text() for t in ax.texts]
    assert "modelled (a test)" in drawing.describe()


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="nothing to compare"):
        prediction_errors(viz.figure()[1], [], provenance=viz.Provenance.modelled("a test"))
