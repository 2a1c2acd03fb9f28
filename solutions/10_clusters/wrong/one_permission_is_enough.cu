// expect: deadlock, race, barrier-misuse
// cell: broadcast
// ready completes with the first arrival.
#include <cooperative_groups.h>
#include <cuda/ptx>
#include <ws/cluster.cuh>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;
constexpr unsigned BYTES = TILE * sizeof(float);

struct Storage {
  alignas(16) float buffer[TILE];
  Barrier full, empty, ready;
};

__device__ void wait(Barrier& barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
}

__device__ void expect(Barrier& full) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, BYTES);
}

__device__ void copy_in(Storage& s, const float* tile, Barrier* full) {
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s.buffer, tile, BYTES, full);
}

__device__ void copy_to(int rank, Storage& s, Barrier* full) {
  float* there = cg::this_cluster().map_shared_rank(s.buffer, rank);
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, there, s.buffer, BYTES, full);
}

// x is null in every CTA but the leader. The tiles of a cluster are first, first + step, …
__device__ void move(Storage& s, const float* x, int tiles, int first, int step) {
  auto cluster = cg::this_cluster();
  const int rank = cluster.block_rank(), size = cluster.num_blocks();
  unsigned parity = 0;  // of the phase that this round completes
  for (int tile = first; tile < tiles; tile += step, parity ^= 1) {
    // 3. One tile into the buffer of this CTA; the leader loads and sends it.
    wait(s.empty, parity ^ 1);
    expect(s.full);
    ws::arrive_remote(cluster.map_shared_rank(&s.ready, 0));
    if (rank == 0) {
      wait(s.ready, parity);
      copy_in(s, x + size_t(tile) * TILE, &s.full);
      wait(s.full, parity);
      for (int other = 1; other < size; ++other) copy_to(other, s, cluster.map_shared_rank(&s.full, other));
    }
  }
}

__device__ void compute(Storage& s, float* y, int tiles, int first, int step) {
  const int rank = cg::this_cluster().block_rank(), size = cg::this_cluster().num_blocks(), lane = threadIdx.x % 32;
  unsigned parity = 0;
  for (int tile = first; tile < tiles; tile += step, parity ^= 1) {
    float* to = y + (size_t(tile) * size + rank) * TILE;
    wait(s.full, parity);
    for (int i = lane; i < TILE; i += 32) to[i] = (rank + 1) * s.buffer[i];
    ptx::mbarrier_arrive(&s.empty);
  }
}

__global__ void broadcast(const float* x, float* y, int tiles) {
  __shared__ Storage s;
  auto cluster = cg::this_cluster();
  const int size = cluster.num_blocks(), first = blockIdx.x / size, step = gridDim.x / size;
  if (threadIdx.x == 0) {
    // 1. How many arrivals complete a phase of each barrier?
    ptx::mbarrier_init(&s.full, 1);
    ptx::mbarrier_init(&s.empty, 32);
    ptx::mbarrier_init(&s.ready, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  // 2. Before anybody uses a barrier, here or there.
  cluster.sync();
  if (threadIdx.x == 0) {
    move(s, cluster.block_rank() == 0 ? x : nullptr, tiles, first, step);
  } else if (threadIdx.x >= 32) {
    compute(s, y, tiles, first, step);
  }
  __syncwarp();
  // 4. Before anybody leaves.
  cluster.sync();
}
