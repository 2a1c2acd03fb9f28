"""Measuring on a GPU: every result checked, limits above everything that was measured."""

import pytest

from ws_course.bench import ladder, record, tables

pytestmark = pytest.mark.gpu


def test_measures_live():
    found = ladder.measure_live(ctas=(1,), tiles=2048, rounds=5)
    assert found.live and found.label == f"measured now ({found.device['name']})"
    assert {m.kernel for m in found.measurements} == {spec.name for spec in ladder.LADDER}
    for m in found.measurements:
        assert m.check["ok"] and 0 < m.check["max_error"] < m.check["tolerance"]
        assert len(m.times_ms) == 5 and 0 < m.gb_s < 1.3 * found.limits["copy_gb_s"]
        assert m.tflop_s < found.limits["fp32_tflop_s"]
    assert "measured now" in tables.ladder_text(found)


def test_a_record_survives_the_file(tmp_path):
    found = ladder.measure_live(["tile_02_cp_async"], ctas=(1,), tiles=512, rounds=3)
    again = record.read(found.save(tmp_path / "x.json"))
    assert not again.live and again.measurements[0].params == found.measurements[0].params
