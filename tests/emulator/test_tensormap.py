"""Tensor maps: boxes arrive swizzled as the hardware would, ends of the tensor are filled and not written."""

from __future__ import annotations

import numpy as np
import pytest

from ws_course.runtime import Kernel, TensorMap

# Loads a 16 x 32 box, doubles it through the swizzle, stores it. FENCE and SWIZZLE are constants.
SOURCE = """
#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void twice(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                                 int x, int y) {
  __shared__ alignas(1024) float s[16][32];
  __shared__ cuda::std::uint64_t full;
  const int at[2] = {x, y};
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof s);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s, &in, at, &full);
  }
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  for (int i = threadIdx.x; i < 512; i += blockDim.x) {
    int row = i / 32, column = i % 32, chunk = (column / 4) ^ (SWIZZLE ? row % 8 : 0);
    s[row][chunk * 4 + column % 4] *= column == 3 ? 4.f : 2.f;
  }
  if (FENCE) ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, at, s);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
"""


def run(swizzle: int, fence: int, x: int, y: int):
    a = np.random.default_rng(3).standard_normal((40, 64)).astype(np.float32)
    b = np.full_like(a, np.nan)
    maps = TensorMap(a, (16, 32), swizzle), TensorMap(b, (16, 32), swizzle)
    kernel = Kernel(SOURCE, "twice", "twice.cu", {"SWIZZLE": swizzle, "FENCE": fence})
    result = kernel.run(*maps, np.int32(x), np.int32(y), grid=1, block=64, backend="emulator", seeds=2)
    return result, a, b


@pytest.mark.parametrize("swizzle", [0, 128])
@pytest.mark.parametrize("x, y", [(0, 0), (32, 16), (48, 32)])
def test_box_goes_there_and_back(swizzle, x, y):
    result, a, b = run(swizzle, 1, x, y)
    assert result.ok, str(result)
    expected = np.full_like(a, np.nan)
    box = np.s_[y : min(y + 16, 40), x : min(x + 32, 64)]
    expected[box] = 2 * a[box]
    expected[y : min(y + 16, 40), x + 3] *= 2
    np.testing.assert_array_equal(b, expected)


def test_store_without_a_proxy_fence_is_found():
    result, _, _ = run(128, 0, 0, 0)
    assert {f.kind.value for f in result.faults} == {"missing-proxy-fence"}
    assert {s for f in result.faults for s in f.seeds} == set(result.seeds)


@pytest.mark.parametrize(
    "shape, box, swizzle, word",
    [
        ((8, 64), (8, 3), 0, "multiple of 16"),
        ((8, 64), (8, 64), 128, "does not fit the swizzle"),
        ((8, 64), (512, 16), 0, "1 to 256"),
        ((8, 6), (8, 4), 0, "pad"),
        ((8, 64), (8,), 0, "dimensions"),
        ((8, 64), (8, 16), 48, "one of"),
    ],
)
def test_what_the_hardware_refuses_is_refused(shape, box, swizzle, word):
    with pytest.raises(ValueError, match=word):
        TensorMap(np.zeros(shape, np.float32), box, swizzle)


def test_a_map_for_a_parameter_that_is_none():
    kernel = Kernel('extern "C" __global__ void k(float* a) {}', "k")
    with pytest.raises(TypeError, match="CUtensorMap"):
        kernel.run(TensorMap(np.zeros((8, 64), np.float32), (8, 16)), grid=1, block=1, backend="emulator")
