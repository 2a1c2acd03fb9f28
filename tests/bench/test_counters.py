"""Counters without a profiler: what its table says, what is asked for, and what is found again."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from ws_course.bench import counters
from ws_course.bench.counters import FIELDS, Counted, Counters, ProfilerError
from ws_course.kernels.catalog import ABLATIONS, HOPPER, LADDER, get

# what Nsight Compute 2025.3 printed on an H200, cut to a few columns
LOG = (Path(__file__).parent / "ncu_sample.csv").read_text()


def test_the_table_is_read_with_its_units():
    first, second = counters.parse(LOG)
    assert first["Kernel Name"] == ("tile_06_bulk_copy", "") and second["Grid Size"][0] == "(132, 1, 1)"
    assert first["gpu__time_duration.sum"] == ("226,944", "ns")
    read = 2 * 4 * 16384 * 64**2  # A and B
    assert counters.plain(first) == {
        "time_ms": 0.226944,
        "sm_clock_ghz": 1.86038,
        "registers": 105,
        "instructions": 152562148,
        "dram_read_bytes": 536896256,
        "dram_write_bytes": 253007104,
        "l2_read_bytes": read,
        "l2_hits": 0.3355,
        "tma_in_bytes": read,
    }
    assert counters.plain(second)["registers"] == 123


def test_what_is_not_available_is_absent_and_not_zero():
    row = counters.parse(LOG)[0]
    for text in ("n/a", "nan", "", "(!) n/a"):
        row["launch__registers_per_thread"] = (text, "register/thread")
        assert "registers" not in counters.plain(row)
    row["launch__registers_per_thread"] = ("0", "register/thread")
    assert counters.plain(row)["registers"] == 0


def test_a_quotient_needs_both_and_no_division_by_zero():
    row = {"smsp__issue_active.sum": ("3,000", "cycle")}
    assert counters.plain(row) == {}
    row["smsp__cycles_active.sum"] = ("4,000", "cycle")
    assert counters.plain(row) == {"issue_slots": 0.75}
    row["smsp__cycles_active.sum"] = ("0", "cycle")
    assert counters.plain(row) == {}


def test_stalls_are_cycles_from_percent_of_an_issued_instruction():
    row = {"smsp__average_warps_issue_stalled_wait_per_issue_active.pct": ("11.25", "%")}
    assert counters.plain(row) == {"stall_wait": pytest.approx(0.1125)}


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [("1.5", "ms", 1.5), ("1500", "us", 1.5), ("1,500,000", "nsecond", 1.5), ("0.0015", "second", 1.5)],
)
def test_any_unit_of_time_gives_milliseconds(text, unit, value):
    assert counters.plain({"gpu__time_duration.sum": (text, unit)})["time_ms"] == pytest.approx(value)


def test_the_first_metric_that_a_device_has_counts():
    row = {"dram__bytes_op_read.sum": ("3", "Mbyte")}
    assert counters.plain(row) == {"dram_read_bytes": 3_000_000}
    row["dram__bytes_read.sum"] = ("2", "Mbyte")
    assert counters.plain(row) == {"dram_read_bytes": 2_000_000}


def test_no_table_is_an_error_that_shows_the_log():
    with pytest.raises(ProfilerError, match="no table:\n==ERROR== nothing"):
        counters.parse("==ERROR== nothing\n")


def test_unknown_metrics_are_recognised_in_the_log():
    log = "==ERROR== Failed to find metric regex:^dram__bytes_read.sum\n==WARNING== Failed to find metric lts__x.pct"
    assert counters._unknown(log) == {"dram__bytes_read.sum", "lts__x.pct"}


def test_without_the_profiler_the_fix_is_named(monkeypatch):
    monkeypatch.setattr(counters, "PLACES", ())
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ProfilerError, match="no ncu on the PATH.*CUDA toolkit.*recorded counters"):
        counters.find_profiler()


def test_every_kernel_is_counted_alone_and_with_company():
    found = counters.counted_cases()
    for spec in (*LADDER, *ABLATIONS, *HOPPER):
        usual = {case.ctas for case in found if case.kernel == spec.name and dict(case.params) == spec.defaults}
        assert usual == {1, 2}
    assert {dict(c.params)["SCHEDULERS"] for c in found if c.kernel == "tile_06_placement"} == {1, 2, 4}
    shared = [case for case in found if dict(case.params)["SHARE"] == 8]
    clusters = {(case.kernel, dict(case.params).get("CLUSTER", 1)) for case in shared}
    assert {("tile_06_bulk_copy", 1), ("tile_10_cluster_dsmem", 8), ("tile_11_cluster_multicast", 4)} <= clusters


def test_every_name_is_there_once_and_says_what_it_is():
    assert len({f.name for f in FIELDS}) == len(FIELDS)
    metrics = [m for f in FIELDS for metric in f.metrics for m in metric.split("/")]
    assert all("." in m or m.startswith("launch__") for m in metrics)
    assert all(f.what and f.unit and f.scale > 0 for f in FIELDS)


@pytest.fixture
def made_up():
    """Return counters with numbers that no device has."""

    def launch(kernel, ctas, time, **params):
        values = {"time_ms": time, "issue_slots": 0.5, "stall_wait": 1.0, "stall_barrier": 2.5}
        return Counted(kernel, get(kernel).defines(**params), ctas, {"tiles": 1}, {"grid": 1}, values)

    return Counters(
        device={"name": "Test Device 1"},
        versions={"ncu": "1"},
        date="2026-01-02",
        method={"profiler": "none"},
        fields={f.name: {"metric": f.metrics[0], "unit": f.unit, "what": f.what} for f in FIELDS[:4]},
        missing=("x.sum",),
        launches=(
            launch("tile_10_cluster_dsmem", 1, 3.0),
            launch("tile_10_cluster_dsmem", 1, 2.0, CLUSTER=8),
            launch("tile_10_cluster_dsmem", 2, 1.0),
        ),
    )


def test_constants_that_are_not_given_are_the_defaults(made_up):
    assert made_up.find("tile_10_cluster_dsmem")["time_ms"] == 3.0
    assert made_up.find("tile_10_cluster_dsmem", "best")["time_ms"] == 1.0
    found = made_up.find("tile_10_cluster_dsmem", 1, CLUSTER=8)
    assert found["time_ms"] == 2.0 and list(found.stalls) == ["barrier", "wait"]
    with pytest.raises(KeyError, match=r"it has .*\{'CLUSTER': 8\} at 1 CTA/SM"):
        made_up.find("tile_10_cluster_dsmem", 2, CLUSTER=8)
    with pytest.raises(KeyError, match="no counter fma: there are time_ms"):
        found["fma"]


def test_counters_survive_the_file_and_impossible_ones_do_not(made_up, tmp_path):
    path = made_up.save(tmp_path / "deep" / "x.json")
    assert counters.read(path) == made_up
    assert "Test Device 1, 2026-01-02" in counters.text(made_up) and "not counted here: x.sum" in counters.text(made_up)
    bad = replace(made_up.launches[0], counters={"time_ms": math.nan})
    with pytest.raises(ValueError, match="time_ms of tile_10"):
        counters.read(replace(made_up, launches=(bad,)).save(path))
    path.write_text('{"schema": 2}')
    with pytest.raises(ValueError, match="no file of counters"):
        counters.read(path)
