"""Measuring on a GPU: every result checked, limits above everything that was measured."""

import pytest

from ws_course import device
from ws_course.bench import counters, ladder, record, tables
from ws_course.kernels.catalog import ABLATIONS, HOPPER

GPUS = device.driver().gpus
pytestmark = pytest.mark.gpu
hopper = pytest.mark.skipif(bool(GPUS) and GPUS[0].capability < (9, 0), reason="needs Hopper or later")


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


@hopper
def test_measures_every_kernel_with_a_shared_b_and_with_small_tiles():
    kernels = [spec.name for spec in (*ladder.LADDER, *ABLATIONS, *HOPPER)]
    for tile in (64, 32):
        found = ladder.measure_live(kernels, ctas=(1,), tiles=1000, rounds=3, SHARE=(8,), TILE=(tile,))
        assert {m.kernel for m in found.measurements} == set(kernels)
        for m in found.measurements:
            tiles = 1000 * (64 // tile) ** 2
            assert m.problem["tiles"] == tiles and m.params["TILE"] == tile and m.params["SHARE"] == 8
            assert m.problem["bytes"] == 4 * tile**2 * (2 * tiles + tiles // 8)
            assert m.check["ok"] and m.check["max_error"] < m.check["tolerance"]


@hopper
def test_clusters_take_as_many_sms_as_they_fill():
    names = ["tile_10_cluster_dsmem", "tile_11_cluster_multicast"]
    found = ladder.measure_live(names, stages=(2,), ctas=(1, 2), tiles=512, rounds=3, CLUSTER=(1, 2, 4, 8))
    assert {(m.kernel, m.params["CLUSTER"]) for m in found.measurements} == {
        (n, c) for n in names for c in (1, 2, 4, 8)
    }
    for m in found.measurements:
        cluster, sms = m.params["CLUSTER"], m.launch["sms"]
        assert m.launch["cluster"] == cluster and m.launch["grid"] % cluster == 0
        assert 0.75 * GPUS[0].sms <= sms <= GPUS[0].sms
        assert sms == m.launch["grid"] // m.ctas_per_sm
        if cluster == 1:
            assert sms == GPUS[0].sms


@hopper
def test_the_profiler_counts_the_bytes_of_the_problem(tmp_path):
    try:
        counters.find_profiler()
    except counters.ProfilerError as error:
        pytest.skip(str(error))
    wanted = [*ladder.cases(["tile_00_one_buffer", "tile_06_bulk_copy"], (1,))]
    found = counters.count(wanted, tiles=4096, keep=tmp_path / "ncu.log")
    assert (tmp_path / "ncu.log").exists() and [x.kernel for x in found.launches] == [case.kernel for case in wanted]
    for x in found.launches:
        read = 2 * 4 * 4096 * 64**2
        assert read <= x["l2_read_bytes"] < 1.2 * read and 0.99 * read < x["dram_read_bytes"] < 1.2 * read
        assert 0 < x["issue_slots"] < 1 and 0 < x["warps_eligible"] < x["warps_active"] < 17
        assert x["fma"] >= 4096 * 64**3
    bulk = found.find("tile_06_bulk_copy")
    assert read <= bulk["tma_in_bytes"] < 1.05 * read
    assert counters.read(found.save(tmp_path / "x.json")) == found
