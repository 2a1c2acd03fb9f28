// expect: barrier-misuse, deadlock, race
// cell: mirror
// One producer is announced, 32 threads arrive.
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
constexpr int LOADER_THREADS = 32 * LOADERS;

__global__ void mirror(const float* x, float* y, int tiles) {
  __shared__ float buffer[STAGES][TILE];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  // A pipeline for the whole block, in which the first LOADER_THREADS threads produce.
  auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state, LOADERS);
  if (threadIdx.x < LOADER_THREADS) {
    const int rank = threadIdx.x;  // among the loader threads
    for (int tile = 0; tile < tiles; ++tile) {
      pipe.producer_acquire();
      for (int i = rank; i < TILE; i += LOADER_THREADS) {
        cuda::memcpy_async(&buffer[tile % STAGES][i], x + tile * TILE + i, sizeof(float), pipe);
      }
      pipe.producer_commit();
    }
  } else {
    const int rank = threadIdx.x - LOADER_THREADS;  // among the others
    const int threads = blockDim.x - LOADER_THREADS;
    for (int tile = 0; tile < tiles; ++tile) {
      const float* stage = buffer[tile % STAGES];
      pipe.consumer_wait();
      for (int i = rank; i < TILE; i += threads) y[tile * TILE + i] = stage[i] - stage[TILE - 1 - i];
      pipe.consumer_release();
    }
  }
}
