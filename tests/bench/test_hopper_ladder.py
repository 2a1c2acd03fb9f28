"""The records of all rungs together: complete, believable, and in line with what the files of the kernels say."""

import pytest

from ws_course.bench import counters, record, steps
from ws_course.bench.ladder import CLUSTERS
from ws_course.kernels.catalog import ABLATIONS, HOPPER, LADDER


def recorded(load, *what):
    try:
        return load(*what)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def h200():
    return recorded(record.load, "hopper-ladder", "NVIDIA H200")


@pytest.fixture(scope="module")
def sweep():
    return recorded(record.load, "warps-sweep", "NVIDIA H200")


@pytest.fixture(scope="module")
def counted():
    return recorded(counters.load, "NVIDIA H200")


def test_holds_every_kernel_with_a_b_of_its_own_and_a_shared_one(h200):
    kernels = {spec.name for spec in (*LADDER, *ABLATIONS, *HOPPER)}
    assert {m.kernel for m in h200.measurements} == kernels
    for name in kernels:
        assert h200.find(name) and h200.find(name, SHARE=8) and h200.find(name, INTENSITY=4)
    for m in h200.measurements:
        assert m.check["ok"] and 0 < m.check["max_error"] < m.check["tolerance"]
        assert len(m.times_ms) == 15 and m.resources["local"] == 0, "no registers are spilled"
        assert m.gb_s < h200.limits["copy_gb_s"] and m.tflop_s < h200.limits["fp32_tflop_s"]


@pytest.mark.parametrize("name", ["tile_10_cluster_dsmem", "tile_11_cluster_multicast"])
def test_clusters_of_every_size_fill_most_of_the_device(h200, name):
    for cluster in CLUSTERS:
        m = h200.find(name, 1, SHARE=8, CLUSTER=cluster)
        assert m.launch["cluster"] == cluster and m.launch["grid"] % cluster == 0
        assert 0.75 * h200.device["sm_count"] <= m.launch["sms"] <= h200.device["sm_count"]


def test_the_last_rungs_reach_nine_tenths_of_the_copy_limit(h200):
    for name in ("tile_06_bulk_copy", "tile_09_persistent"):
        assert h200.find(name, "best").gb_s > 0.9 * h200.limits["copy_gb_s"]


@pytest.mark.parametrize("ctas", [1, 2])
def test_every_step_was_measured_alone(h200, ctas):
    found = steps.bought(h200, ctas)
    assert [one.step for one in found] == list(steps.STEPS)
    for one in found:
        sides = one.before, one.after
        assert len({m.ctas_per_sm for m in sides}) == len({m.problem["bytes"] for m in sides}) == 1
        for name in one.before.params.keys() & one.after.params.keys() - one.step.then.keys():
            assert one.before.params[name] == one.after.params[name]


def test_warps_go_from_one_to_all_that_an_sm_holds(sweep):
    for kernel in ("tile_01_double_buffer", "tile_04_two_roles", "tile_06_bulk_copy"):
        warps = {m.warps_per_sm for m in sweep.select(kernel)}
        assert min(warps) <= 2 and max(warps) >= 60
    assert all(m.params["TILE"] == 32 and m.launch["promised"] == m.ctas_per_sm for m in sweep.measurements)


def test_the_counters_see_the_bytes_of_the_problem(counted):
    for x in counted.launches:
        b_per_tile = 1 / x.problem["share"]
        a = 4 * x.problem["tiles"] * x.problem["tile"] ** 2
        assert 0.9 * a < x["dram_write_bytes"] < 1.1 * a  # the last of C is still in L2 when the kernel ends
        assert 0.99 * (1 + b_per_tile) * a < x["dram_read_bytes"] < 1.2 * (1 + b_per_tile) * a
        assert 0 < x["issue_slots"] < 1 and 0 < x["warps_eligible"] < x["warps_active"] <= 16


def test_multicast_asks_l2_once_for_all_ctas_of_a_cluster(counted):
    asked = [counted.find("tile_11_cluster_multicast", CLUSTER=c)["l2_read_bytes"] for c in CLUSTERS]
    assert asked == sorted(asked, reverse=True) and asked[0] > 1.6 * asked[-1]
