// expect: deadlock, race
// cell: mended
// All three mistakes are still there.
#include <cooperative_groups.h>
#include <cuda/pipeline>

__global__ void mended(const float* x, float* y, int tiles) {
  __shared__ float buffer[STAGES][TILE];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto pipe = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state, 32);
  if (threadIdx.x < 32) {
    for (int tile = 0; tile < tiles - 1; ++tile) {
      pipe.producer_acquire();
      for (int i = threadIdx.x; i < TILE; i += 32) {
        cuda::memcpy_async(&buffer[tile % STAGES][i], x + tile * TILE + i, sizeof(float), pipe);
      }
      pipe.producer_commit();
    }
  } else {
    const int i = threadIdx.x - 32;
    for (int tile = 0; tile < tiles; ++tile) {
      pipe.consumer_wait();
      const float one = buffer[tile % STAGES][i];
      pipe.consumer_release();
      __syncthreads();
      y[tile * TILE + i] = one + buffer[tile % STAGES][TILE - 1 - i];
    }
  }
}
