// expect: illegal-collective, deadlock, AssertionError
// cell: stream
// A block-wide barrier that the loaders never reach.
#include <cuda/ptx>
#include <cuda_pipeline.h>
namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;
constexpr int LOADER_THREADS = 32 * LOADERS, COMPUTE_THREADS = 32 * COMPUTERS;

struct Ring {
  float buffer[STAGES][TILE];
  Barrier full[STAGES], empty[STAGES];
};

struct PipelineState {
  int stage;
  unsigned parity;
  __device__ void advance() {
    // Yours from part 2.
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
};

__device__ void wait(Barrier& barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
}

// 1. The four calls: one line each.
__device__ void producer_acquire(Ring& ring, PipelineState at) {
  wait(ring.empty[at.stage], at.parity);
}
__device__ void producer_commit(Ring& ring, PipelineState at) {
  ptx::cp_async_mbarrier_arrive_noinc(&ring.full[at.stage]);
}
__device__ void consumer_wait(Ring& ring, PipelineState at) {
  wait(ring.full[at.stage], at.parity);
}
__device__ void consumer_release(Ring& ring, PipelineState at) {
  ptx::mbarrier_arrive(&ring.empty[at.stage]);
}

__device__ void load(Ring& ring, const float* x, int tiles) {
  const int rank = threadIdx.x;  // among the loader threads
  // 2. Every tile of this block into the ring, by asynchronous copies.
  PipelineState at{0, 1};
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
    producer_acquire(ring, at);
    for (int i = rank; i < TILE; i += LOADER_THREADS) {
      __pipeline_memcpy_async(&ring.buffer[at.stage][i], &x[tile * TILE + i], sizeof(float));
    }
    producer_commit(ring, at);
  }
}

__device__ void compute(Ring& ring, float* y, int tiles) {
  const int rank = threadIdx.x - LOADER_THREADS;  // among the computing threads
  // 3. The work on every tile of this block.
  PipelineState at{0, 0};
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
    const float* stage = ring.buffer[at.stage];
    consumer_wait(ring, at);
    for (int i = rank; i < TILE; i += COMPUTE_THREADS) y[tile * TILE + i] = stage[i] * stage[TILE - 1 - i];
    consumer_release(ring, at);
    __syncthreads();
  }
}

__global__ void stream(const float* x, float* y, int tiles) {
  __shared__ Ring ring;
  if (threadIdx.x == 0) {
    // 4. The barriers of every stage.
    for (int s = 0; s < STAGES; ++s) {
      ptx::mbarrier_init(&ring.full[s], LOADER_THREADS);
      ptx::mbarrier_init(&ring.empty[s], COMPUTE_THREADS);
    }
  }
  __syncthreads();
  if (threadIdx.x < LOADER_THREADS) {
    load(ring, x, tiles);
  } else {
    compute(ring, y, tiles);
  }
}
