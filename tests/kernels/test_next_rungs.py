"""The rungs after the ladder: right and silent in the emulator, compiled for every chip, planted mistakes found."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ws_course.build import nvrtc
from ws_course.faults import FaultKind
from ws_course.kernels.catalog import HOPPER, get
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel, tiles

SEEDS = 5
SMALL = {
    "tile_05_mbarrier_ring": {"TILE": 16, "COMPUTE_THREADS": 32, "LOADER_WARPS": 1},
    "tile_06_bulk_copy": {"TILE": 16, "COMPUTE_THREADS": 32},
    "tile_07_tma_tensor": {"TILE": 32, "COMPUTE_THREADS": 64},
    "tile_08_registers": {"TILE": 32, "COMPUTE_THREADS": 128},
    "tile_09_persistent": {"TILE": 32, "COMPUTE_THREADS": 128},
}
"""The smallest tile and block that each file allows: the same protocol, in less time."""

each = pytest.mark.parametrize("spec", HOPPER, ids=lambda spec: spec.name)


def launch(spec, count, grid, source=None, seeds=SEEDS, seed=0, counter=None, **params):
    """Run a rung in the emulator; return the result and what it should have written."""
    constants = spec.defines(**{**SMALL[spec.name], **params})
    problem = TileProblem(count, constants["TILE"], constants["INTENSITY"], seed)
    given = tiles.arguments(spec, *problem.inputs(), problem.output())
    if counter is not None:
        given = (*given[:-1], counter)
    kernel = Kernel(source or spec.source, spec.name, spec.path.name, constants)
    result = kernel.run(
        *given,
        grid=grid,
        block=spec.block(**constants),
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
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize(("count", "grid"), [(0, 3), (1, 4), (3, 1), (7, 2), (11, 3)])
def test_equals_numpy_and_is_silent(spec, stages, count, grid):
    result, problem = launch(spec, count, grid, seed=count, STAGES=stages)
    assert_right(result, problem, spec)
    assert len(result.seeds) == SEEDS


VARIANTS = [
    (spec, params)
    for spec in HOPPER
    for params in (
        {"INTENSITY": 3},
        {"STAGES": 4},
        {"LOADER_WARPS": 3},
        {"TILE": 64, "COMPUTE_THREADS": 128},
        {"TILE": 64, "COMPUTE_THREADS": 256},
        {"TILE": 64, "COMPUTE_THREADS": 256, "CTAS": 1},
        {"CTAS": 3},
    )
    if set(params) <= set(spec.defaults)
]


@pytest.mark.parametrize(("spec", "params"), VARIANTS, ids=lambda v: getattr(v, "name", None) or str(v))
def test_constants(spec, params):
    result, problem = launch(spec, 3, 2, seeds=2, **params)
    assert_right(result, problem, spec)


def test_the_counter_serves_one_launch_after_another():
    spec, counter = get("tile_09_persistent"), np.zeros(1, np.int32)
    for count, grid in ((5, 2), (0, 2), (2, 4), (9, 3)):
        result, problem = launch(spec, count, grid, seeds=1, counter=counter)
        assert_right(result, problem, spec)
        assert counter == [0]


# planted mistakes: the file with one line changed, and the faults that say so

PRODUCER_STARTS = "PipelineState at{0, 1};"
RELEASE = "    consumer_release(s, at);  // empty[stage]: I have read it\n"
FENCE = "  ptx::fence_proxy_async(ptx::space_shared);  // my ordinary writes -> seen by the copy engine\n"
TAKES_REGISTERS = "    ws::setmaxnreg_dec<LOADER_REGISTERS>();  // all four warps\n"
DEADLOCK, RACE, MISUSE = FaultKind.DEADLOCK, FaultKind.RACE, FaultKind.BARRIER_MISUSE
UNINITIALISED, NO_FENCE = FaultKind.UNINITIALISED_READ, FaultKind.MISSING_PROXY_FENCE

RING = [  # every rung has a ring
    ("the producer waits for parity 0", PRODUCER_STARTS, "PipelineState at{0, 0};", {DEADLOCK}),
    ("the consumer does not wait", "    consumer_wait(s, at);  // full[stage]: ", "    // ", {RACE, UNINITIALISED}),
    ("nobody releases", RELEASE, "", {DEADLOCK}),
    ("parity never flips", "      parity ^= 1;  // once", "      // once", {DEADLOCK, RACE, UNINITIALISED, MISUSE}),
    ("the release comes early", "    float4 c[ROWS] = {};\n", RELEASE + "    float4 c[ROWS] = {};\n", {RACE, MISUSE}),
]
BYTES = [  # every rung that counts bytes
    ("too few bytes", "&s.full[at.stage], STAGE_BYTES);", "&s.full[at.stage], STAGE_BYTES / 2);", {MISUSE, RACE}),
    ("too many bytes", "&s.full[at.stage], STAGE_BYTES);", "&s.full[at.stage], STAGE_BYTES + 16);", {DEADLOCK}),
    (
        "no bytes announced",
        "  producer_expect(s, at);  //",
        "  ptx::mbarrier_arrive(&s.full[at.stage]);  //",
        {MISUSE, RACE},
    ),
]
SWIZZLED = [
    ("no fence before TMA reads C", FENCE, "", {NO_FENCE}),
]
ENDS_EARLY = (
    "the block ends before TMA has read C",
    "  if (thread == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());  // shared memory must outlive",
    "  // shared memory must outlive",
    {FaultKind.DSMEM_AFTER_EXIT},
)
OWN = {
    "tile_05_mbarrier_ring": [
        (
            "the arrival does not wait for the copies",
            "ptx::cp_async_mbarrier_arrive_noinc(&s.full[at.stage]);",
            "ptx::mbarrier_arrive(&s.full[at.stage]);",
            {RACE, UNINITIALISED},
        ),
        ("full counts a warp more", "(&s.full[i], LOADER_THREADS)", "(&s.full[i], LOADER_THREADS + 32)", {DEADLOCK}),
    ],
    "tile_06_bulk_copy": [
        (
            "every loader thread loads",
            "if (threadIdx.x == 0) {\n    load",
            "if (threadIdx.x < 32) {\n    load",
            {MISUSE},
        ),
    ],
    "tile_07_tma_tensor": [
        ENDS_EARLY,
        (
            "C is stored before it is written",
            "    wait(s.c_full, parity);  // c_full",
            "    // c_full",
            {RACE, NO_FENCE},
        ),
        ("C is overwritten too early", "  wait(s.c_empty, parity);  // c_empty", "  // c_empty", {RACE}),
    ],
    "tile_08_registers": [ENDS_EARLY],  # its own mistake needs a larger block: see the next test
    "tile_09_persistent": [
        (
            "the storer does not release",
            "    consumer_release(s, at);  // empty[stage]: I have read the number\n",
            "",
            {DEADLOCK},
        ),
        (
            "C is given back before it was read",
            "    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());\n    ptx::mbarrier_arrive(&s.c_empty);",
            "    ptx::mbarrier_arrive(&s.c_empty);",
            {RACE},
        ),
        (
            "the end is not announced",
            "  s.tile[at.stage] = END;\n  ptx::mbarrier_arrive(&s.full[at.stage]);",
            "  ",
            {DEADLOCK},
        ),
        (
            "the tile's number comes after the arrival",
            "    s.tile[at.stage] = tile;\n    producer_expect(s, at);",
            "    producer_expect(s, at); s.tile[at.stage] = tile;",
            {RACE, UNINITIALISED},
        ),
    ],
}


def planted():
    for spec in HOPPER:
        level = int(spec.name[5:7])
        for name, old, new, kinds in RING + BYTES * (level >= 6) + SWIZZLED * (level >= 7) + OWN[spec.name]:
            yield pytest.param(spec, old, new, kinds, id=f"{spec.name[5:7]}: {name}")


@pytest.mark.parametrize(("spec", "old", "new", "kinds"), list(planted()))
def test_a_planted_mistake_is_found(spec, old, new, kinds):
    assert old in spec.source
    result, _ = launch(spec, 7, 2, spec.source.replace(old, new), STAGES=2)
    assert {fault.kind for fault in result.faults} & kinds, str(result)


def test_registers_that_nobody_gave_back_are_waited_for():
    spec = get("tile_08_registers")
    assert TAKES_REGISTERS in spec.source
    result, _ = launch(spec, 2, 1, spec.source.replace(TAKES_REGISTERS, ""), TILE=64, COMPUTE_THREADS=256, CTAS=1)
    assert {fault.kind for fault in result.faults} == {DEADLOCK} and "registers" in str(result)


@pytest.mark.parametrize("name", ["tile_07_tma_tensor", "tile_08_registers", "tile_09_persistent"])
def test_a_forgotten_swizzle_gives_wrong_values(name):
    spec = get(name)
    source = spec.source.replace("return i ^ (i / 8 % 8);", "return i;")
    assert source != spec.source
    result, problem = launch(spec, 2, 1, source, seeds=1)
    assert result.ok, "it is no race"
    c = result.outputs[0][2].reshape(problem.shape)
    assert not np.allclose(c, problem.reference(), rtol=0, atol=problem.tolerance)


# the files


@each
def test_compiles_without_a_warning(spec):
    assert spec.archs == ("sm_90a", "sm_100a")
    for arch in spec.archs:
        cubin = nvrtc.compile_cubin(spec.source, spec.name, file=spec.path.name, defines=spec.defines(), arch=arch)
        assert cubin.image.startswith(b"\x7fELF") and cubin.log == ""
    pointers = {"A": "const float32*", "B": "const float32*", "C": "float32*"}
    matrices = ["128-byte type" if name in spec.maps else pointer for name, pointer in pointers.items()]
    wanted = [*matrices, "int32", *(["int32*"] if spec.counter else [])]
    assert [str(p) for p in cubin.parameters] == wanted


@each
@pytest.mark.parametrize("params", [{}, {"STAGES": 1}, {"STAGES": 4, "TILE": 32}], ids=str)
def test_the_shared_memory_is_what_the_struct_takes(spec, params):
    source = spec.source + f"\nstatic_assert(sizeof(SharedStorage) == {spec.smem(**params)});"
    nvrtc.compile_cubin(source, spec.name, file=spec.path.name, defines=spec.defines(**params), arch="sm_90a")


@each
def test_two_ctas_of_three_stages_share_an_sm(spec):
    assert 2 * (spec.smem() + 1024) <= 228 * 1024  # of an H100 or H200; a CTA takes 1 KiB for the system


@pytest.mark.parametrize("params", [{}, {"CTAS": 3}, {"CTAS": 1, "COMPUTE_THREADS": 256}], ids=str)
@pytest.mark.parametrize("name", ["tile_08_registers", "tile_09_persistent"])
def test_the_registers_of_all_roles_fit_the_pool(name, params):
    spec = get(name)
    check = "THREADS * LAUNCH_REGISTERS >= LOADER_THREADS * LOADER_REGISTERS + COMPUTE_THREADS * COMPUTE_REGISTERS"
    source = spec.source + f"\nstatic_assert({check} && COMPUTE_REGISTERS >= LAUNCH_REGISTERS);"
    nvrtc.compile_cubin(source, name, file=spec.path.name, defines=spec.defines(**params), arch="sm_90a")


@each
def test_keeps_the_conventions(spec):
    lines = spec.source.splitlines()
    banner = lines[: next(i for i, line in enumerate(lines) if not line.startswith("//"))]
    assert len(banner) <= 25 and len(lines) <= 240 and max(map(len, lines)) <= 120
    for word in ("Claim", "Differs from", "Roles", "Barriers", "Constraints", "Lesson", "first parity"):
        assert word in "\n".join(banner)
    assert not re.search(r"\basm\b|#\s*if", spec.source)
    assert {"ring", "load", "multiply", "compute", "kernel"} <= set(spec.anchors)
    assert len(spec.excerpt("kernel").split("{", 1)[1].splitlines()) <= 40
    code = re.sub(r"//.*", "", spec.source)
    for name in spec.defaults:
        assert any(name in line for line in code.splitlines() if line.startswith("static_assert"))
    handoff = r"^ +(?:producer_\w+\(|consumer_\w+\(|wait\(|ptx::mbarrier_arrive\(|__syncthreads\(\)).*$"
    outside = spec.source.replace(spec.excerpt("ring"), "")
    assert [line for line in re.findall(handoff, outside, re.M) if "//" not in line] == []
