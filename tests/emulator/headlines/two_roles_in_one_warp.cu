#include <cuda/ptx>
namespace ptx = cuda::ptx;
// Mistake: lane 0 loads, lane 1 stores, and lane 1 calls __syncwarp() for the whole warp.
extern "C" __global__ void two_roles_in_one_warp(const float* x, float* y, int n) {
  __shared__ float slot[1];
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) { ptx::mbarrier_init(&full, 1); ptx::mbarrier_init(&empty, 1); }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 0; t < n; ++t) {
      while (!ptx::mbarrier_try_wait_parity(&empty, (t & 1) ^ 1)) {}
      slot[0] = x[t];
      ptx::mbarrier_arrive(&full);
    }
  } else if (threadIdx.x == 1) {
    for (int t = 0; t < n; ++t) {
      while (!ptx::mbarrier_try_wait_parity(&full, t & 1)) {}
      y[t] = slot[0];
      __syncwarp();   // the mistake
      ptx::mbarrier_arrive(&empty);
    }
  }
}
