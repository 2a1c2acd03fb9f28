"""Whatever a kernel does, one clear fault comes back within the limits, and the caller lives on."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ws_course.runtime import Kernel

KERNEL = 'extern "C" __global__ void k(float* a) { %s }'

# body: launch options, the kind, a word that the message or the hint must contain
BODIES = {
    "while (true) { if (a[0] == -5.f) break; }": ({}, "timeout", "time limit"),
    "for (;;) {}": ({}, "timeout", "time limit"),
    "__shared__ volatile int f; if (threadIdx.x == 0) f = 0; __syncthreads(); while (f == 0) {}": (
        {},
        "deadlock",
        "endless loop",
    ),
    "float* p = nullptr; p[threadIdx.x] = a[0];": ({}, "out-of-bounds", "null pointer"),
    "a[size_t(1) << 40] = 1.f;": ({}, "out-of-bounds", "pointer"),
    "a[(int)threadIdx.x - 1] = 1.f;": ({}, "out-of-bounds", "a[-1]"),
    "__shared__ float s[20000]; s[threadIdx.x] = 1; a[0] = s[0];": ({}, "launch-error", "48 KiB"),
    "extern __shared__ float s[]; s[threadIdx.x] = 1;": ({}, "out-of-bounds", "smem=0"),
    "extern __shared__ float s[]; s[threadIdx.x + 1] = 1;": ({"smem": 128}, "out-of-bounds", "smem=128"),
    "int z = a[0]; a[1] = 5 / z;": ({}, "wrong-result", "zero"),
    "__trap();": ({}, "launch-error", "__trap"),
    "float v = threadIdx.x; if (threadIdx.x < 16) a[threadIdx.x] = __shfl_down_sync(0xffffffffu, v, 8);": (
        {},
        "illegal-collective",
        "lane",
    ),
    "if (threadIdx.x < 16) __syncwarp(0xff);": ({}, "illegal-collective", "mask"),
}


def run(source: str, entry: str = "k", **options):
    options = {"grid": 1, "block": 32, "timeout": 2.0, **options}
    return Kernel(source, entry, "k.cu").run(np.zeros(64, np.float32), backend="emulator", **options)


@pytest.mark.parametrize("body", BODIES)
def test_one_clear_fault(body):
    options, kind, word = BODIES[body]
    begin = time.monotonic()
    result = run(KERNEL % body, **options)
    assert kind in [f.kind.value for f in result.faults], str(result)
    fault = next(f for f in result.faults if f.kind.value == kind)
    assert word in fault.message + fault.hint, str(fault)
    assert time.monotonic() - begin < 30


def test_endless_recursion():
    source = """
    __device__ int f(int n, volatile int* p) { int a[64]; a[n % 64] = n; p = a; return f(n + 1, p) + a[3]; }
    extern "C" __global__ void k(float* a) { volatile int q = 0; a[0] = f(0, &q); }
    """
    assert "stack" in run(source).faults[0].message


def test_host_code_is_refused_with_the_line():
    (fault,) = run("__global__ void k(float* a) {}\nint main() { k<<<1, 1>>>(nullptr); }").faults
    assert fault.kind == "compile-error" and fault.line == 2 and "host code" in fault.message


def test_missing_header_and_missing_entry():
    (fault,) = run("#include <nothere.h>\n" + KERNEL % "").faults
    assert fault.kind == "compile-error" and fault.line == 1 and "emulator knows" in fault.hint
    (fault,) = run(KERNEL % "", entry="other").faults
    assert fault.kind == "compile-error" and "k" in fault.message


def test_a_huge_grid_ends_at_the_time_limit():
    (fault,) = run(KERNEL % "atomicAdd(a, 1.f);", grid=(100000, 1000)).faults
    assert fault.kind == "timeout"


def test_too_much_shared_memory_is_an_error_of_the_call():
    with pytest.raises(ValueError, match="227 KiB"):
        run(KERNEL % "", smem=300_000)


@pytest.mark.parametrize("grid, block", [(0, 32), (1, 0), (1, 2048), (-1, 32)])
def test_impossible_launch_numbers(grid, block):
    with pytest.raises(ValueError):
        run(KERNEL % "", grid=grid, block=block)


def test_arguments_are_checked_before_anything_runs():
    kernel = Kernel('extern "C" __global__ void k(const float* x, int n) {}', "k")
    with pytest.raises(TypeError, match="2 arguments"):
        kernel.run(np.zeros(4, np.float32), grid=1, block=1, backend="emulator")
    with pytest.raises(TypeError, match="float32"):
        kernel.run(np.zeros(4), 4, grid=1, block=1, backend="emulator")


def test_print_comes_back():
    result = run(KERNEL % r'if (threadIdx.x == 3) printf("lane %d\n", threadIdx.x);')
    assert result.ok and result.printed == "lane 3\n"


def test_same_seed_same_schedule():
    source = (
        KERNEL % "__shared__ int n; if (threadIdx.x == 0) n = 0; __syncthreads(); a[threadIdx.x] = atomicAdd(&n, 1);"
    )
    orders = []
    for _ in range(2):
        a = np.zeros(64, np.float32)
        Kernel(source, "k").run(a, grid=1, block=64, backend="emulator")
        orders.append(a)
    np.testing.assert_array_equal(*orders)
    assert sorted(orders[0]) == list(range(64)) and list(orders[0]) != list(range(64))


def test_cost_grows_linearly_with_the_number_of_blocks():
    source = (
        KERNEL % "__shared__ float s[256]; s[threadIdx.x] = a[threadIdx.x % 64]; __syncthreads();"
        "float v = 0; for (int i = 0; i < 64; ++i) v += s[i];"
    )
    switches = [run(source, grid=n, block=256).stats["switches"] for n in (4, 16)]
    assert 3.5 < switches[1] / switches[0] < 4.5
