"""The widget of the pipeline model: knobs move the model, the record stands beside it where it has the same thing."""

import re
import time

import pytest

from ws_course.bench import record
from ws_course.model import pipeline
from ws_course.problem import TileProblem
from ws_course.widgets.fallback import VIEW
from ws_course.widgets.model import ROLES, PipelineModel


@pytest.fixture(scope="module")
def machine():
    return pipeline.machine()


@pytest.fixture
def widget(machine):
    return PipelineModel(machine=machine)


def test_the_knobs_are_the_pipeline(widget, machine):
    widget.stages.value, widget.ctas.value, widget.intensity.value = 2, 3, 4
    p = widget.pipeline
    assert (p.stages, p.ctas, p.intensity, p.load) == (2, 3, 4, "bulk")
    assert widget.prediction.ms == pipeline.predict(p, machine, TileProblem(16384, intensity=4)).ms


@pytest.mark.parametrize("kernel", ROLES)
def test_every_division_into_roles_can_be_chosen_with_every_number_of_stages(widget, kernel):
    widget.roles.value = kernel
    for stages in (1, 6):
        widget.stages.value = stages
        assert widget.prediction.ms > 0.1
    assert widget.stages.disabled == (kernel in ("tile_00_one_buffer", "tile_01_double_buffer"))


def test_what_hides_latency_needs_more_of_it(widget):
    def ms(stages, latency):
        widget.stages.value, widget.latency.value = stages, latency
        return widget.prediction.ms

    assert ms(1, 4) > 1.3 * ms(1, 1), "with one stage the latency counts"
    assert ms(6, 4) < 0.8 * ms(1, 4), "with six it is hidden"


def test_a_measurement_stands_beside_the_model_only_if_it_is_the_same_thing(machine):
    records = (record.load("tile-ladder"),)
    widget = PipelineModel("tile_04_two_roles", stages=3, ctas_per_sm=2, machine=machine, records=records)
    found, where = widget.measured
    assert (found.kernel, found.params["STAGES"], found.ctas_per_sm) == ("tile_04_two_roles", 3, 2)
    assert f"Measured: {found.median_ms:.3f} ms ({where.label})" in widget.describe()
    stamps = widget.draw().describe()
    assert "modelled (micro-benchmarks" in stamps and where.label in stamps
    widget.latency.value = 2
    assert widget.measured is None and "No measurement" in widget.describe()
    assert where.label not in widget.draw().describe()
    widget.latency.value, widget.stages.value = 1, 6
    assert widget.measured is None


def test_a_knob_changes_the_picture_and_the_words(widget):
    before = widget.image.value, widget.words.value
    widget.stages.value = 1
    assert widget.image.value != before[0] and widget.words.value != before[1]
    assert re.search(r"Modelled: \d\.\d+ ms, \d+ GB/s", widget.words.value)


def test_the_still_form_is_a_picture_with_words(machine):
    data, metadata = PipelineModel("tile_00_one_buffer", machine=machine)._repr_mimebundle_()
    again, _ = PipelineModel("tile_00_one_buffer", machine=machine)._repr_mimebundle_()
    assert VIEW in data and data["text/plain"] == again["text/plain"] and data["image/png"] == again["image/png"]
    assert data["text/plain"].startswith("<PipelineModel: 00 one buffer, 1 stage, 1 CTA per SM, intensity 1, micro")
    assert "Modelled:" in metadata["image/png"]["alt"]


def test_what_does_not_fit_has_no_time_but_a_reason(widget):
    widget.stages.value, widget.ctas.value = 6, 4
    words = widget.words.value
    assert "does not fit: 4 CTAs of 192.1 KiB need 768.4 KiB of shared memory, an SM has 224 KiB for them" in words
    assert "ms" not in words.replace("stems", "") and "4 CTAs per SM" in repr(widget)
    assert not widget.draw().axes and "does not fit" in widget.draw().texts[0].get_text().replace("\n", " ")
    with pytest.raises(ValueError, match="does not fit"):
        _ = widget.prediction
    data, metadata = widget._repr_mimebundle_()
    assert "does not fit" in metadata["image/png"]["alt"]
    widget.ctas.value = 1
    assert "Modelled:" in widget.words.value and widget.draw().axes


@pytest.mark.parametrize(
    "knob", [{"stages": 0}, {"stages": 99}, {"intensity": 3}, {"ctas_per_sm": 7}, {"stages": None}]
)
def test_a_number_that_its_knob_does_not_have_is_refused(machine, knob):
    (name,) = knob
    with pytest.raises(ValueError, match=f"{name}=.*the knob has 1, 2, "):
        PipelineModel(machine=machine, **knob)


def test_unknown_roles_are_refused_with_the_known_ones(machine):
    with pytest.raises(KeyError, match="tile_06_bulk_copy"):
        PipelineModel("tile_99", machine=machine)


def test_an_answer_takes_less_than_a_fifth_of_a_second(widget):
    def seconds(stages):
        begin = time.process_time()
        widget.stages.value = stages
        return time.process_time() - begin

    # Nothing waits in there, so this is the wall time; the best of three, as the machine may be busy.
    widget.stages.value = 1
    assert min(map(seconds, (2, 3, 4))) < 0.2
