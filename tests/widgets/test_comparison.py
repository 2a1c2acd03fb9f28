"""The comparison: predict, reveal, turn the knobs; always quick, always saying where the numbers come from."""

import base64
import io
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from ws_course import device
from ws_course.bench import ladder as bench_ladder
from ws_course.bench.record import load
from ws_course.kernels import catalog
from ws_course.runtime import BackendError
from ws_course.widgets import Comparison
from ws_course.widgets.comparison import nearest

ONE, ROLES = "tile_00_one_buffer", "tile_04_pipeline_roles"


def picture(widget):
    return np.asarray(Image.open(io.BytesIO(widget.image.value)))


def said(widget):
    return re.sub(r"<[^>]+>", " ", widget.words.value)


class TestNearest:
    def test_an_exact_match_differs_in_nothing(self, record):
        found = nearest(record, ROLES, {"ctas_per_sm": 2, "STAGES": 2, "LOADER_WARPS": 4, "INTENSITY": 4})
        assert not found.differs
        assert found.measurement.ctas_per_sm == 2 and found.measurement.params["LOADER_WARPS"] == 4

    def test_of_what_nobody_asked_for_the_fastest_is_taken_and_named(self, record):
        faster = tuple(
            replace(m, times_ms=tuple(0.9 * t for t in m.times_ms)) if m.params.get("STORER_WARPS") == 1 else m
            for m in record.measurements
        )
        found = nearest(replace(record, measurements=faster), ROLES, {"ctas_per_sm": 1})
        assert found.measurement.params["STORER_WARPS"] == 1 and found.free == {"STORER_WARPS": 1}

    def test_constants_of_all_rungs_stay_at_their_defaults(self, record):
        # Twice the threads are faster here, and still not what a comparison of pipelines may change.
        wide = tuple(
            replace(m, params={**m.params, "COMPUTE_THREADS": 256}, times_ms=tuple(0.5 * t for t in m.times_ms))
            for m in record.measurements
        )
        usual = tuple(replace(m, params={**m.params, "COMPUTE_THREADS": 128}) for m in record.measurements)
        found = nearest(replace(record, measurements=wide + usual), ONE, {"ctas_per_sm": 2, "INTENSITY": 4})
        assert found.measurement.params["COMPUTE_THREADS"] == 128 and not found.differs and not found.free

    def test_the_problem_is_kept_before_the_occupancy_before_the_stages(self, record):
        found = nearest(record, ROLES, {"ctas_per_sm": 2, "STAGES": 3, "LOADER_WARPS": 1, "INTENSITY": 4})
        assert found.differs == {"STAGES": (3, 2)}

    def test_a_knob_that_the_kernel_lacks_is_ignored(self, record):
        assert not nearest(record, ONE, {"ctas_per_sm": 1, "STAGES": 3, "LOADER_WARPS": 4, "INTENSITY": 1}).differs

    def test_what_is_shown_instead_is_named(self, record):
        text = str(nearest(record, ROLES, {"ctas_per_sm": 4, "INTENSITY": 1}))
        assert text == "04 pipeline roles has no measurement with 4 CTAs per SM; shown is the nearest: 2 CTAs per SM."

    def test_a_kernel_that_was_never_measured(self, record):
        with pytest.raises(KeyError, match="mine is not in this record: it holds tile_00_one_buffer"):
            nearest(record, "mine", {})


class TestPredicting:
    def test_nothing_is_revealed_before_a_guess(self, record, artificial_record):
        widget = Comparison(record, kernels=[ONE, ROLES])
        assert widget.reveal.disabled
        assert "0.250" not in said(widget)
        hidden = picture(widget)
        # The picture before the reveal depends on the baseline alone.
        slower = artificial_record(measurements=tuple(_slower(m) for m in record.measurements))
        assert np.array_equal(picture(Comparison(slower, kernels=[ONE, ROLES]))[:, :1100], hidden[:, :1100])

    def test_guess_then_reveal_then_guess_again(self, record):
        widget = Comparison(record, kernels=[ONE, ROLES])
        start = picture(widget)
        widget.guess.value = 2.0
        guessed = picture(widget)
        assert not np.array_equal(start, guessed) and not widget.reveal.disabled
        widget.reveal.click()
        assert not np.array_equal(picture(widget), guessed)
        assert "You said 2.00×. 04 pipeline roles is 1.60× as fast as 00 one buffer" in said(widget)
        assert "recorded (Test device, 2000-01-01)" in said(widget)
        assert widget.guess.disabled
        widget.reveal.click()
        assert np.array_equal(picture(widget), start) and widget.reveal.disabled

    def test_one_rung_is_nothing_to_compare(self, record):
        widget = Comparison(record, kernels=[ONE])
        assert widget.guess.disabled and "two rungs" in widget.question.value
        widget.rungs[ONE].value = False
        assert widget.selected == [] and picture(widget).size


class TestKnobs:
    def test_only_what_has_no_use_here_is_hidden(self, record, monkeypatch):
        monkeypatch.setattr(device, "has_gpu", lambda: False)
        widget = Comparison(record)
        controls = [*widget.rungs.values(), *widget.knobs.values(), widget.guess, widget.reveal, widget.image]
        assert [c.layout.display for c in controls] == [None] * len(controls)
        assert widget.source.layout.display == widget.measure.layout.display == "none"

    def test_every_knob_changes_the_picture(self, record):
        widget = Comparison(record)
        widget.guess.value = 1.5
        widget.reveal.click()
        for knob, slider in widget.knobs.items():
            before = picture(widget)
            slider.value = next(value for value in slider.options if value != slider.value)
            assert not np.array_equal(picture(widget), before), knob

    def test_the_knobs_offer_what_was_recorded(self, record):
        knobs = Comparison(record).knobs
        assert {name: slider.options for name, slider in knobs.items()} == {
            "ctas_per_sm": (1, 2),
            "STAGES": (2, 3),
            "LOADER_WARPS": (1, 4),
            "INTENSITY": (1, 4),
        }

    def test_a_knob_without_effect_is_greyed(self, record):
        widget = Comparison(record, kernels=[ONE, "tile_01_double_buffer"])
        assert widget.knobs["STAGES"].disabled and not widget.knobs["INTENSITY"].disabled
        widget.rungs[ROLES].value = True
        assert not widget.knobs["STAGES"].disabled

    def test_a_combination_that_was_not_recorded_is_said(self, record):
        widget = Comparison(record, kernels=[ONE, ROLES], ctas_per_sm=2, STAGES=3)
        assert "04 pipeline roles has no measurement with 3 stages; shown is the nearest: 2 stages." in said(widget)

    def test_start_values(self, record):
        knobs = Comparison(record, ctas_per_sm=2, LOADER_WARPS=4, INTENSITY=4).knobs
        assert (knobs["ctas_per_sm"].value, knobs["LOADER_WARPS"].value, knobs["INTENSITY"].value) == (2, 4, 4)

    def test_a_kernel_beside_the_ladder_is_offered_when_asked_for(self, record):
        beside = "tile_04_two_roles"
        more = tuple(replace(m, kernel=beside, params={"INTENSITY": 1}) for m in record.select(ROLES, INTENSITY=1))
        record = replace(record, measurements=record.measurements + more)
        assert beside not in Comparison(record).rungs
        widget = Comparison(record, kernels=[ROLES, beside])
        assert widget.selected == [ROLES, beside] and "04 two roles" in widget.question.value

    def test_wrong_calls_are_refused(self, record):
        with pytest.raises(ValueError, match="no knob STAGE:"):
            Comparison(record, STAGE=3)
        with pytest.raises(KeyError, match="mine"):
            Comparison(record, kernels=["mine", ONE])

    def test_an_answer_takes_less_than_a_fifth_of_a_second(self, record):
        widget = Comparison(record, kernels=list(artificial_kernels(record)))
        widget.guess.value = 1.5
        widget.reveal.click()
        for knob, slider in widget.knobs.items():
            times = []
            for value in 3 * slider.options[::-1]:
                start = time.process_time()
                slider.value = value
                times.append(time.process_time() - start)
            # Nothing waits in there, so this is the wall time on a machine that is not busy with something else.
            assert min(times) < 0.2, f"{knob}: {min(times):.3f} s"


class TestMeasuring:
    @pytest.fixture
    def gpu(self, monkeypatch):
        monkeypatch.setattr(device, "has_gpu", lambda: True)

    def test_without_a_gpu_there_is_no_button(self, record, monkeypatch):
        monkeypatch.setattr(device, "has_gpu", lambda: False)
        assert Comparison(record).measure.layout.display == "none"

    def test_a_measurement_takes_the_stage_with_its_own_label(self, record, gpu, monkeypatch, artificial_record):
        asked = []

        def measure_live(kernels, **rest):
            asked.append((kernels, rest))
            kept = [m for m in record.measurements if m.kernel in kernels and m.ctas_per_sm == rest["ctas"][0]]
            return artificial_record(live=True, device={"name": "Own device"}, measurements=tuple(kept))

        monkeypatch.setattr(bench_ladder, "measure_live", measure_live)
        widget = Comparison(record, kernels=[ONE, ROLES], ctas_per_sm=2)
        widget.guess.value = 1.5
        widget.reveal.click()
        widget.measure.click()
        pipeline = {"stages": [2], "loader_warps": [1], "storer_warps": (1, 2)}
        problem = {"intensities": [1], "SHARE": [1], "CLUSTER": [1]}
        assert asked == [([ONE, ROLES], {"ctas": [2], **pipeline, **problem})]
        assert "measured now (Own device)" in said(widget) and widget.source.value == "now"
        widget.rungs["tile_02_cp_async"].value = True
        assert "02 cp async was not measured here yet." in said(widget)
        widget.knobs["ctas_per_sm"].value = 1
        widget.measure.click()
        assert "not measured" not in said(widget)
        assert len(widget._plots["now"].record.measurements) > len(record.select(ONE)), "earlier ones are kept"
        widget.source.value = "recorded"
        assert "recorded (Test device" in said(widget)

    @pytest.mark.gpu
    def test_the_button_measures_on_this_gpu(self):
        widget = Comparison()
        widget.measure.click()
        live = widget._plots["now"].record
        assert widget.source.value == "now" and live.label.startswith("measured now (")
        assert {m.kernel for m in live.measurements} == {ONE, ROLES}

    def test_a_failed_measurement_is_one_clear_line(self, record, gpu, monkeypatch):
        def fail(*_args, **_rest):
            raise BackendError("the driver is <too old>: install 580")

        monkeypatch.setattr(bench_ladder, "measure_live", fail)
        widget = Comparison(record)
        widget.measure.click()
        assert "the driver is &lt;too old&gt;: install 580" in widget.words.value
        assert not widget.measure.disabled and widget.source.value == "recorded"

    def test_nothing_that_fits_is_said(self, record, gpu, monkeypatch, artificial_record):
        monkeypatch.setattr(bench_ladder, "measure_live", lambda *a, **k: artificial_record(measurements=()))
        widget = Comparison(record)
        widget.measure.click()
        assert "No selected rung fits with 1 CTA per SM" in said(widget)


class TestStillForm:
    def test_the_bundle_holds_view_picture_and_words(self, record):
        widget = Comparison(record, kernels=[ONE, ROLES])
        data, metadata = widget._repr_mimebundle_()
        assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.view.model_id
        still = np.asarray(Image.open(io.BytesIO(base64.b64decode(data["image/png"]))))
        assert still.shape == picture(widget).shape
        alt = metadata["image/png"]["alt"]
        assert "00 one buffer 0.400 ms" in alt and "recorded (Test device, 2000-01-01)" in alt
        assert metadata["image/png"]["width"] * 2 == still.shape[1]

    def test_the_still_picture_is_revealed(self, record):
        widget = Comparison(record, kernels=[ONE, ROLES])
        before = picture(widget)
        still = widget._repr_mimebundle_()[0]["image/png"]
        widget.guess.value = 1.5
        widget.reveal.click()
        revealed = Image.open(io.BytesIO(widget.image.value))
        decoded = np.asarray(Image.open(io.BytesIO(base64.b64decode(still))))
        # The same bars at the same places; only the outline of the guess is new.
        assert (decoded != np.asarray(revealed)).any(axis=2).mean() < 0.02
        assert not np.array_equal(decoded, before)

    def test_the_text_is_the_same_in_every_run(self, record):
        assert Comparison(record)._repr_mimebundle_()[0]["text/plain"] == (
            "<Comparison of tile_00_one_buffer, tile_04_pipeline_roles: recorded (Test device, 2000-01-01)>"
        )


def artificial_kernels(record):
    return dict.fromkeys(m.kernel for m in record.measurements)


def _slower(m):
    return replace(m, times_ms=tuple(9 * t for t in m.times_ms)) if m.kernel == ROLES else m


@pytest.fixture(scope="module")
def hopper():
    return load("hopper-ladder", "NVIDIA H200")


class TestAllRungs:
    def test_offers_every_rung_of_the_record_and_compares_one_problem(self, hopper):
        comparison = Comparison(hopper, STAGES=3)
        assert comparison.kernels == [spec.name for spec in (*catalog.LADDER, *catalog.HOPPER)]
        for kernel in comparison.kernels:
            for share in (1, 8):
                found = nearest(hopper, kernel, {**comparison.wanted, "SHARE": share})
                assert found.measurement.params["SHARE"] == share and found.measurement.params["TILE"] == 64

    def test_a_cluster_is_a_knob(self, hopper):
        four = nearest(hopper, "tile_11_cluster_multicast", {"SHARE": 8, "CLUSTER": 4, "ctas_per_sm": 2, "STAGES": 3})
        assert four.measurement.launch["cluster"] == 4 and not four.differs
        assert Comparison(hopper, SHARE=8, CLUSTER=4).wanted["CLUSTER"] == 4


@pytest.mark.parametrize("value", [0, -5, float("nan")])
def test_a_knob_asks_for_something_positive(artificial_record, value):
    with pytest.raises(ValueError, match="STAGES=.*: what a knob asks for is at least 1"):
        nearest(artificial_record(), "tile_04_pipeline_roles", {"STAGES": value})
    with pytest.raises(ValueError, match="STAGES="):
        Comparison(artificial_record(), STAGES=value)


def test_a_name_is_no_record_and_no_list_of_names(artificial_record):
    with pytest.raises(TypeError, match="'hopper-ladder' is no record: give one, such as .*load"):
        Comparison("hopper-ladder")
    with pytest.raises(TypeError, match="is one name: give several in a list"):
        Comparison(artificial_record(), kernels="tile_00_one_buffer")
