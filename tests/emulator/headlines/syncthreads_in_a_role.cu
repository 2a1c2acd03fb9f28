#include <cuda/ptx>
namespace ptx = cuda::ptx;
// Mistake: __syncthreads() inside the consumers' loop; the loader never comes to it.
extern "C" __global__ void syncthreads_in_a_role(const float* x, float* y, int n) {
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
      y[t * 32 + threadIdx.x - 32] = slot[0];
      __syncthreads();   // the mistake
      ptx::mbarrier_arrive(&empty);
    }
  }
  __syncwarp();
}
