// expect: race, uninitialised-read
// cell: total
// The adding warp reads what may not be there.
#include <cuda/ptx>
namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;
constexpr int LOADER_THREADS = 32 * LOADERS;

struct PipelineState {
  int stage;
  unsigned parity;
  __device__ void advance() {
    // 1. One place further in the ring.
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
};

__device__ void wait(Barrier& barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
}

__device__ float warp_sum(float mine) {  // all lanes of a warp call it; lane 0 gets the sum
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffff, mine, step);
  return mine;
}

__global__ void total(const float* x, float* y, int tiles) {
  __shared__ float buffer[STAGES][TILE];
  __shared__ Barrier full[STAGES], empty[STAGES];
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      // 2. How many arrivals complete a phase of full[s], and of empty[s]?
      ptx::mbarrier_init(&full[s], LOADER_THREADS);
      ptx::mbarrier_init(&empty[s], 32);
    }
  }
  __syncthreads();
  if (threadIdx.x < LOADER_THREADS) {  // the loaders
    PipelineState at{0, 1};
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
      wait(empty[at.stage], at.parity);
      for (int i = threadIdx.x; i < TILE; i += LOADER_THREADS) buffer[at.stage][i] = x[tile * TILE + i];
      ptx::mbarrier_arrive(&full[at.stage]);
    }
  } else {  // the warp that adds
    const int lane = threadIdx.x % 32;
    // 3. For each tile of this block: y[tile] = the sum of the tile, written by lane 0. All lanes arrive.
    PipelineState at{0, 0};
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
      float mine = 0;
      for (int i = lane; i < TILE; i += 32) mine += buffer[at.stage][i];
      ptx::mbarrier_arrive(&empty[at.stage]);
      mine = warp_sum(mine);
      if (lane == 0) y[tile] = mine;
    }
  }
}
