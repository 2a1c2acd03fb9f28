"""A timeline in a file says where and when it was measured, and comes back as it was."""

import json

import pytest

from ws_course.runtime import Span
from ws_course.trace import store
from ws_course.trace.timeline import TICKS, Timeline

SPANS = (Span(0, 0, "load", 0, 40, 24), Span(0, 0, "wait", 40, 90, -1, "empty"), Span(1, 2, "compute", 50, 95, 25))
FACTS = {"device": {"name": "NVIDIA Testing 1"}, "date": "2000-01-01", "clock": {"sms": {0: 7, 1: 9}, "tick_ns": 32.0}}
MEASURED = Timeline(
    "ring", SPANS, "measured now (NVIDIA Testing 1)", "ns", 3, "tile_05_mbarrier_ring", {"STAGES": 3}, FACTS
)


def test_what_was_measured_comes_back_as_recorded(tmp_path):
    back = store.read(store.save(MEASURED, tmp_path / "new" / "one.json"))
    assert back.label == "recorded (NVIDIA Testing 1, 2000-01-01)"
    assert (back.spans, back.facts, back.params) == (SPANS, FACTS, {"STAGES": 3})
    assert (back.title, back.unit, back.stages, back.kernel) == ("ring", "ns", 3, "tile_05_mbarrier_ring")
    again = store.read(store.save(back, tmp_path / "two.json"))
    assert again == back, "a record that is written again is the same record"


def test_an_order_stays_an_order(tmp_path):
    order = Timeline("ring", SPANS, "emulated order", TICKS, 3, "tile_05_mbarrier_ring")
    back = store.read(store.save(order, tmp_path / "order.json"))
    assert (back.label, back.unit, back.spans) == ("emulated order", TICKS, SPANS)


def test_a_piece_stays_a_piece(tmp_path):
    facts = {"keep": [7, 9], "before": {0: 5, 1: 8}}
    piece = Timeline("ring", SPANS, "emulated order", TICKS, 3, "tile_05_mbarrier_ring", facts=facts)
    back = store.read(store.save(piece, tmp_path / "piece.json"))
    assert back.is_piece and [back.before(block) for block in (0, 1, 2)] == [5, 8, 7]
    counted = Timeline("ring", SPANS, "measured now", stages=3, facts={**facts, "clock": {"skipped": {0: 23, 1: 24}}})
    assert [counted.before(block) for block in (0, 1)] == [24, 24], "the first that is kept goes through slot 0"


def test_times_without_a_device_or_a_date_are_not_kept(tmp_path):
    for facts in ({}, {"device": {"name": "NVIDIA Testing 1"}}, {"date": "2000-01-01", "device": {}}):
        with pytest.raises(ValueError, match="a device and a date"):
            store.save(Timeline("ring", SPANS, "measured now", facts=facts), tmp_path / "no.json")
    assert not list(tmp_path.iterdir())


def test_another_schema_is_refused(tmp_path):
    path = store.save(MEASURED, tmp_path / "one.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
    with pytest.raises(ValueError, match=r"python -m ws_course\.trace"):
        store.read(path)


def test_the_latest_of_a_kernel_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match="tile_05_mbarrier_ring.json: there are none"):
        store.load("tile_05_mbarrier_ring")
    for name, date in (("NVIDIA Testing 1", "2000-01-01"), ("NVIDIA Testing 2", "2001-01-01")):
        facts = {**FACTS, "device": {"name": name}, "date": date}
        one = Timeline("ring", SPANS, "", "ns", 3, "tile_05_mbarrier_ring", {}, facts)
        store.save(one, tmp_path / store.file_name(one))
    assert (tmp_path / "nvidia-testing-1_tile_05_mbarrier_ring.json").is_file()
    assert store.load("tile_05_mbarrier_ring").label == "recorded (NVIDIA Testing 2, 2001-01-01)"
    assert store.load("tile_05_mbarrier_ring", "NVIDIA Testing 1").label == "recorded (NVIDIA Testing 1, 2000-01-01)"
    with pytest.raises(FileNotFoundError, match="there are nvidia-testing-1_tile_05_mbarrier_ring"):
        store.load("tile_00_one_buffer")
