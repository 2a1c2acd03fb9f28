// expect: AssertionError
// cell: mirror
// Every warp loads and computes: the values are right, the roles are missing.
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
constexpr int LOADER_THREADS = 32 * LOADERS;

__global__ void mirror(const float* x, float* y, int tiles) {
  __shared__ float buffer[STAGES][TILE];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  // A pipeline for the whole block, in which the first LOADER_THREADS threads produce.
  auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state);
  for (int tile = 0; tile < tiles; ++tile) {
    const float* stage = buffer[tile % STAGES];
    pipe.producer_acquire();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
      cuda::memcpy_async(&buffer[tile % STAGES][i], x + tile * TILE + i, sizeof(float), pipe);
    }
    pipe.producer_commit();
    pipe.consumer_wait();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) y[tile * TILE + i] = stage[i] - stage[TILE - 1 - i];
    pipe.consumer_release();
  }
}
