#include <cuda/ptx>
namespace ptx = cuda::ptx;
// Mistake: __syncwarp() in a branch that half of the warp takes.
extern "C" __global__ void syncwarp_in_half_a_warp(const float* x, float* y, int n) {
  __shared__ float slot[1];
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) { ptx::mbarrier_init(&full, 1); ptx::mbarrier_init(&empty, 32); }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 0; t < n; ++t) {
      while (!ptx::mbarrier_try_wait_parity(&empty, (t & 1) ^ 1)) {}
      slot[0] = x[t];
      ptx::mbarrier_arrive(&full);
    }
  } else if (threadIdx.x >= 32) {
    for (int t = 0; t < n; ++t) {
      while (!ptx::mbarrier_try_wait_parity(&full, t & 1)) {}
      float v = slot[0];
      if (threadIdx.x % 32 < 16) {
        y[t * 32 + threadIdx.x - 32] = v;
        __syncwarp();   // the mistake
      }
      ptx::mbarrier_arrive(&empty);
    }
  }
}
