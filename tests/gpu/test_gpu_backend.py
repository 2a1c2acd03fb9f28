"""What the GPU backend promises: right arguments, opt-in features, one clear fault per mistake, and life after it."""

import time

import numpy as np
import pytest

from ws_course.faults import FaultKind
from ws_course.runtime import gpu
from ws_course.runtime.kernel import Kernel

pytestmark = pytest.mark.gpu

GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
DOUBLE = Kernel(
    'extern "C" __global__ void twice(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }', "twice"
)


def run(source, *args, entry="k", **launch):
    launch = {"grid": 1, "block": 32, "timeout": 20.0, **launch}
    return Kernel(source, entry, "lesson.cu").run(*args, backend="gpu", **launch)


def gpu_works():
    x = np.arange(32, dtype=np.float32)
    result = DOUBLE.run(x, 20, grid=1, block=32, backend="gpu")
    assert result.ok, str(result)
    np.testing.assert_array_equal(x[:20], 2 * np.arange(20))
    np.testing.assert_array_equal(x[20:], np.arange(20, 32))


def only_fault(result, kind):
    assert [fault.kind for fault in result.faults] == [kind], str(result)
    return result.faults[0]


def test_updates_arrays_in_place_and_says_where_it_ran():
    gpu_works()
    result = DOUBLE.run(np.ones(4, np.float32), 4, grid=1, block=32, backend="gpu")
    assert result.backend == "gpu" and result.device and result.seconds > 0
    assert result.stats["registers"] > 0


def test_types_and_templates_arrive():
    source = """
    template <int N>
    __global__ void mix(double* d, const unsigned char* u, long long big, bool yes, float f, unsigned short s) {
      d[0] = N + u[1]; d[1] = double(big); d[2] = yes; d[3] = f; d[4] = s;
    }"""
    d, u = np.zeros(5), np.array([1, 200], np.uint8)
    u.flags.writeable = False
    result = run(source, d, u, -(2**40), True, 0.5, 65535, entry="mix<3>")
    assert result.ok, str(result)
    np.testing.assert_array_equal(d, [203, -(2**40), 1, 0.5, 65535])


def test_the_same_array_twice_is_one_array():
    source = 'extern "C" __global__ void k(const float* a, float* b) { b[threadIdx.x + 32] = a[threadIdx.x]; }'
    x = np.arange(64, dtype=np.float32)
    assert run(source, x, x).ok
    np.testing.assert_array_equal(x[32:], np.arange(32))


def test_empty_arrays_and_half_precision():
    source = """#include <cuda_fp16.h>
    extern "C" __global__ void k(__half* h, float* none, int n) { h[threadIdx.x] = __float2half(threadIdx.x / 2.f); }"""
    h = np.zeros(32, np.float16)
    result = run(source, h, np.zeros((0, 3), np.float32), 0)
    assert result.ok, str(result)
    np.testing.assert_array_equal(h, np.arange(32) / 2)


def test_prints():
    result = run('extern "C" __global__ void k() { if (threadIdx.x < 2) printf("lane %d\\n", threadIdx.x); }')
    assert result.ok and result.printed == "lane 0\nlane 1\n"
    assert run('extern "C" __global__ void k() {}').printed == ""


def test_opts_in_to_large_shared_memory():
    source = """extern "C" __global__ void k(float* x) {
      extern __shared__ float s[];
      s[threadIdx.x * 700] = threadIdx.x; __syncthreads(); x[threadIdx.x] = s[(31 - threadIdx.x) * 700]; }"""
    x = np.zeros(32, np.float32)
    assert run(source, x, smem=4 * 700 * 32).ok
    np.testing.assert_array_equal(x, np.arange(32)[::-1])


def test_launches_clusters():
    source = (
        GROUPS
        + """extern "C" __global__ void k(int* out) {
      auto c = cg::this_cluster(); c.sync();
      if (threadIdx.x == 0) out[blockIdx.x] = 100 * c.num_blocks() + c.block_rank(); }"""
    )
    for size in (2, 8, 16):
        out = np.zeros(16, np.int32)
        result = run(source, out, grid=16, cluster=size)
        assert result.ok, str(result)
        np.testing.assert_array_equal(out, 100 * size + np.arange(16) % size)
    assert (
        "cluster"
        in only_fault(run(source, np.zeros(32, np.int32), grid=32, cluster=32), FaultKind.LAUNCH_ERROR).message
    )


def test_launches_cooperative_grids():
    source = (
        GROUPS
        + """extern "C" __global__ void k(int* out) {
      if (threadIdx.x == 0) out[blockIdx.x] = 1;
      cg::this_grid().sync();
      if (threadIdx.x == 0 && blockIdx.x == 0) for (int i = 1; i < gridDim.x; ++i) out[0] += out[i]; }"""
    )
    out = np.zeros(64, np.int32)
    result = run(source, out, grid=64, cooperative=True)
    assert result.ok and out[0] == 64, str(result)
    fault = only_fault(run(source, np.zeros(10**6, np.int32), grid=10**6, cooperative=True), FaultKind.LAUNCH_ERROR)
    assert "resident" in fault.message and "1000000" in fault.message


def test_compile_errors_have_file_and_line():
    fault = only_fault(run('extern "C" __global__ void k() {\n  int x = ;\n}'), FaultKind.COMPILE_ERROR)
    assert (fault.file, fault.line) == ("lesson.cu", 2)


def test_calls_that_cannot_work_raise():
    x = np.zeros(4, np.float32)
    for args in [(x,), (x, 4, 5), (x.astype(np.float64), 4), (x, 2.5), ([1.0], 4)]:
        with pytest.raises(TypeError):
            DOUBLE.run(*args, grid=1, block=32, backend="gpu")
    with pytest.raises(ValueError, match="grid"):
        DOUBLE.run(x, 4, grid=0, block=32, backend="gpu")
    with pytest.raises(ValueError, match="contiguous"):
        DOUBLE.run(np.zeros((4, 4), np.float32)[:, 0], 4, grid=1, block=32, backend="gpu")


def test_too_much_shared_memory_is_explained():
    fault = only_fault(run('extern "C" __global__ void k() {}', smem=10**6), FaultKind.LAUNCH_ERROR)
    assert "1000000 bytes" in fault.message and "at most" in fault.message


def test_a_block_beyond_the_launch_bounds_is_explained():
    source = 'extern "C" __global__ void __launch_bounds__(64) k() {}'
    assert "at most 64" in only_fault(run(source, block=65), FaultKind.LAUNCH_ERROR).message


def test_an_illegal_address_is_a_fault_and_the_gpu_lives_on():
    source = 'extern "C" __global__ void k(float* x) { x[1ll << 44] = 1; }'
    assert only_fault(run(source, np.zeros(4, np.float32)), FaultKind.OUT_OF_BOUNDS).file == "lesson.cu"
    gpu_works()


def test_a_trap_and_a_misaligned_address_are_faults():
    only_fault(run('extern "C" __global__ void k() { __trap(); }'), FaultKind.LAUNCH_ERROR)
    source = 'extern "C" __global__ void k(char* x) { *reinterpret_cast<float*>(x + 1) = 1; }'
    assert "multiple" in only_fault(run(source, np.zeros(8, np.int8)), FaultKind.LAUNCH_ERROR).message
    gpu_works()


def test_an_endless_kernel_is_killed_and_the_gpu_lives_on():
    source = 'extern "C" __global__ void k(volatile int* x) { while (x[0] == 0) {} }'
    x = np.zeros(1, np.int32)
    start = time.monotonic()
    fault = only_fault(run(source, x, timeout=2.0), FaultKind.TIMEOUT)
    assert "2 s" in fault.message and time.monotonic() - start < 60
    gpu_works()


def test_a_unified_pipeline_called_from_one_role_hangs_and_is_killed():
    source = (
        GROUPS
        + """#include <cuda/pipeline>
    #pragma nv_diag_suppress static_var_with_dynamic_init
    extern "C" __global__ void k(const int* in, int* out) {
      __shared__ int buffer[32];
      __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
      auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state);
      if (threadIdx.x < 32) {
        pipe.producer_acquire();
        cuda::memcpy_async(&buffer[threadIdx.x], &in[threadIdx.x], sizeof(int), pipe);
        pipe.producer_commit();
      } else {
        pipe.consumer_wait();
        out[threadIdx.x - 32] = buffer[threadIdx.x - 32];
        pipe.consumer_release();
      }
    }"""
    )
    result = run(source, np.arange(32, dtype=np.int32), np.zeros(32, np.int32), block=64, timeout=2.0)
    only_fault(result, FaultKind.TIMEOUT)
    gpu_works()


def test_one_cta_per_sm_really_is_one_per_sm():
    source = """#include <cuda/ptx>
    extern "C" __global__ void k(int* sm) {
      extern __shared__ char use[];
      for (int i = 0; i < 1000; ++i) __nanosleep(100);
      if (threadIdx.x == 0) sm[blockIdx.x] = cuda::ptx::get_sreg_smid(); }"""
    sms = gpu.first_gpu().sms
    where = np.full(sms, -1, np.int32)
    assert run(source, where, grid=sms, smem=32768).ok
    assert sorted(where) == list(range(sms))
