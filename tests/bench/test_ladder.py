"""What is measured, without a GPU: the cases, and the error that names the fix."""

import io
import struct

import pytest
from elftools.elf.elffile import ELFFile

from ws_course import device
from ws_course.bench import ladder
from ws_course.kernels.catalog import ABLATIONS, HOPPER, LADDER, get
from ws_course.runtime import BackendError


def test_cases_combine_the_constants_that_a_kernel_has():
    some = {"INTENSITY": (1, 2), "STAGES": (2, 3), "LOADER_WARPS": (1, 4), "STORER_WARPS": (1,)}
    found = list(ladder.cases(ctas=(1, 2), **some))
    count = {spec.name: sum(case.kernel == spec.name for case in found) for spec in LADDER}
    assert list(count.values()) == [2 * 2, 2 * 2, 2 * 2 * 2, 2 * 2 * 2, 2 * 2 * 2 * 2]
    assert len(set(found)) == len(found)
    for case in found:
        assert case.spec.defines(**dict(case.params)) == dict(case.params), "all constants are written down"


def test_a_constant_that_no_kernel_has_is_refused():
    with pytest.raises(ValueError, match="no kernel has a constant STAGE: there are .*STAGES"):
        list(ladder.cases(STAGE=(2,)))


def test_a_cluster_is_measured_only_where_all_its_ctas_use_one_b():
    found = ladder.cases(["tile_10_cluster_dsmem"], (1,), SHARE=(1, 2, 8), CLUSTER=(1, 2, 4))
    pairs = [(params["SHARE"], params["CLUSTER"]) for params in (dict(case.params) for case in found)]
    assert pairs == [(1, 1), (2, 1), (2, 2), (8, 1), (8, 2), (8, 4)]


def test_the_record_covers_what_lessons_choose_from():
    found = list(ladder.ladder_cases())
    for spec in LADDER:
        for name in ("STAGES", "LOADER_WARPS", "INTENSITY"):
            wanted = set(spec.choices.get(name, ()))
            assert wanted == {dict(c.params)[name] for c in found if c.kernel == spec.name and name in dict(c.params)}


def test_the_hopper_ladder_has_every_rung_with_a_b_of_its_own_and_a_shared_one():
    found = list(dict.fromkeys(ladder.hopper_cases()))
    for spec in (*LADDER, *ABLATIONS, *HOPPER):
        own = [dict(c.params) for c in found if c.kernel == spec.name and dict(c.params)["TILE"] == 64]
        assert {(p["SHARE"], p["INTENSITY"]) for p in own} == {(1, 1), (1, 2), (1, 4), (8, 1)}
        for name in ("STAGES", "LOADER_WARPS", "CLUSTER", "SCHEDULE", "SCHEDULERS"):
            assert {p[name] for p in own if name in p} == set(spec.choices.get(name, ()))
        assert {c.ctas for c in found if c.kernel == spec.name} == set(ladder.CTAS)


def test_the_sweep_goes_from_one_warp_to_as_many_as_an_sm_holds():
    found = list(ladder.warps_cases())
    for kernel in ("tile_01_double_buffer", "tile_04_two_roles", "tile_06_bulk_copy"):
        warps = {c.ctas * c.spec.block(**dict(c.params)) // 32 for c in found if c.kernel == kernel}
        assert min(warps) <= 2 and 60 <= max(warps) <= 64 and len(warps) > 25
    assert all(case.promised == case.ctas for case in found)


def registers(image):
    """Return the registers of a thread that a cubin asks for (attribute EIATTR_REGCOUNT of its .nv.info section)."""
    data = ELFFile(io.BytesIO(image)).get_section_by_name(".nv.info").data()
    at = 0
    while at < len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        if (form, attribute) == (4, 0x2F):
            return struct.unpack_from("<I", data, at + 8)[0]
        at += 4 + size * (form == 4)
    raise AssertionError("the cubin does not say how many registers it needs")


def test_a_promise_of_more_ctas_saves_registers():
    small = (("TILE", 32), ("COMPUTE_THREADS", 256))
    few, many = (
        registers(ladder.compile_variant(("tile_01_double_buffer", small, promised), "sm_90a").image)
        for promised in (1, 8)
    )
    assert few > 32 >= many, "64 warps of 32 threads share 65536 registers"
    with pytest.raises(ValueError, match="tile_08_registers promises the compiler something else"):
        ladder.compile_variant(("tile_08_registers", (), 2), "sm_90a")


def test_a_device_runs_what_is_not_too_new_for_it():
    ring, pipeline = get("tile_05_mbarrier_ring"), get("tile_02_cp_async")
    assert [ladder.runs_on(ring, c) for c in ((8, 9), (9, 0), (10, 0))] == [False, True, True]
    assert ladder.runs_on(pipeline, (8, 0))


@pytest.mark.skipif(bool(device.driver().gpus), reason="this machine has a GPU")
def test_without_a_gpu_the_fix_is_named():
    with pytest.raises(BackendError, match="ws-course doctor"):
        ladder.measure_live()
    with pytest.raises(BackendError, match="no GPU"):
        ladder.record_set("tile-ladder", "unused.json")


def test_another_set_is_refused():
    with pytest.raises(ValueError, match="there are tile-ladder, hopper-ladder, warps-sweep"):
        ladder.record_set("tile")
