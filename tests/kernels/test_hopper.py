"""The kernels that need Hopper: right and silent in the emulator, compiled for its chips, planted mistakes found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from ws_course.build import nvrtc
from ws_course.faults import FaultKind
from ws_course.kernels.catalog import ALL, HOPPER, get
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel, tiles

KERNELS = [spec for spec in ALL if "sm_80" not in spec.archs]
SEEDS = 5
each = pytest.mark.parametrize("spec", KERNELS, ids=lambda spec: spec.name)


def small(spec):
    """Return the smallest tile and block that the file allows: the same protocol, in less time."""
    constants = {"TILE": 16, "COMPUTE_THREADS": 32, "LOADER_WARPS": 1}
    if spec.maps or spec.name == "tile_06_four_by_eight":
        constants |= {"TILE": 32, "COMPUTE_THREADS": 64}
    if "CTAS" in spec.defaults or spec.name == "tile_06_placement":
        constants |= {"TILE": 32, "COMPUTE_THREADS": 128}
    return {name: value for name, value in constants.items() if name in spec.defaults}


def launch(spec, count, clusters, source=None, seeds=SEEDS, counter=None, **params):
    """Run ``count`` tiles on so many clusters (of one CTA, for most) in the emulator; return result and problem."""
    constants = spec.defines(**{**small(spec), **params})
    problem = TileProblem(count, constants["TILE"], constants["INTENSITY"], count, constants["SHARE"])
    given = tiles.arguments(spec, *problem.inputs(), problem.output())
    if counter is not None:
        given = (*given[:-1], counter)
    kernel = Kernel(source or spec.source, spec.name, spec.path.name, constants)
    result = kernel.run(
        *given,
        grid=clusters * spec.cluster(**constants),
        block=spec.block(**constants),
        cluster=spec.cluster(**constants),
        smem=spec.smem(**constants),
        backend="emulator",
        seeds=seeds,
    )
    return result, problem


def assert_right(result, problem, spec):
    assert result.ok, str(result)
    assert len(result.outputs) == len(result.seeds)
    for arrays in result.outputs:
        if problem.tiles:
            c = arrays[2].reshape(problem.shape)
            np.testing.assert_allclose(c, problem.reference(), rtol=0, atol=problem.tolerance)
        if spec.counter:
            assert arrays[-1] == [0], "the counter is back at 0 for the next launch"


@each
@pytest.mark.parametrize(("count", "clusters"), [(0, 3), (1, 4), (5, 1), (13, 3)])
def test_equals_numpy_and_is_silent(spec, count, clusters):
    result, problem = launch(spec, count, clusters)
    assert_right(result, problem, spec)
    assert len(result.seeds) == SEEDS


CONSTANTS = [
    {"TILE": 64, "COMPUTE_THREADS": 128, "STAGES": 1, "INTENSITY": 2, "SHARE": 2},
    {"LOADER_WARPS": 3, "TILE": 64, "COMPUTE_THREADS": 256, "STAGES": 2, "SHARE": 3},
    {"CTAS": 1, "TILE": 64, "COMPUTE_THREADS": 256, "STAGES": 2, "SHARE": 3},
    {"CTAS": 3, "STAGES": 4},
    {"SCHEDULE": 1, "STAGES": 2, "SHARE": 2},
    {"SCHEDULERS": 1},
    {"SCHEDULERS": 2, "SHARE": 8},
    {"CLUSTER": 1, "SHARE": 1},
    {"CLUSTER": 2, "SHARE": 2, "STAGES": 1},
    {"CLUSTER": 4, "STAGES": 4},
    {"CLUSTER": 8, "STAGES": 2},
]
VARIANTS = [(spec, params) for spec in KERNELS for params in CONSTANTS if set(params) <= set(spec.defaults)]


@pytest.mark.parametrize(("spec", "params"), VARIANTS, ids=lambda v: getattr(v, "name", None) or str(v))
def test_constants(spec, params):
    result, problem = launch(spec, 5 if params.get("TILE") == 64 else 11, 2, seeds=2, **params)
    assert_right(result, problem, spec)


@pytest.mark.parametrize("schedule", [1, 2])
def test_the_counter_serves_one_launch_after_another(schedule):
    spec, counter = get("tile_09_persistent"), np.zeros(1, np.int32)
    for count, grid in ((5, 2), (0, 2), (2, 4), (9, 3)):
        result, problem = launch(spec, count, grid, seeds=1, counter=counter, SCHEDULE=schedule)
        assert_right(result, problem, spec)
        assert counter == [0]


# planted mistakes: a text of one part of the file (or several) is changed, and these faults say so

DEADLOCK, RACE, MISUSE = FaultKind.DEADLOCK, FaultKind.RACE, FaultKind.BARRIER_MISUSE
UNINITIALISED, NO_FENCE = FaultKind.UNINITIALISED_READ, FaultKind.MISSING_PROXY_FENCE
OUTSIDE, GONE = FaultKind.OUT_OF_BOUNDS, FaultKind.DSMEM_AFTER_EXIT


class Mistake(NamedTuple):
    """A mistake: ``old`` becomes ``new`` between the anchors of ``parts``, and one of ``kinds`` is reported."""

    name: str
    parts: str
    old: str
    new: str
    kinds: set[FaultKind]

    def planted(self, spec):
        source = spec.source
        for part in self.parts.split():
            right = spec.excerpt(part)
            assert self.old in right
            source = source.replace(right, right.replace(self.old, self.new))
        return source


RELEASE, CLEARS = "consumer_release(s, at);", "float4 c[ROWS] = {};"
EXPECTS, ARRIVES = "producer_expect(s, at);", "ptx::mbarrier_arrive(&s.full[at.stage]);"
FENCE = "ptx::fence_proxy_async(ptx::space_shared);"
HAS_READ = "ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());"

READER = [  # what every rung has
    Mistake("the consumer does not wait", "compute", "consumer_wait(s, at);", "", {RACE, UNINITIALISED}),
    Mistake("the release comes early", "compute", CLEARS, RELEASE + CLEARS, {RACE, MISUSE}),
]
RING = [  # what all rings have, word for word
    Mistake("the producer waits for parity 0", "load", "at{0, 1};", "at{0, 0};", {DEADLOCK}),
    Mistake("nobody releases", "compute", RELEASE, "", {DEADLOCK}),
    Mistake("parity never flips", "ring", "parity ^= 1;", "", {DEADLOCK, RACE, UNINITIALISED, MISUSE}),
]
BYTES = [
    Mistake("too few bytes", "ring", "STAGE_BYTES);", "STAGE_BYTES / 2);", {MISUSE, RACE}),
    Mistake("too many bytes", "ring", "STAGE_BYTES);", "STAGE_BYTES + 16);", {DEADLOCK}),
    Mistake("no bytes announced", "load", EXPECTS, ARRIVES, {MISUSE, RACE}),
]
START = Mistake("the CTA alone at the start", "kernel", "cluster.sync();  // b", "__syncthreads();  // b", {RACE})
END = Mistake("no cluster barrier at the end", "kernel", "cluster.sync();  // nobody", "// nobody", {GONE})
READY = [
    Mistake("the loader does not await ready", "load", "wait(s.ready[at.stage], at.parity ^ 1);", "", {RACE}),
    Mistake("all bytes where no tile is", "load", "tile < tiles ? STAGE_BYTES : TILE_BYTES", "STAGE_BYTES", {DEADLOCK}),
    Mistake("a CTA without a tile takes no B", "load compute", "first < tiles;", "first + rank < tiles;", {DEADLOCK}),
]
AT_HOME = "[at.stage], cg::this_cluster().block_rank())"
OWN = {
    "tile_05_mbarrier_ring": [
        *RING,
        Mistake(
            "the arrival does not wait for the copies",
            "ring",
            "cp_async_mbarrier_arrive_noinc(",
            "mbarrier_arrive(",
            {RACE, UNINITIALISED},
        ),
        Mistake("full counts a warp more", "kernel", "[i], LOADER_THREADS)", "[i], LOADER_THREADS + 32)", {DEADLOCK}),
    ],
    "tile_06_bulk_copy": [
        *BYTES,
        Mistake("every loader thread loads", "kernel", "x == 0) {\n    load", "x < 32) {\n    load", {MISUSE}),
    ],
    "tile_07_tma_tensor": [
        BYTES[0],
        Mistake("no fence before TMA reads C", "store", FENCE, "", {NO_FENCE}),
        Mistake("the block ends before TMA has read C", "compute", "if (thread == 0) " + HAS_READ, "", {GONE}),
        Mistake("C is stored before it is written", "store", "wait(s.c_full, parity);", "", {RACE, NO_FENCE}),
        Mistake("C is overwritten too early", "store", "wait(s.c_empty, parity);", "", {RACE}),
    ],
    "tile_08_registers": [],  # reads and stores as tile_07, word for word; what is its own has a test of its own
    "tile_09_persistent": [
        Mistake("no fence before TMA reads C", "compute", FENCE, "", {NO_FENCE}),
        Mistake("the storer does not release", "store", RELEASE, "", {DEADLOCK}),
        Mistake("C is given back before it was read", "store", HAS_READ, "", {RACE}),
        Mistake("the end is not announced", "load", "s.tile[at.stage] = END;\n  " + ARRIVES, "", {DEADLOCK}),
        Mistake(
            "the tile's number comes after the arrival",
            "load",
            "s.tile[at.stage] = tile;\n    " + EXPECTS,
            EXPECTS + " s.tile[at.stage] = tile;",
            {RACE, UNINITIALISED},
        ),
    ],
    "tile_10_cluster_dsmem": [
        START,
        END,
        *READY,
        Mistake("ready is told at home", "ready", "[at.stage], LEADER)", AT_HOME, {DEADLOCK}),
        Mistake("ready counts one CTA", "kernel", "(&s.ready[i], CLUSTER)", "(&s.ready[i], 1)", {DEADLOCK}),
        Mistake("the sender does not await ready", "send", "wait(s.ready[at.stage], at.parity);", "", {RACE}),
        Mistake("the sender does not await full", "send", "consumer_wait(s, at);", "", {RACE, UNINITIALISED}),
        Mistake(
            "the bytes are counted at home", "send", "(&s.full[at.stage], rank)", "(&s.full[at.stage], 0)", {DEADLOCK}
        ),
        Mistake("B is sent to oneself", "send", "(s.b[at.stage], rank)", "(s.b[at.stage], LEADER)", {RACE}),
    ],
    "tile_11_cluster_multicast": [
        START,  # and no END: all that comes from other CTAs has been waited for by then
        *READY,
        Mistake("the mask lacks the leader", "load", "(1u << CLUSTER) - 1", "(1u << CLUSTER) - 2", {DEADLOCK}),
        Mistake("the mask lacks the last CTA", "load", "(1u << CLUSTER) - 1", "(1u << CLUSTER) / 2 - 1", {DEADLOCK}),
        Mistake("the mask has a CTA too many", "load", "(1u << CLUSTER) - 1", "(2u << CLUSTER) - 1", {OUTSIDE}),
        Mistake("only the leader gets B", "load", "multicast(s.b", "copy(s.b", {DEADLOCK}),
    ],
    "tile_10_cluster_read": [
        START,
        END,
        Mistake("b_empty is not awaited", "load", "wait(s.b_empty[at.stage], at.parity);", "", {RACE}),
        Mistake("b_empty counts one CTA", "kernel", "CLUSTER * COMPUTE_THREADS / 32", "COMPUTE_THREADS / 32", {RACE}),
        Mistake("b_empty is told at home", "ring", "[at.stage], LEADER)", AT_HOME, {DEADLOCK}),
        Mistake("b_full is not awaited", "compute", "b_wait(s, at);", "", {RACE}),
        Mistake(
            "b_full is told at home", "announce", "announce_to(s, at, rank);", "announce_to(s, at, LEADER);", {DEADLOCK}
        ),
        Mistake("B is announced before it has landed", "announce", "consumer_wait(s, at);", "", {RACE, DEADLOCK}),
        Mistake("lane 0 does not wait for its warp", "compute", "__syncwarp();", "", {RACE}),
        Mistake(
            "B is read at home",
            "compute",
            "cluster.map_shared_rank(s.b[at.stage], LEADER)",
            "s.b[at.stage]",
            {UNINITIALISED},
        ),
    ],
}
ONCE_MORE = [mistake for mistake in OWN["tile_09_persistent"] if mistake.parts == "load" or mistake.old == RELEASE]
PLANTED = [
    *((spec, {}, mistake) for spec in HOPPER if spec.name != "tile_08_registers" for mistake in READER),
    *((get(name), {}, mistake) for name, mistakes in OWN.items() for mistake in mistakes),
    *((get("tile_09_persistent"), {"SCHEDULE": 1}, mistake) for mistake in ONCE_MORE),
]


@pytest.mark.parametrize(
    ("spec", "params", "mistake"), PLANTED, ids=lambda value: getattr(value, "name", None) or str(value or "")
)
def test_a_planted_mistake_is_found(spec, params, mistake):
    count = 15 if "CLUSTER" in spec.defaults else 7  # the last cluster has a CTA without a tile
    result, _ = launch(spec, count, 2, mistake.planted(spec), STAGES=2, **params)
    assert {fault.kind for fault in result.faults} & mistake.kinds, str(result)


def test_no_mistake_is_planted_without_a_rung_to_hold_it():
    assert {spec.name for spec in HOPPER} <= set(OWN) <= {spec.name for spec in KERNELS}


def test_registers_that_nobody_gave_back_are_waited_for():
    spec, gives = get("tile_08_registers"), "    ws::setmaxnreg_dec<LOADER_REGISTERS>();  // all four warps\n"
    assert gives in spec.source
    result, _ = launch(spec, 2, 1, spec.source.replace(gives, ""), TILE=64, COMPUTE_THREADS=256, CTAS=1)
    assert {fault.kind for fault in result.faults} == {DEADLOCK} and "registers" in str(result)


@pytest.mark.parametrize("name", ["tile_07_direct_store", "tile_09_persistent"])
def test_a_forgotten_swizzle_gives_wrong_values(name):
    spec = get(name)
    source = spec.source.replace("return i ^ (i / 8 % 8);", "return i;")
    assert source != spec.source
    result, problem = launch(spec, 2, 1, source, seeds=1)
    assert result.ok, "it is no race"
    c = result.outputs[0][2].reshape(problem.shape)
    assert not np.allclose(c, problem.reference(), rtol=0, atol=problem.tolerance)


# the files


def under(spec, params, check):
    """Return the declarations of a file once more, under other constants, with a check of them."""
    first, last = (spec.source.index(text) for text in ("constexpr int TILE_FLOATS", "// [ring]"))
    constants = "".join(f"#undef {name}\n#define {name} {value}\n" for name, value in spec.defines(**params).items())
    space = "with" + "".join(f"_{name}_{value}" for name, value in params.items())
    return f"\n{constants}namespace {space} {{\n{spec.source[first:last]}\nstatic_assert({check});\n}}\n"


POOL = "THREADS * LAUNCH_REGISTERS >= LOADER_THREADS * LOADER_REGISTERS + COMPUTE_THREADS * COMPUTE_REGISTERS"
SIZES = [{}, {"STAGES": 1}, {"STAGES": 4, "TILE": 32}, {"CLUSTER": 8}, {"CTAS": 3}, {"CTAS": 1, "COMPUTE_THREADS": 256}]


@each
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_compiles_without_a_warning_and_to_the_catalogs_sizes(spec, arch):
    assert arch in spec.archs
    source = spec.source + "\n#pragma nv_diag_suppress 177\n"  # from here on, declarations that nobody uses
    for params in SIZES:
        if set(params) <= set(spec.defaults):
            size = spec.smem(**params)
            check = f"sizeof(SharedStorage) == {size}"
            if "CTAS" in spec.defaults:  # the registers of all roles fit the pool, and compute warps get no fewer
                check += f" && {POOL} && COMPUTE_REGISTERS >= LAUNCH_REGISTERS"
            source += under(spec, params, check)
    cubin = nvrtc.compile_cubin(source, spec.name, file=spec.path.name, defines=spec.defines(), arch=arch)
    assert cubin.image.startswith(b"\x7fELF") and cubin.log == ""
    pointers = {"A": "const float32*", "B": "const float32*", "C": "float32*"}
    matrices = ["128-byte type" if name in spec.maps else pointer for name, pointer in pointers.items()]
    assert [str(p) for p in cubin.parameters] == [*matrices, "int32", *(["int32*"] if spec.counter else [])]
