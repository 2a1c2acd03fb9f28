#include <cuda/ptx>
namespace ptx = cuda::ptx;
// Mistake: b is never initialised.
extern "C" __global__ void barrier_never_initialised(float* y) {
  __shared__ uint64_t a, b;
  if (threadIdx.x == 0) ptx::mbarrier_init(&a, 2);
  __syncthreads();
  if (threadIdx.x < 32) { if (threadIdx.x == 0) ptx::mbarrier_arrive(&a); while (!ptx::mbarrier_try_wait_parity(&a, 0)) {} }
  else { while (!ptx::mbarrier_try_wait_parity(&b, 0)) {}  // the mistake
    if (threadIdx.x == 32) ptx::mbarrier_arrive(&a); }
  y[threadIdx.x] = 1;
}
