// expect: deadlock, illegal-collective
// cell: moved
// The instruction belongs to the warpgroup, not to the thread that has work.
#include <cuda/ptx>
#include <ws/registers.cuh>
namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;
constexpr int LOADER_THREADS = 128, COMPUTE_THREADS = 128 * WARPGROUPS;

// 1. COMPUTE_REGISTERS, a constexpr int.
constexpr int LEFT = (65536 - LOADER_THREADS * LOADER_REGISTERS) / COMPUTE_THREADS / 8 * 8;
constexpr int COMPUTE_REGISTERS = LEFT < 240 ? LEFT : 240;

struct Ring {
  float buffer[STAGES][TILE];
  Barrier full[STAGES], empty[STAGES];
};

__device__ void wait(Barrier& barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
}

__device__ void load(Ring& ring, const float* x, int tiles) {  // for one warp
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % STAGES;
    wait(ring.empty[stage], tile / STAGES % 2 == 0);
    for (int i = threadIdx.x; i < TILE; i += 32) ring.buffer[stage][i] = x[tile * TILE + i];
    ptx::mbarrier_arrive(&ring.full[stage]);
  }
}

__device__ void compute(Ring& ring, float* y, int tiles) {  // for the threads from LOADER_THREADS on
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % STAGES, i = threadIdx.x - LOADER_THREADS;
    wait(ring.full[stage], tile / STAGES % 2);
    if (i < TILE) y[tile * TILE + i] = ring.buffer[stage][i] * ring.buffer[stage][TILE - 1 - i];
    ptx::mbarrier_arrive(&ring.empty[stage]);
  }
}

__global__ void __launch_bounds__(LOADER_THREADS + COMPUTE_THREADS, 1)
    moved(const float* x, float* y, int* registers, int tiles) {
  __shared__ Ring ring;
  if (threadIdx.x == 0) {
    *registers = COMPUTE_REGISTERS;
    for (int s = 0; s < STAGES; ++s) {
      ptx::mbarrier_init(&ring.full[s], 32);
      ptx::mbarrier_init(&ring.empty[s], COMPUTE_THREADS);
    }
  }
  __syncthreads();
  // 2. The dispatch: registers, then work.
  if (threadIdx.x < LOADER_THREADS) {
    if (threadIdx.x == 0) ws::setmaxnreg_dec<LOADER_REGISTERS>();
    if (threadIdx.x < 32) load(ring, x, tiles);
  } else {
    ws::setmaxnreg_inc<COMPUTE_REGISTERS>();
    compute(ring, y, tiles);
  }
}
