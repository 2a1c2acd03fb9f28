"""Timelines measured on a GPU: every span that a kernel marks is there, in order, within the kernel's time."""

import itertools
from collections import Counter

import numpy as np
import pytest

from ws_course import device
from ws_course.kernels import catalog
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel, Window, tiles
from ws_course.trace import store
from ws_course.trace.record import record
from ws_course.trace.run import timeline

pytestmark = pytest.mark.gpu

GPUS = device.driver().gpus
EVERYTHING = ("load", "compute", "store")
ROLES = {  # which warps mark what, with default constants
    "tile_00_one_buffer": {EVERYTHING: range(4)},
    "tile_04_pipeline_roles": {("load",): range(2), ("compute",): range(2, 6), ("store",): range(6, 8)},
    "tile_05_mbarrier_ring": {("load",): range(2), ("compute", "store"): range(2, 6)},
    "tile_06_bulk_copy": {("load",): range(1), ("compute", "store"): range(1, 5)},
    "tile_08_registers": {("load",): range(1), ("compute", "store"): range(4, 8)},
}
each = pytest.mark.parametrize("name", ROLES)

CLOCKS = Kernel(
    """
    extern "C" __global__ void clocks(unsigned long long* ns, unsigned long long* cycles, int n) {
      for (int i = 0; i < n; ++i) {
        unsigned long long t, c;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(c));
        ns[i] = t;
        cycles[i] = c;
      }
    }""",
    "clocks",
)


def run(name, problem, grid, trace=True, backend="gpu", **params):
    spec = catalog.get(name)
    if "sm_80" not in spec.archs and GPUS and GPUS[0].capability < (9, 0):
        pytest.skip("mbarrier waits and TMA need Hopper or later")
    params = {"TILE": problem.tile, "INTENSITY": problem.intensity, **params}
    given = tiles.arguments(spec, *problem.inputs(), c := problem.output())
    result = Kernel(spec.source, spec.name, spec.path.name, spec.defines(**params)).run(
        *given, grid=grid, block=spec.block(**params), smem=spec.smem(**params), backend=backend, trace=trace
    )
    assert result.ok, str(result)
    np.testing.assert_allclose(c, problem.reference(), rtol=0, atol=problem.tolerance)
    return result


def marked(spans):
    return Counter((s.block, s.warp, s.work, s.item) for s in spans if s.work != "wait")


def by_warp(spans):
    warps = {}
    for span in spans:
        warps.setdefault((span.block, span.warp), []).append(span)
    return warps


@each
def test_every_warp_marks_its_work_once_a_tile(name):
    result = run(name, TileProblem(7, tile=32), 2)
    expected = {
        (block, warp, work, tile)
        for works, warps in ROLES[name].items()
        for warp, work, tile in itertools.product(warps, works, range(7))
        for block in (tile % 2,)
    }
    assert marked(result.spans) == Counter(expected)
    assert result.stats["trace"]["lost"] == 0


@each
def test_times_are_in_order_and_within_the_kernel(name):
    problem = TileProblem(132 * 12)
    result = run(name, problem, 132)
    trace = result.stats["trace"]
    clock = {key: trace[key] for key in ("tick_ns", "mhz", "fitted", "error_ns")}
    print(f"{name}: {result.seconds * 1e6:.1f} us, {len(result.spans)} spans, {clock}")
    assert min(span.start for span in result.spans) == 0
    assert max(span.end for span in result.spans) <= result.seconds * 1e9
    assert max(span.end for span in result.spans) >= problem.bytes / 2e4, "no GPU moves 20 TB/s"
    works = [span for span in result.spans if span.work != "wait"]
    assert len(works) == len(set((s.block, s.warp, s.work, s.item) for s in works)), "a warp speaks once"
    for spans in by_warp(result.spans).values():
        assert all(span.end >= span.start for span in spans)
        overlaps = [(a, b) for a, b in zip(spans, spans[1:], strict=False) if a.end > b.start]
        assert not overlaps, overlaps[:5]
    assert trace["fitted"] and 500 < trace["mhz"] < 4000
    assert trace["error_ns"] < 3 * trace["tick_ns"], "after the fit, SM clocks and the shared clock agree"
    assert set(trace["sms"]) == set(range(132)) and set(trace["sms"].values()) <= set(range(GPUS[0].sms))
    loads = {(s.block, s.item): s for s in result.spans if s.work == "load" and s.warp == 0}
    computes = [s for s in result.spans if s.work == "compute"]
    early = [(loads[s.block, s.item], s) for s in computes if s.start < loads[s.block, s.item].end]
    assert computes and not early, f"computed before it was loaded: {len(early)}, such as {early[:5]}"


def test_a_window_keeps_what_it_says():
    grid, first, last = 132, 132 * 24, 132 * 32
    problem = TileProblem(132 * 40)
    result = run("tile_04_pipeline_roles", problem, grid, trace=Window(2, 16, first, last))
    kept = [span for span in result.spans if span.work != "wait"]
    assert {span.block for span in kept} == {0, 1} and {span.item for span in kept} <= set(range(first, last))
    assert len(kept) == 2 * 8 * (2 + 4 + 2) and result.stats["trace"]["lost"] == 0
    result = run("tile_04_pipeline_roles", problem, grid, trace=Window(1, 5, first, last))
    assert result.stats["trace"]["lost"] == 8 * (8 - 5)
    assert marked(result.spans).total() == 8 * 5


def test_a_timeline_is_measured_now():
    found = timeline("tile_04_pipeline_roles", TileProblem(132 * 12), backend="gpu", keep=range(4, 8))
    assert found.label == f"measured now ({GPUS[0].name})" and (found.unit, found.stages) == ("ns", 2)
    assert {span.block for span in found.spans} == {0}
    assert len({span.item for span in found.spans if span.work == "compute"}) == 4


@pytest.mark.skipif(bool(GPUS) and GPUS[0].capability < (9, 0), reason="clusters and TMA need Hopper or later")
def test_timelines_are_recorded_with_what_tracing_cost(tmp_path):
    names = ["tile_00_one_buffer", "tile_05_mbarrier_ring", "tile_09_persistent", "tile_11_cluster_multicast"]
    found = record(names, tiles=132 * 48)
    assert [one.kernel for one in found] == names
    for one in found:
        assert one.facts["check"]["ok"] and one.facts["clock"]["lost"] == 0
        assert 0.9 < one.facts["cost"]["piece"] < 1.5 and 0.9 < one.facts["cost"]["all"] < 3
        works = [span for span in one.spans if span.work != "wait"]
        assert {span.block for span in works} == set(range(one.facts["launch"]["cluster"]))
        assert 5 <= len({span.item for span in works if span.block == 0}) <= 12
        back = store.read(store.save(one, tmp_path / store.file_name(one)))
        assert back.spans == one.spans and back.label.startswith(f"recorded ({GPUS[0].name}, ")
        assert (tmp_path / store.file_name(one)).stat().st_size < 64 << 10


def test_without_tracing_there_are_no_spans():
    result = run("tile_00_one_buffer", TileProblem(3), 2, trace=False)
    assert result.spans == () and "trace" not in result.stats


def test_a_kernel_that_marks_nothing_has_no_spans():
    x = np.zeros(32, np.float32)
    source = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1; }'
    result = Kernel(source, "k").run(x, grid=1, block=32, backend="gpu", trace=True)
    assert result.ok and result.spans == () and x.all()


def test_how_finely_the_shared_clock_ticks():
    count = 20000
    ns, cycles = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    assert CLOCKS.run(ns, cycles, count, grid=1, block=1, backend="gpu").ok
    steps = np.diff(np.unique(ns).astype(np.int64))
    each = float(np.median(np.diff(cycles.astype(np.int64))))
    mhz = 1e3 * float(cycles[-1] - cycles[0]) / float(ns[-1] - ns[0])
    print(f"globaltimer ticks every {steps.min()} to {steps.max()} ns; a round is {each:.0f} cycles; {mhz:.0f} MHz")
    assert 1 <= steps.min() <= 1100 and 500 < mhz < 4000
