"""The model of a pipeline: limits that can be worked out by hand, and the records it must meet without knowing them."""

import dataclasses
import subprocess
import sys

import pytest

from ws_course.bench import micro, record
from ws_course.kernels import catalog
from ws_course.model import pipeline
from ws_course.model.machine import Machine, Queue
from ws_course.model.pipeline import (
    STORES,
    Pipeline,
    error_table,
    errors,
    median_error,
    of,
    predict,
    timeline,
)
from ws_course.problem import TileProblem

BOTH = (128, 256)
LOADS = [("registers", n) for n in BOTH] + [("cp.async", n) for n in (32, 64, 128, 256)] + [("bulk", 128)]


@pytest.fixture
def ideal():
    """A machine in which only loads (1000 ns) and products (500 ns a CTA, one after the other) take time."""
    product = tuple(500.0 * k for k in range(1, 7))
    nothing = (0.0,) * 6
    kinds = [(load, store) for load in ("registers", "cp.async", "bulk") for store in ("threads", "bulk")]
    layouts = ("rows", "swizzled")
    return Machine(
        source="artificial",
        sms=10,
        launch=0.0,
        latency=dict.fromkeys(LOADS, 1000.0),
        issue=dict.fromkeys(LOADS, 1e-6),
        queue=dict.fromkeys(kinds, Queue((1e6, 2e6), (0.0, 1e-3))),
        handoff=dict.fromkeys(BOTH, 0.0),
        barrier=dict.fromkeys(BOTH, 0.0),
        store=0.0,
        bulk_store=0.0,
        product={(layout, n): product for layout in layouts for n in BOTH},
        meet={(how, layout, n): nothing for how in ("syncthreads", "pipeline") for layout in layouts for n in BOTH},
        put=dict.fromkeys(BOTH, nothing),
        epilogue={(store, x, n, w): nothing for store in STORES for x in layouts for n in BOTH for w in (0, 1, 2)},
        beside={(load, warps, n): nothing for load in ("cp.async", "bulk") for warps in (1, 2, 4) for n in BOTH},
    )


def ns_per_tile(machine, tiles=10_000, **shape):
    """Nanoseconds of an SM for each of its tiles."""
    p = Pipeline(**shape)
    return predict(p, machine, TileProblem(tiles, intensity=p.intensity)).ms * 1e6 / (tiles / machine.sms)


def near(value):
    return pytest.approx(value, rel=0.01)


def test_without_overlap_times_add_up(ideal):
    assert ns_per_tile(ideal, kind="serial", load="registers", stages=1) == near(1500)
    assert ns_per_tile(ideal, kind="serial", load="registers", stages=1, intensity=4) == near(3000)


def test_with_overlap_the_longer_one_counts(ideal):
    assert ns_per_tile(ideal, kind="double", load="registers", stages=2) == near(1000)
    assert ns_per_tile(ideal, kind="double", load="registers", stages=2, intensity=4) == near(2000)
    # of two stages one is being read: a single load is in flight, for which the product is too short
    assert ns_per_tile(ideal, kind="async", stages=2) == near(1000)
    assert ns_per_tile(ideal, kind="async", stages=3) == near(500)
    assert ns_per_tile(ideal, kind="unified", stages=3) == near(500)


@pytest.mark.parametrize(("stages", "expected"), [(1, 1500), (2, 750), (3, 500), (6, 500)])
def test_a_ring_hides_the_latency_when_it_is_deep_enough(ideal, stages, expected):
    # a stage is busy for 1000 ns of load and 500 ns of product
    assert ns_per_tile(ideal, kind="roles", stages=stages) == near(expected)


def test_more_ctas_share_a_wait(ideal):
    # CTAs that start together stay (nearly) in step: one wait of 1000 ns for k products of 500 ns
    times = [ns_per_tile(ideal, kind="serial", load="registers", stages=1, ctas=k) for k in (1, 2, 4)]
    assert times == pytest.approx([1500, 1000, 750], rel=0.03)


def test_memory_is_a_limit_whatever_is_in_flight(ideal):
    slow = dataclasses.replace(ideal, queue=dict.fromkeys(ideal.queue, Queue((1 / 900, 1 / 800), (100.0, 900.0))))
    for ctas, stages in ((1, 4), (2, 4), (4, 2)):
        assert ns_per_tile(slow, kind="roles", stages=stages, ctas=ctas) == pytest.approx(800, rel=0.02)
    p = predict(Pipeline(stages=6), slow, TileProblem(10_000))
    # Little's law: what is in flight is the traffic times the time that it takes
    assert p.stages_in_flight == pytest.approx((1000 + p.wait_ns) / 800, rel=0.02)


def test_a_storer_takes_the_store_off_the_compute_warps_until_it_is_slower(ideal):
    held = {key: ((400.0,) * 6 if key[0] == "threads" else zero) for key, zero in ideal.epilogue.items()}
    storing = dataclasses.replace(ideal, store=400.0, epilogue=held)
    assert ns_per_tile(storing, stages=6, store="threads") == near(900)
    assert ns_per_tile(storing, stages=6, store="storer", storer_warps=1) == near(500)
    slower = dataclasses.replace(ideal, store=700.0)
    assert ns_per_tile(slower, stages=6, store="storer", storer_warps=1) == near(700)


@pytest.mark.parametrize("tiles", [0, 1, 7, 25])
def test_few_tiles_and_none(ideal, tiles):
    p = predict(Pipeline(ctas=3, stages=4), ideal, TileProblem(tiles))
    products = min(-(-tiles // 10), 3)  # on the first SM, each by a CTA of its own, all at once
    assert p.ms * 1e6 == (near(1000 + 500 * products) if tiles else 0)
    shown = timeline(p)
    assert len(shown.spans) == 3 * products


def test_the_timeline_is_what_the_time_was_made_of(ideal):
    p = predict(Pipeline(stages=2, ctas=2), ideal, TileProblem(60))
    shown = timeline(p)
    assert shown.label == "modelled (artificial)" and shown.unit == "ns" and shown.stages == 2
    assert max(span.end for span in shown.spans) == near(p.ms * 1e6)
    where = {(s.block, s.work, s.item): s for s in shown.spans}
    for (block, work, item), span in where.items():
        if work == "compute":
            assert where[block, "load", item].end <= span.start and span.end <= where[block, "store", item].start
        if work == "load" and item >= 2:
            assert where[block, "compute", item - 2].end <= span.start, "the stage was still being read"
    rows = {}
    for span in shown.spans:
        assert rows.get((span.block, span.warp), 0) <= span.start, "what shares a row does not overlap"
        rows[span.block, span.warp] = span.end


def test_impossible_pipelines_are_refused():
    with pytest.raises(ValueError, match="needs 2 stages"):
        Pipeline(kind="async", stages=1)
    with pytest.raises(ValueError, match="must be one of"):
        Pipeline(kind="magic")
    with pytest.raises(ValueError, match="1 to 6 CTAs"):
        Pipeline(ctas=7)
    with pytest.raises(KeyError, match="no kernel is called"):
        of("tile_99", {}, 1)


@pytest.mark.parametrize("spec", [*catalog.LADDER, *catalog.HOPPER], ids=lambda spec: spec.name)
def test_every_rung_has_a_pipeline(spec):
    p = of(spec.name, {}, 2)
    assert p.ctas == 2 and p.intensity == 1 and p.compute_threads == spec.defaults["COMPUTE_THREADS"]
    assert p.stages == spec.defaults.get("STAGES", p.stages)


def test_ctas_that_do_not_fit_on_an_sm_have_no_pipeline():
    with pytest.raises(ValueError, match="4 CTAs of 192.1 KiB need 768.4 KiB of shared memory, an SM has 224 KiB"):
        of("tile_06_bulk_copy", {"STAGES": 6}, 4)
    with pytest.raises(ValueError, match="a CTA needs 256.1 KiB of shared memory, an SM has 227 KiB for it"):
        of("tile_06_bulk_copy", {"STAGES": 8}, 1)
    assert of("tile_06_bulk_copy", {"STAGES": 1}, 6).ctas == 6
    assert of("tile_06_bulk_copy", {"STAGES": 6, "TILE": 32}, 4).stages == 6, "smaller tiles need less"


@pytest.mark.parametrize("name", ["tile-ladder", "hopper-ladder", "warps-sweep"])
def test_everything_that_has_been_measured_fits(name):
    found = [m for m in record.load(name).measurements if pipeline.misfit(m.kernel, m.params, m.ctas_per_sm)]
    assert not found


def test_an_ablation_without_one_says_so():
    with pytest.raises(KeyError, match="knows no pipeline of tile_06_placement"):
        of("tile_06_placement", {}, 1)


# ---- against the records ----


@pytest.fixture(scope="module")
def h200():
    return pipeline.machine(micro.load("NVIDIA H200"))


def packaged():
    return [name for name in ("tile-ladder", "hopper-ladder") if list(record.RECORDS.glob(f"*_{name}.json"))]


@pytest.mark.parametrize("name", packaged())
def test_half_of_the_predictions_are_within_15_percent(h200, name):
    found = errors(record.load(name, "NVIDIA H200"), h200)
    print(error_table(found))
    assert len(found) > 90
    assert median_error(found) < 0.15, error_table(found)


def test_the_model_reads_nothing_from_the_records_of_the_ladder(h200, monkeypatch):
    """It computes the same where there is no record to read, and its module does not know where records are."""
    monkeypatch.setattr(record, "RECORDS", record.RECORDS / "nowhere")
    with pytest.raises(FileNotFoundError):
        record.load("tile-ladder")
    again = pipeline.machine(micro.load("NVIDIA H200"))
    assert again == h200
    p = of("tile_06_bulk_copy", {"STAGES": 3}, 2)
    assert predict(p, again, TileProblem(16384)).ms == predict(p, h200, TileProblem(16384)).ms
    opened = (
        "import sys; files = []; sys.addaudithook(lambda name, a: files.append(str(a[0])) if name == 'open' else None);"
        "from ws_course.model import pipeline as p; from ws_course.problem import TileProblem;"
        "p.predict(p.of('tile_00_one_buffer', {}, 1), p.machine(), TileProblem(999));"
        "print(*{f for f in files if '/records/' in f})"
    )
    done = subprocess.run([sys.executable, "-c", opened], capture_output=True, text=True, check=True)
    read = done.stdout.split()
    assert read and all("/records/micro/" in path for path in read)


def test_the_micro_benchmarks_can_be_believed():
    found = micro.load("NVIDIA H200")
    assert found.label == f"recorded (NVIDIA H200, {found.date})" and found.device["clocks"]["before"]
    alone, all_sms = (found.stage_ns("bulk", "none", stages=1, sms=sms) for sms in (1, 132))
    assert 500 < alone < all_sms < 5000  # ns: a load waits longer when all SMs load
    # nothing is faster than the memory: 4.8 TB/s (NVIDIA H200 data sheet)
    for s in found.streams:
        if s.sms > 1:
            read, written = s.kind != "none", s.store != "none"
            moved = s.tiles * (read * micro.STAGE + written * micro.TILE)
            assert moved / (s.ms * 1e-3) < 4.8e12, s
    # nor than the multipliers: 128 fp32 lanes at 1.98 GHz
    assert found.work_ns("product") > 64**3 / 128 / 1.98
    for p in found.products:
        assert p.ms > 0 and (p.loaded > 0) == (p.background != "none")


def test_a_micro_benchmark_survives_the_file(tmp_path):
    found = micro.load("NVIDIA H200")
    assert micro.read(found.save(tmp_path / "x.json")) == found
    with pytest.raises(KeyError, match="0 measurements"):
        found.stage_ns("bulk", "none", 77)
    wrong = dataclasses.replace(found, launch_ms=(0.0,))
    with pytest.raises(ValueError, match="no times"):
        micro.read(wrong.save(tmp_path / "y.json"))


@pytest.mark.gpu
def test_micro_benchmarks_run_live(tmp_path):
    found = micro.measure(rounds=3, say=lambda text: None)
    assert found.live and found.label.startswith("measured now")
    assert pipeline.machine(found).source.startswith("micro-benchmarks now")
    assert micro.read(found.save(tmp_path / "x.json")).products == found.products
