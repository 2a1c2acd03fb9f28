"""Records: they survive the file, say where they come from, and refuse what cannot be believed."""

import json
from dataclasses import replace

import pytest

from ws_course.bench import record
from ws_course.kernels.catalog import ABLATIONS, LADDER


def test_numbers_by_hand(measurement):
    m = measurement()
    assert m.median_ms == 2.0
    assert m.gb_s == pytest.approx(4.0)  # 8 MB in 2 ms
    assert m.tflop_s == pytest.approx(2.0)  # 4 GFLOP in 2 ms
    assert m.spread == pytest.approx((3.0 - 1.5) / 2.0)  # quartiles of 1, 2, 4


def test_survives_the_file(tmp_path, made_up, measurement):
    one = made_up(measurement(), measurement(STAGES=2, ctas=3))
    again = record.read(one.save(tmp_path / "test-device-1_tile-ladder.json"))
    assert again == one
    assert again.label == "recorded (Test Device 1, 2026-01-02)"
    assert replace(again, live=True).label == "measured now (Test Device 1)"


def test_finds_by_kernel_constants_and_occupancy(made_up, measurement):
    slow, fast = measurement(STAGES=2, times=(3.0,)), measurement(STAGES=3, times=(2.0,))
    two, hot = measurement(STAGES=2, ctas=2, times=(1.0,)), measurement(STAGES=2, times=(0.5,), INTENSITY=8)
    wide = measurement(STAGES=2, times=(0.1,), COMPUTE_THREADS=256)
    one = made_up(slow, fast, two, hot, wide)
    assert one.find("k", STAGES=2) is slow
    assert one.find("k") is fast
    assert one.find("k", "best") is two
    assert one.find("k", INTENSITY=8) is hot
    assert one.find("k", COMPUTE_THREADS=256) is wide
    assert one.select("k", STAGES=3) == [fast]
    with pytest.raises(KeyError, match="at 3 CTA/SM; it has .*2 CTA/SM"):
        one.find("k", 3)
    with pytest.raises(KeyError, match="nothing of that kernel"):
        one.find("other")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"times_ms": []}, "not all positive"),
        ({"times_ms": [1.0, float("nan")]}, "not all positive"),
        ({"times_ms": [0.0]}, "not all positive"),
        ({"check": {"ok": False, "max_error": 1.0, "tolerance": 0.1}}, "wrong result"),
        ({"check": {}}, "wrong result"),
    ],
)
def test_refuses_what_cannot_be_believed(tmp_path, made_up, measurement, change, says):
    path = made_up(measurement()).save(tmp_path / "x.json")
    data = json.loads(path.read_text())
    data["measurements"][0].update(change)
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=says):
        record.read(path)


def test_refuses_another_schema(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"schema": 0}')
    with pytest.raises(ValueError, match="schema 1"):
        record.read(path)


def test_loads_the_latest_or_the_device_asked_for(monkeypatch, tmp_path, made_up, measurement):
    monkeypatch.setattr(record, "RECORDS", tmp_path)
    with pytest.raises(FileNotFoundError, match="there are none"):
        record.load("tile-ladder")
    for name, date in (("NVIDIA A", "2026-05-01"), ("NVIDIA B", "2026-04-01")):
        one = replace(made_up(measurement()), device={"name": name}, date=date)
        one.save(tmp_path / f"{record.slug(name)}_tile-ladder.json")
    assert record.load("tile-ladder").device["name"] == "NVIDIA A"
    assert record.load("tile-ladder", "NVIDIA B").date == "2026-04-01"
    with pytest.raises(FileNotFoundError, match="nvidia-a_tile-ladder, nvidia-b_tile-ladder"):
        record.load("tile-ladder", "NVIDIA C")


def test_the_committed_record_has_its_provenance(h200):
    assert h200.label.startswith("recorded (NVIDIA H200, 20")
    for key in ("name", "sm_count", "driver", "cuda_driver", "clocks"):
        assert h200.device[key]
    assert {"nvrtc", "cuda-core", "cupy-cuda13x", "numpy", "python"} <= set(h200.versions)
    assert {"repetitions", "interleaving", "l2", "inputs", "check"} <= set(h200.method)


def test_the_committed_record_covers_the_ladder(h200):
    anywhere = [spec.name for spec in (*LADDER, *ABLATIONS) if "sm_80" in spec.archs]
    assert {m.kernel for m in h200.measurements} == set(anywhere)
    for spec in LADDER:
        for intensity in spec.choices["INTENSITY"]:
            assert h200.find(spec.name, 1, INTENSITY=intensity)
        for name in ("STAGES", "LOADER_WARPS"):
            for value in spec.choices.get(name, ()):
                assert h200.find(spec.name, "best", **{name: value})


def test_the_committed_numbers_are_physical(h200):
    """No kernel beats what the same run measured as the device's limits, and launches are what the catalog says."""
    for m in h200.measurements:
        assert len(m.times_ms) >= 9
        assert m.gb_s < 1.05 * h200.limits["copy_gb_s"] and m.tflop_s < h200.limits["fp32_tflop_s"]
        assert m.launch["grid"] == m.ctas_per_sm * h200.device["sm_count"]
        assert m.problem["bytes"] > 4 * h200.device["l2_bytes"]


def test_the_committed_launches_are_what_the_catalog_says(h200):
    specs = {spec.name: spec for spec in (*LADDER, *ABLATIONS)}
    for m in h200.measurements:
        spec = specs[m.kernel]
        assert (m.launch["block"], m.launch["smem"]) == (spec.block(**m.params), spec.smem(**m.params))
