// expect: deadlock
// cell: scale
// The last tile is shorter: bytes are announced that never land.
#include <cuda/ptx>
namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;
constexpr int LOADER_THREADS = 32, COMPUTE_THREADS = 32 * COMPUTERS;

struct Ring {
  alignas(16) float x[STAGES][TILE];
  alignas(16) float w[STAGES][TILE];
  Barrier full[STAGES], empty[STAGES];
};

struct PipelineState {
  int stage;
  unsigned parity;
  __device__ void advance() {
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
};

__device__ void wait(Barrier& barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
}

__device__ int floats_of(int tile, int n) { return min(TILE, n - tile * TILE); }

__device__ void load(Ring& ring, const float* x, const float* w, int n) {  // one thread
  // 2. Every tile of this block (blockIdx.x, blockIdx.x + gridDim.x, …) into the ring.
  PipelineState at{0, 1};
  for (int tile = blockIdx.x; tile * TILE < n; tile += gridDim.x, at.advance()) {
    const unsigned bytes = floats_of(tile, n) * sizeof(float);
    wait(ring.empty[at.stage], at.parity);
    Barrier& full = ring.full[at.stage];
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, 2 * TILE * sizeof(float));
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, ring.x[at.stage], x + tile * TILE, bytes, &full);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, ring.w[at.stage], w + tile * TILE, bytes, &full);
  }
}

__device__ void multiply(Ring& ring, float* y, int n) {
  PipelineState at{0, 0};
  for (int tile = blockIdx.x; tile * TILE < n; tile += gridDim.x, at.advance()) {
    wait(ring.full[at.stage], at.parity);
    for (int i = threadIdx.x - LOADER_THREADS; i < floats_of(tile, n); i += COMPUTE_THREADS) {
      y[tile * TILE + i] = ring.x[at.stage][i] * ring.w[at.stage][i];
    }
    ptx::mbarrier_arrive(&ring.empty[at.stage]);
  }
}

__global__ void scale(const float* x, const float* w, float* y, int n) {
  __shared__ Ring ring;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      ptx::mbarrier_init(&ring.empty[s], COMPUTE_THREADS);
      // 1. And full[s].
      ptx::mbarrier_init(&ring.full[s], 1);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);  // initialised -> seen by the copy engine
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    load(ring, x, w, n);
  } else if (threadIdx.x >= LOADER_THREADS) {
    multiply(ring, y, n);
  }
}
