"""The catalog against the files of all kernels: constants, launch numbers, anchors, banners, conventions of lessons."""

import re

import pytest

from ws_course.kernels import catalog
from ws_course.kernels.catalog import ABLATIONS, ALL, HOPPER, LADDER, get

CONSTANTS = {name for spec in ALL for name in spec.defaults}
each = pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
needs_hopper = pytest.mark.parametrize(
    "spec", [spec for spec in ALL if spec.archs == ("sm_90a", "sm_100a")], ids=lambda spec: spec.name
)


def banner_of(spec):
    lines = spec.source.splitlines()
    return lines[: next(i for i, line in enumerate(lines) if not line.startswith("//"))]


def code_of(spec):
    return re.sub(r" *//.*", "", spec.source)


def asserts_of(spec):
    return [line for line in code_of(spec).splitlines() if line.startswith("static_assert")]


def test_the_rungs_are_complete_and_in_order():
    assert [spec.name[:7] for spec in (*LADDER, *HOPPER)] == [f"tile_{i:02}" for i in range(12)]
    assert {spec.archs for spec in LADDER} == {catalog.ARCHS}
    assert {spec.archs for spec in HOPPER} == {("sm_90a", "sm_100a")}


def test_an_ablation_has_the_number_archs_and_constants_of_its_rung():
    rungs = {spec.name[:7]: spec for spec in (*LADDER, *HOPPER)}
    for spec in ABLATIONS:
        rung = rungs[spec.name[:7]]
        assert spec.archs == rung.archs and spec.cluster() == rung.cluster()
        assert set(spec.defaults) - {"SCHEDULERS"} <= set(rung.defaults)


def test_every_file_is_in_the_catalog():
    files = {path for folder in ("tile", "matmul", "measure") for path in (catalog.FOLDER / folder).glob("*.cu")}
    assert files == {spec.path for spec in ALL} | set(catalog.MEASURE.values()) | {catalog.MATMUL}
    assert len({spec.name for spec in ALL}) == len(ALL)


@each
def test_the_entry_is_the_stem_and_takes_what_the_catalog_says(spec):
    assert spec.path.stem == spec.name
    pointers = {"A": "const float* A", "B": "const float* B", "C": "float* C"}
    wanted = [f"const __grid_constant__ CUtensorMap {x}" if x in spec.maps else pointers[x] for x in "ABC"]
    wanted += ["int tiles", *(["int* next"] if spec.counter else [])]
    entry = re.search(r'extern "C" __global__ [^{]*', code_of(spec))[0]
    name, parameters = re.search(r"(\w+)\(([^()]*)\) *$", entry).groups()
    assert name == spec.name
    assert " ".join(parameters.split()) == ", ".join(wanted)


@each
def test_every_constant_is_used_checked_and_offered(spec):
    used = {name for name in CONSTANTS if re.search(rf"\b{name}\b", code_of(spec))}
    assert used == set(spec.defaults) == set(spec.choices)
    for name, value in spec.defaults.items():
        assert any(re.search(rf"\b{name}\b", line) for line in asserts_of(spec)), f"no static_assert holds {name}"
        assert value in spec.choices[name]


@each
def test_files_are_short_and_have_no_assembly(spec):
    lines = spec.source.splitlines()
    assert len(lines) <= 240 and max(map(len, lines)) <= 120 and "\t" not in spec.source
    assert [line for line in lines if line != line.rstrip()] == []
    assert not re.search(r"\basm\b|#\s*if", spec.source)
    assert len(spec.excerpt("kernel").split("{", 1)[1].splitlines()) <= 40


@each
def test_banners_say_all_there_is_to_know(spec):
    banner = banner_of(spec)
    assert len(banner) <= 25
    words = ["Claim", "Differs from", "Roles", "Barriers", "Constraints", "Lesson"]
    found = [line[3:17].rstrip() for line in banner if re.match(r"// [A-Z]", line)]
    assert [word for word in found if word in words] == words
    assert f"// Lesson        {spec.lesson} " in banner[-1]


@needs_hopper
def test_banners_list_the_barriers_that_the_file_has(spec):
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in banner_of(spec) if "|" in line]
    heading = ["name", "from -> to", "arrivals", "tx bytes", "first parity"]
    table = rows[rows.index(heading) + 1 :]
    members = re.findall(r"^  Barrier ([^;]*);", code_of(spec), re.M)
    declared = [name.strip() for line in members for name in line.replace("[STAGES]", "[s]").split(",")]
    assert sorted(row[0] for row in table) == sorted(declared)
    for name, _, arrivals, _, first in table:
        assert arrivals and first in ("0: blocks", "1: passes")
        assert code_of(spec).count(f"mbarrier_init(&s.{name.replace('[s]', '[i]')}, ") == 1


@each
def test_handoffs_say_what_they_wait_for(spec):
    pipeline = (
        r"^.*(?:producer_acquire|producer_commit|consumer_wait|consumer_release|__syncthreads|cluster\.sync)\(\).*$"
    )
    ring = r"^ +(?:producer_\w+|consumer_\w+|wait\w*|if \(.*\) arrive_at|arrive_at|ptx::mbarrier_arrive)\(.*$"
    outside = spec.source.replace(spec.excerpt("ring"), "") if "ring" in spec.anchors else spec.source
    handoffs = [line for pattern in (pipeline, ring) for line in re.findall(pattern, outside, re.M)]
    assert handoffs and [line for line in handoffs if "//" not in line] == []


@each
def test_anchors_are_closed_and_excerpts_are_the_files_lines(spec):
    wanted = {"load", "compute", "kernel"} | ({"ring", "multiply"} if "sm_80" not in spec.archs else set())
    assert wanted <= set(spec.anchors) and len(set(spec.anchors)) == len(spec.anchors)
    for anchor in spec.anchors:
        assert spec.excerpt(anchor) in spec.source
        assert "// [" not in spec.excerpt(anchor)
    assert spec.source.count("\n// [") == 2 * len(spec.anchors)
    with pytest.raises(KeyError, match="load"):
        spec.excerpt("nothing")


def test_the_lane_that_goes_alone_lacks_one_line_and_nothing_else():
    whole, diverged = (
        code_of(get(name)).replace(name, "name").split() for name in ("tile_07_tma_tensor", "tile_07_diverged")
    )
    where = whole.index("__syncwarp();")
    assert whole[:where] + whole[where + 1 :] == diverged


def test_launch_numbers_by_hand():
    roles = get("tile_04_pipeline_roles")
    assert roles.block(LOADER_WARPS=4, STORER_WARPS=1) == 128 + 32 * 5
    assert roles.smem(STAGES=3) == 3 * 32768 + 16384
    assert roles.smem(TILE=32) == 2 * 8192 + 4096
    assert get("tile_00_one_buffer").smem() == 0
    assert get("tile_01_double_buffer").smem() == 65536
    assert get("tile_03_pipeline_unified").smem(STAGES=4) == 4 * 32768
    assert get("tile_02_cp_async").block(COMPUTE_THREADS=256) == 256
    assert get("tile_05_mbarrier_ring").smem(STAGES=2) == 2 * (32768 + 16)
    assert get("tile_07_tma_tensor").smem() == 3 * 32768 + 16384 + 1024
    assert get("tile_07_direct_store").smem() == 3 * 32768 + 1024
    assert get("tile_10_cluster_dsmem").smem(TILE=32) == 3 * (8192 + 24) + 8  # whole 16 bytes
    assert get("tile_10_cluster_read").smem() == 3 * (32768 + 32)
    assert get("tile_09_persistent").block() == 256 and get("tile_10_cluster_dsmem").block() == 192
    assert {get("tile_06_placement").block(SCHEDULERS=n) for n in (1, 2, 4)} == {448}
    assert [get("tile_11_cluster_multicast").cluster(CLUSTER=n) for n in (1, 4)] == [1, 4]
    assert get("tile_11_cluster_multicast").cluster() == 2 and get("tile_05_mbarrier_ring").cluster() == 1


@each
def test_two_ctas_share_an_sm(spec):
    assert 2 * (spec.smem() + 1024) <= 228 * 1024  # of an H100 or H200; a CTA takes 1 KiB for the system


def test_defines_hold_every_constant():
    assert get("tile_02_cp_async").defines(STAGES=3) == {
        "TILE": 64,
        "COMPUTE_THREADS": 128,
        "INTENSITY": 1,
        "SHARE": 1,
        "STAGES": 3,
    }


@pytest.mark.parametrize(
    ("params", "says"),
    [({"STAGE": 2}, "has no constant STAGE"), ({"INTENSITY": 0}, "at least 1"), ({"TILE": 64.0}, "integer")],
)
def test_wrong_constants_are_refused(params, says):
    with pytest.raises(ValueError, match=says):
        get("tile_02_cp_async").defines(**params)


def test_an_unknown_kernel_names_the_known_ones():
    with pytest.raises(KeyError, match="tile_11_cluster_multicast.*tile_04_two_roles"):
        get("tile_12")
