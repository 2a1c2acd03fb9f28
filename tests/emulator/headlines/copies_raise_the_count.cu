#include <cuda/ptx>
#include <cuda_pipeline.h>
namespace ptx = cuda::ptx;
// Mistake: the arrival of the copies adds itself to the count (no .noinc), so full never completes.
extern "C" __global__ void copies_raise_the_count(const float* x, float* y, int n) {
  __shared__ float slot[32];
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) { ptx::mbarrier_init(&full, 32); ptx::mbarrier_init(&empty, 32); }
  __syncthreads();
  if (threadIdx.x < 32) for (int t = 0; t < n; ++t) {
    while (!ptx::mbarrier_try_wait_parity(&empty, (t & 1) ^ 1)) {}
    __pipeline_memcpy_async(&slot[threadIdx.x], &x[t * 32 + threadIdx.x], 4);
    ptx::cp_async_mbarrier_arrive(&full);
  } else for (int t = 0; t < n; ++t) {
    while (!ptx::mbarrier_try_wait_parity(&full, t & 1)) {}  // the mistake shows here
    y[t * 32 + threadIdx.x - 32] = slot[threadIdx.x - 32];
    ptx::mbarrier_arrive(&empty);
  }
}
