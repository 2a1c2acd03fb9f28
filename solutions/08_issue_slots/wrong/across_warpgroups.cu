// expect: AssertionError
// cell: spread
// Spread, but the computing warps are 1 to TEAMS: no whole warpgroup.
#include <cuda/ptx>
namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;

__device__ void wait(Barrier& barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
}

__global__ void spread(const float* x, float* y, float* who, int tiles) {
  __shared__ float buffer[TEAMS][TILE];
  __shared__ Barrier full[TEAMS], empty[TEAMS];
  if (threadIdx.x == 0) {
    for (int t = 0; t < TEAMS; ++t) {
      ptx::mbarrier_init(&full[t], 32);
      ptx::mbarrier_init(&empty[t], 32);
    }
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // The team of this warp, and whether it loads: `team` and `loads`.
  const bool loads = warp == 0 || warp > TEAMS;
  const int team = !loads ? warp - 1 : warp == 0 ? 0 : warp - TEAMS;
  if (!loads && lane == 0) who[blockIdx.x * TEAMS + team] = warp;
  unsigned parity = loads ? 1 : 0;
  for (int tile = blockIdx.x * TEAMS + team; tile < tiles; tile += gridDim.x * TEAMS, parity ^= 1) {
    if (loads) {
      wait(empty[team], parity);
      for (int i = lane; i < TILE; i += 32) buffer[team][i] = x[tile * TILE + i];
      ptx::mbarrier_arrive(&full[team]);
    } else {
      wait(full[team], parity);
      const float* stage = buffer[team];
      for (int i = lane; i < TILE; i += 32) y[tile * TILE + i] = stage[i] * stage[TILE - 1 - i];
      ptx::mbarrier_arrive(&empty[team]);
    }
  }
}
