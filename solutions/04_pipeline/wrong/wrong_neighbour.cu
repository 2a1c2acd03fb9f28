// expect: wrong-result
// cell: add-neighbour
// The left neighbour.
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

__global__ void add_neighbour(const float* x, float* y, int tiles) {
  __shared__ alignas(16) float buffer[STAGES][TILE];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int i = threadIdx.x;

  auto load = [&](int tile) {
    // The producer's half.
    pipe.producer_acquire();
    cuda::memcpy_async(block, buffer[tile % STAGES], x + tile * TILE, TILE * sizeof(float), pipe);
    pipe.producer_commit();
  };
  for (int tile = 0; tile < STAGES - 1 && tile < tiles; ++tile) load(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + STAGES - 1 < tiles) load(tile + STAGES - 1);
    // The consumer's half.
    pipe.consumer_wait();
    y[tile * TILE + i] = buffer[tile % STAGES][i] + buffer[tile % STAGES][(i + TILE - 1) % TILE];
    pipe.consumer_release();
  }
}
