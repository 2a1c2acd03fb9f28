"""The catalog against the files: constants, anchors, banners, and the conventions that lessons rely on."""

import re

import pytest

from ws_course.kernels import catalog
from ws_course.kernels.catalog import ABLATIONS, HOPPER, LADDER, get

ALL = (*LADDER, *ABLATIONS)
each = pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)


def test_the_ladder_is_complete_and_in_order():
    assert [spec.name for spec in LADDER] == [
        "tile_00_one_buffer",
        "tile_01_double_buffer",
        "tile_02_cp_async",
        "tile_03_pipeline_unified",
        "tile_04_pipeline_roles",
    ]


def test_every_file_is_in_the_catalog():
    files = {path for folder in ("tile", "matmul", "measure") for path in (catalog.FOLDER / folder).glob("*.cu")}
    assert files == {spec.path for spec in (*ALL, *HOPPER)} | set(catalog.MEASURE.values()) | {catalog.MATMUL}


@each
def test_the_entry_is_the_stem(spec):
    assert spec.path.stem == spec.name
    assert re.search(
        rf'extern "C" __global__ .*\s+{spec.name}\(const float\* A, const float\* B, float\* C, int tiles\)',
        spec.source,
    )


@each
def test_every_constant_is_used_and_checked(spec):
    code = re.sub(r"//.*", "", spec.source)
    for name in spec.defaults:
        assert re.search(rf"\b{name}\b", code)
        assert any(name in line for line in code.splitlines() if line.startswith("static_assert"))
    used = set(re.findall(r"\b(TILE|STAGES|LOADER_WARPS|STORER_WARPS|COMPUTE_THREADS|INTENSITY|SHARE)\b", code))
    assert used == set(spec.defaults)


@each
def test_kernel_files_keep_the_conventions(spec):
    lines = spec.source.splitlines()
    banner = lines[: next(i for i, line in enumerate(lines) if not line.startswith("//"))]
    assert len(banner) <= 25 and len(lines) <= 180 and max(map(len, lines)) <= 120
    text = "\n".join(banner)
    for word in ("Claim", "Differs from", "Roles", "Barriers", "Constraints", "Lesson"):
        assert word in text
    code = "\n".join(lines)
    assert not re.search(r"\basm\b|#\s*if", code)
    body = spec.excerpt("kernel").split("{", 1)[1].splitlines()
    assert len(body) <= 40
    for wait in re.finditer(
        r"^.*(producer_acquire|consumer_wait|consumer_release|producer_commit|__syncthreads)\(\).*$", code, re.M
    ):
        assert "//" in wait[0], f"this handoff has no comment: {wait[0]}"


@each
def test_anchors_are_closed_and_excerpts_are_the_files_lines(spec):
    assert {"load", "compute", "kernel"} <= set(spec.anchors)
    for anchor in spec.anchors:
        assert spec.excerpt(anchor) in spec.source
        assert "// [" not in spec.excerpt(anchor)
    with pytest.raises(KeyError, match="load"):
        spec.excerpt("nothing")


def test_launch_numbers_by_hand():
    roles = get("tile_04_pipeline_roles")
    assert roles.block(LOADER_WARPS=4, STORER_WARPS=1) == 128 + 32 * 5
    assert roles.smem(STAGES=3) == 3 * 32768 + 16384
    assert roles.smem(TILE=32) == 2 * 8192 + 4096
    assert get("tile_00_one_buffer").smem() == 0
    assert get("tile_01_double_buffer").smem() == 65536
    assert get("tile_03_pipeline_unified").smem(STAGES=4) == 4 * 32768
    assert get("tile_02_cp_async").block(COMPUTE_THREADS=256) == 256


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
    with pytest.raises(KeyError, match="tile_04_two_roles"):
        get("tile_05")
