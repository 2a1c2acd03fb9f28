// expect: deadlock
// cell: mended
// A single bit: the last CTA alone is served.
#include <cooperative_groups.h>
#include <cuda/ptx>
#include <ws/cluster.cuh>
#include <ws/trace.cuh>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;
constexpr int LEADER = 0;
constexpr unsigned BYTES = TILE * sizeof(float);

struct Ring {
  alignas(128) float a[STAGES][TILE];
  alignas(128) float b[STAGES][TILE];
  Barrier full[STAGES], empty[STAGES], ready[STAGES];
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

// My own arrival at my full, and so many bytes are to land here.
__device__ void announce(Barrier& full, unsigned bytes) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, bytes);
}

// An arrival at the barrier of the leader that lies where `mine` lies here.
__device__ void permit(Barrier& mine) { ws::arrive_remote(cg::this_cluster().map_shared_rank(&mine, LEADER)); }

__device__ void copy(float* to, const float* from, Barrier& full) {
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, BYTES, &full);
}

__device__ void multicast(float* to, const float* from, Barrier& full, int row) {
  ws::Span span(ws::Work::load, row);
  const unsigned short everyone = 1 << (CLUSTER - 1);
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, BYTES, &full, everyone);
}

// The rows of a cluster are `first` and the CLUSTER - 1 that follow; they use one vector of b.
__device__ void load(Ring& ring, const float* a, const float* b, int rows) {
  const int rank = cg::this_cluster().block_rank();
  PipelineState at{0, 1};
  for (int first = blockIdx.x - rank; first < rows; first += gridDim.x, at.advance()) {
    const int row = first + rank;
    Barrier& full = ring.full[at.stage];
    wait(ring.empty[at.stage], at.parity);
    announce(full, row < rows ? 2 * BYTES : BYTES);
    permit(ring.ready[at.stage]);
    if (row < rows) copy(ring.a[at.stage], a + row * TILE, full);
    if (rank == LEADER) {
      wait(ring.ready[at.stage], at.parity ^ 1);
      multicast(ring.b[at.stage], b + first / CLUSTER * TILE, full, row);
    }
  }
}

__device__ void compute(Ring& ring, float* c, int rows) {
  const int lane = threadIdx.x % 32, rank = cg::this_cluster().block_rank();
  PipelineState at{0, 0};
  for (int first = blockIdx.x - rank; first < rows; first += gridDim.x, at.advance()) {
    const int row = first + rank;
    wait(ring.full[at.stage], at.parity);
    if (row < rows) {
      for (int i = lane; i < TILE; i += 32) c[row * TILE + i] = ring.a[at.stage][i] * ring.b[at.stage][i];
    }
    ptx::mbarrier_arrive(&ring.empty[at.stage]);
  }
}

__global__ void mended(const float* a, const float* b, float* c, int rows) {
  __shared__ Ring ring;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      ptx::mbarrier_init(&ring.full[s], 1);
      ptx::mbarrier_init(&ring.empty[s], 32);
      ptx::mbarrier_init(&ring.ready[s], CLUSTER);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cg::this_cluster().sync();
  if (threadIdx.x == 0) {
    load(ring, a, b, rows);
  } else if (threadIdx.x >= 32) {
    compute(ring, c, rows);
  }
  __syncwarp();
  cg::this_cluster().sync();
}
