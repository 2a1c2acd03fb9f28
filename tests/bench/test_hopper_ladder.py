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
        assert len(m.times_ms) == 31 and m.resources["local"] == 0, "no registers are spilled"
        assert m.gb_s < h200.limits["copy_gb_s"] and m.tflop_s < h200.limits["fp32_tflop_s"]


@pytest.mark.parametrize("name", ["tile_10_cluster_dsmem", "tile_11_cluster_multicast"])
def test_clusters_of_every_size_fill_most_of_the_device(h200, name):
    for cluster in CLUSTERS:
        m = h200.find(name, 1, SHARE=8, CLUSTER=cluster)
        assert m.launch["cluster"] == cluster and m.launch["grid"] % cluster == 0
        assert 0.75 * h200.device["sm_count"] <= m.launch["sms"] <= h200.device["sm_count"]


def test_bulk_copies_reach_nine_tenths_of_the_copy_limit_and_nobody_falls_below_eight(h200):
    share = {spec.name: h200.find(spec.name, "best").gb_s / h200.limits["copy_gb_s"] for spec in HOPPER}
    assert max(share, key=share.get) == "tile_06_bulk_copy" and share["tile_06_bulk_copy"] > 0.9
    assert min(share.values()) > 0.8


@pytest.mark.parametrize("ctas", [1, 2])
def test_every_step_was_measured_alone(h200, ctas):
    found = steps.bought(h200, ctas)
    alone = {"tile_06_placement"}  # its block has more threads than two of them leave room for
    assert [one.step for one in found] == [s for s in steps.STEPS if ctas == 1 or s.before not in alone]
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
    asked = [counted.find("tile_11_cluster_multicast", 2, CLUSTER=c)["l2_read_bytes"] for c in CLUSTERS]
    assert asked == sorted(asked, reverse=True) and asked[0] > 1.5 * asked[-1]
    a = 4 * 16384 * 64**2
    assert asked[-1] == pytest.approx(a + a / 8, rel=0.01), "A, and B once for each cluster of 8"
