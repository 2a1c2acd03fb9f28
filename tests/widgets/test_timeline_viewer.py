"""The timeline viewer dims the future and says in words what happens now."""

import base64
import io
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from ws_course.viz import Provenance, palette
from ws_course.widgets import TimelineViewer


@pytest.fixture
def viewer(spans):
    return TimelineViewer(spans, provenance=Provenance.emulated(), title="three tiles")


def picture(png):
    return np.asarray(Image.open(io.BytesIO(png))).astype(int)


def test_a_step_dims_what_comes_later_and_nothing_before(viewer):
    whole = picture(base64.b64decode(viewer._repr_mimebundle_()[0]["image/png"]))
    viewer.step.value = viewer.moments.index(16)
    now = picture(viewer.image.value)
    changed = np.flatnonzero((now != whole).any(axis=(0, 2)))
    area, (low, high) = viewer._area, viewer._range
    cursor = 2 * (area.x0 + area.width * (16 - low) / (high - low))
    assert changed[0] == pytest.approx(cursor, abs=4)
    alarm = np.array([0xB3, 0x26, 0x1E])
    assert palette.ALARM == "#B3261E" and (abs(now - alarm).max(axis=2) == 0).any(axis=0)[changed[0]]
    later = whole[:, changed[-1] - 200 : changed[-1]]
    assert now[:, changed[-1] - 200 : changed[-1]].mean() > later.mean(), "lighter"


def test_the_words_follow_the_step(viewer):
    viewer.step.value = viewer.moments.index(10)
    assert "tick 10: loader warp 0: loading tile 1; compute warps 1, 2: waiting at full[0]" in viewer.words.value
    assert "storer warp 3: waiting at out full" in viewer.words.value
    viewer.step.value = len(viewer.moments) - 1
    assert "loader warp 0: finished" in viewer.words.value


def test_every_start_and_end_is_a_step(viewer, spans):
    assert viewer.moments == sorted({s.start for s in spans} | {s.end for s in spans})
    assert viewer.step.max == len(viewer.moments) - 1


def test_blocks_are_named_only_if_there_are_several(spans):
    both = [*spans, *(replace(s, block=1) for s in spans)]
    assert "block 1 loader" in TimelineViewer(both, provenance=Provenance.emulated()).describe(0)
    assert "block" not in TimelineViewer(both, provenance=Provenance.emulated(), blocks=[1]).describe(0)


def test_measured_spans_are_in_their_unit(spans):
    viewer = TimelineViewer(spans, provenance=Provenance.measured("GPU"), unit="ns")
    assert "38 ns: loader" in viewer.words.value


def test_the_still_form(viewer):
    data, metadata = viewer._repr_mimebundle_()
    assert data["text/plain"] == "<TimelineViewer: three tiles>"
    assert metadata["image/png"]["alt"] == "three tiles; emulated order"


def test_an_answer_takes_less_than_a_fifth_of_a_second(viewer):
    times = []
    for step in range(len(viewer.moments)):
        start = time.process_time()
        viewer.step.value = step
        times.append(time.process_time() - start)
    assert min(times) < 0.2
