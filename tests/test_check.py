"""Checks: what passes, what must not pass, and what the verdict says about it."""

from dataclasses import replace

import numpy as np
import pytest

from ws_course.check import Case, Out, Verdict, check, check_kernel, compare, poison
from ws_course.faults import Fault, FaultKind
from ws_course.kernels import catalog
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel
from ws_course.runtime.tiles import tensor_map

COPY = "__global__ void copy(const float* x, float* y, int n) {{\n  {body}\n}}\n"


def copy_kernel(body):
    return Kernel(COPY.format(body=body), "copy")


def copy_case(n, block=64, **out):
    x = np.random.default_rng().standard_normal(n, dtype=np.float32)
    return Case((x, Out(x.copy(), **out), n), block=block, name=f"n = {n}")


# compare: NumPy alone, no kernel


def test_an_unwritten_element_is_told_apart_from_a_computed_nan():
    out = Out(np.ones(4, np.float32))
    got = out.buffer()
    got[:2] = 1
    fault, error = compare("y", got, out)
    assert error == np.inf
    assert fault.kind == FaultKind.WRONG_RESULT and fault.object == "y[2]"
    assert fault.message == (
        "y[2] was never written, expected 1.0; 2 of 4 elements are wrong, all of them never written."
    )
    got[2:] = np.nan
    fault, _ = compare("y", got, out)
    assert fault.message == "y[2] is nan, expected 1.0; 2 of 4 elements are wrong."
    got[2] = 1
    got[3:] = out.buffer()[3:]
    got[0] = 5
    fault, _ = compare("y", got, out)
    assert fault.message == "y[0] is 5.0, expected 1.0; 2 of 4 elements are wrong, 1 of them never written."


def test_the_place_of_the_first_wrong_element_has_all_its_coordinates():
    out = Out(np.zeros((2, 3, 4), np.float32))
    got = np.zeros((2, 3, 4), np.float32)
    got[1, 2, 3] = 7
    assert compare("C", got, out)[0].object == "C[1, 2, 3]"


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_nan_never_passes(dtype):
    out = Out(np.zeros(3, dtype), rtol=np.inf, atol=np.inf)
    got = np.zeros(3, dtype)
    got[1] = np.nan
    assert compare("y", got, out)[0] is not None
    assert compare("y", out.buffer(), out)[0] is not None


def test_infinity_passes_only_where_it_is_expected():
    out = Out(np.array([np.inf, 1], np.float32))
    assert compare("y", np.array([np.inf, 1], np.float32), out) == (None, 0.0)
    assert compare("y", np.array([-np.inf, 1], np.float32), out)[0] is not None
    assert compare("y", np.array([np.inf, np.inf], np.float32), out)[0] is not None


def test_the_tolerance_is_absolute_plus_relative():
    out = Out(np.array([1000.0, 0.0]), rtol=1e-3, atol=1e-2)
    fault, error = compare("y", np.array([1001.0, 0.009]), out)
    assert fault is None and error == 1.0
    assert compare("y", np.array([1001.1, 0.0]), out)[0] is not None
    assert compare("y", np.array([1000.0, 0.011]), out)[0] is not None


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_are_exact_and_their_poison_is_no_expected_value(dtype):
    limits = np.iinfo(dtype)
    expected = np.array([0, 7, 91, limits.max, limits.min], dtype)
    out = Out(expected, atol=100)
    assert out.exact
    assert not np.isin(out.buffer(), expected).any()
    assert compare("y", expected.copy(), out) == (None, 0.0)
    off = expected.copy()
    off[0] += 1
    assert compare("y", off, out)[0].message.startswith("y[0] is 1, expected 0; 1 of 5")


def test_values_that_are_updated_start_where_they_were_asked_to():
    out = Out(np.full(3, 6.0, np.float32), start=np.full(3, 5.0, np.float32))
    fault, _ = compare("x", out.buffer(), out)
    assert fault.message == "x[0] is 5.0, expected 6.0; 3 of 3 elements are wrong."
    out.buffer()[:] = 0
    assert (out.buffer() == 5).all()


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: Out(np.array([np.nan], np.float32)), ValueError, "correct the reference"),
        (lambda: Out(np.zeros(2), start=np.zeros(3)), ValueError, "same buffer"),
        (lambda: Out(np.zeros(2, complex)), TypeError, "cannot be checked"),
        (lambda: Out(np.zeros(2, bool)), TypeError, "cannot be checked"),
        (lambda: check_kernel(copy_kernel(""), []), ValueError, "always pass"),
        (lambda: check_kernel("copy", [copy_case(1)]), TypeError, "takes a kernel"),
        (lambda: check(copy_kernel(""), TileProblem(1)), ValueError, "block="),
        (lambda: check(copy_kernel(""), TileProblem(1), block=1, STAGES=2), ValueError, "-D"),
        (lambda: check("tile_00_one_buffer", ()), ValueError, "always pass"),
        (lambda: check("tile_99", TileProblem(1)), KeyError, "no kernel is called"),
    ],
)
def test_a_check_that_could_not_fail_is_refused(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_poison_has_the_shape_and_type_that_were_asked_for():
    for dtype in ("f2", "f4", "f8", "i4"):
        like = np.zeros((2, 3), dtype)
        assert (poison(like).shape, poison(like).dtype) == (like.shape, like.dtype)


def test_a_verdict_is_a_pass_only_without_faults_and_with_every_case_run():
    assert Verdict("k", ("a", "b"), 2, "emulator")
    assert not Verdict("k", ("a",), 2, "emulator")
    assert not Verdict("k", (), 0, "emulator")
    assert not Verdict("k", ("a",), 1, "emulator", faults=(Fault(FaultKind.RACE, "x"),))
    assert str(Verdict("k", ("a",), 1, "gpu", exact=True)) == "passed: 1 case on the GPU, every value exact"


# with kernels, in the emulator


def test_a_right_kernel_passes_and_says_how_it_was_checked():
    kernel = copy_kernel("if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] + 1e-6f;")
    verdict = check_kernel(kernel, [copy_case(n) for n in (1, 37, 64)], backend="emulator", seeds=4)
    assert verdict and verdict.cases == ("n = 1", "n = 37", "n = 64")
    assert str(verdict) == "passed: 3 cases × 4 schedules in the emulator, every value within tolerance"
    assert 1e-7 < verdict.max_error < 2e-6


def test_the_first_case_that_fails_ends_the_check():
    kernel = copy_kernel("if (threadIdx.x < 32) y[threadIdx.x] = x[threadIdx.x];")
    verdict = check_kernel(kernel, [copy_case(32), copy_case(40), copy_case(32)], backend="emulator")
    assert not verdict
    assert str(verdict).splitlines() == [
        "failed on n = 40 (case 2 of 3)",
        f"wrong-result: kernel.cu: y[32] was never written, expected {verdict_value(verdict)}; "
        "8 of 40 elements are wrong, all of them never written.",
        "    usual cause: no thread has these elements: look at the index and at the bounds of its loop or its if",
    ]


def verdict_value(verdict):
    return verdict.faults[0].message.partition("expected ")[2].partition(";")[0]


def test_a_fault_comes_before_the_wrong_values_it_causes():
    body = "__shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; y[threadIdx.x] = s[63 - threadIdx.x];"
    verdict = check_kernel(copy_kernel(body), [copy_case(64)], backend="emulator")
    assert verdict.faults[0].kind == FaultKind.RACE
    assert FaultKind.WRONG_RESULT not in {fault.kind for fault in verdict.faults}


def test_a_value_that_is_wrong_in_one_schedule_only_is_found():
    # atomics do not race, but who comes first differs from schedule to schedule; expect what the first one gives
    source = """
__global__ void ticket(int* next, int* y) {
  if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = atomicAdd(next, 1);
}
"""
    kernel, order = Kernel(source, "ticket"), np.zeros(4, np.int32)
    assert kernel.run(np.zeros(1, np.int32), order, grid=1, block=128, backend="emulator").ok
    case = Case((Out(np.array([4], np.int32), start=np.zeros(1, np.int32)), Out(order)), block=128)
    assert check_kernel(kernel, [case], backend="emulator", seeds=1)
    verdict = check_kernel(kernel, [case], backend="emulator", seeds=20)
    assert [fault.kind for fault in verdict.faults] == [FaultKind.WRONG_RESULT]
    assert verdict.faults[0].seeds[0] > 1 and "never written" not in verdict.faults[0].message


def test_a_changed_input_is_a_wrong_result():
    kernel = copy_kernel("const_cast<float*>(x)[0] = 3; y[threadIdx.x] = x[threadIdx.x];")
    x = np.zeros(4, np.float32)
    verdict = check_kernel(kernel, [Case((x, Out(np.array([3, 0, 0, 0], np.float32)), 4), block=4)], backend="emulator")
    assert not verdict
    assert (x == 0).all()


def test_a_kernel_that_does_not_compile_is_a_verdict():
    verdict = check_kernel(copy_kernel("y[0] = ;"), [copy_case(1)], backend="emulator")
    assert verdict.faults[0].kind == FaultKind.COMPILE_ERROR and verdict.faults[0].line == 2


def test_a_rung_is_checked_on_several_shapes_with_its_constants():
    problems = [TileProblem(tiles, tile=32, intensity=2, seed=tiles) for tiles in (0, 1, 3)]
    verdict = check("tile_00_one_buffer", problems, backend="emulator", seeds=1)
    assert str(verdict) == "passed: 3 cases × 1 schedule in the emulator, every value within tolerance"
    assert verdict.max_error <= problems[2].tolerance


CATALOG = (*catalog.LADDER, *catalog.ABLATIONS, *catalog.HOPPER)


@pytest.mark.parametrize("spec", CATALOG, ids=lambda spec: spec.name)
def test_every_kernel_of_the_catalog_is_checked_as_it_asks_for_its_arguments(spec):
    problems = [TileProblem(n, tile=32, seed=n, share=8) for n in (0, 1, 5)]
    if "CLUSTER" not in spec.defaults:
        problems.append(TileProblem(5, tile=32))
    verdict = check(spec, problems, backend="emulator", seeds=1)
    assert verdict and verdict.total == len(problems), str(verdict)


MAPPED = "tile_09_persistent"


def changed(name, old, new):
    """Return a kernel of the catalog with a planted mistake."""
    spec = catalog.get(name)
    assert spec.source.count(old) == 1
    there = replace(spec)
    there.__dict__["source"] = spec.source.replace(old, new)
    return there


def test_wrong_values_behind_a_map_are_found():
    spec = changed(MAPPED, "return i ^ (i / 8 % 8);", "return i;")
    verdict = check(spec, TileProblem(2, tile=32), backend="emulator", seeds=1)
    (fault,) = verdict.faults
    assert fault.kind == FaultKind.WRONG_RESULT and fault.object.startswith("C[0, ")
    assert "of 2048 elements are wrong" in fault.message


def test_tiles_that_no_map_stored_are_found():
    store = "    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &C, box, s.c);\n"
    spec = changed("tile_07_tma_tensor", store, "    if (tile != 1)\n" + store)
    verdict = check(spec, TileProblem(3, tile=32), backend="emulator", seeds=1)
    assert verdict.faults[0].message.startswith("C[1, 0, 0] was never written, expected ")
    assert verdict.faults[0].message.endswith("1024 of 3072 elements are wrong, all of them never written.")


def test_a_counter_that_is_not_put_back_is_found():
    spec = changed(MAPPED, "if (taken == tiles - 1) atomicExch(next, 0);", "")
    verdict = check(spec, TileProblem(2, tile=32), backend="emulator", seeds=1)
    assert [fault.message for fault in verdict.faults] == ["next[0] is 2, expected 0; 1 of 1 elements are wrong."]


STORES = """\
#include <cuda/ptx>
#include <ws/tensormap.cuh>
namespace ptx = cuda::ptx;
__global__ void stores(const __grid_constant__ CUtensorMap C) {
  __shared__ alignas(1024) float4 c[256];
  for (int i = 0; i < 256; ++i) c[i] = {1, 1, 1, 1};
  ptx::fence_proxy_async(ptx::space_shared);
  const int box[3] = {};
  ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &C, box, c);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
"""


@pytest.mark.parametrize(("tiles", "says"), [(1, ""), (0, "the kernel wrote to C."), (2, "never written")])
def test_what_stands_in_for_no_tiles_must_stay_as_it_was(tiles, says):
    out = Out(np.ones((tiles, 32, 32), np.float32), through=tensor_map)
    verdict = check_kernel(Kernel(STORES, "stores"), [Case((out,))], backend="emulator", seeds=1)
    assert verdict.ok == (tiles == 1) and all(says in fault.message for fault in verdict.faults), str(verdict)


def test_a_cluster_is_launched_whole_and_told_when_b_is_not_shared():
    name = "tile_10_cluster_dsmem"
    assert check(name, TileProblem(3, tile=32, share=4), CLUSTER=4, backend="emulator", seeds=1)
    with pytest.raises(ValueError, match=r"CLUSTER=2 and share=1 some would not; give TileProblem\(…, share=2\)"):
        check(name, TileProblem(3, tile=32), backend="emulator")


def test_a_wrong_tile_kernel_of_ones_own_fails():
    source = "__global__ void t(const float* A, const float* B, float* C, int tiles) { C[threadIdx.x] = 0; }"
    verdict = check(Kernel(source, "t"), TileProblem(2, tile=4), grid=1, block=32, backend="emulator")
    assert verdict.faults[0].kind == FaultKind.WRONG_RESULT and verdict.cases == ("2 tiles",)


def test_every_schedule_starts_from_the_same_values():
    count = Kernel("__global__ void count(int* n) { atomicAdd(n, 1); }", "count")
    n = np.array([5], np.int32)
    result = count.run(n, grid=1, block=32, backend="emulator", seeds=3)
    assert n[0] == 37 and [outputs[0][0] for outputs in result.outputs] == [37, 37, 37]
