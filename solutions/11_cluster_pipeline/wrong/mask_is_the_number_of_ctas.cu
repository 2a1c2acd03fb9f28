// expect: deadlock
// cell: scaled
// The mask is a set of bits, not a count: the leader is left out.
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
  alignas(128) float buffer[STAGES][TILE];
  Barrier full[STAGES], empty[STAGES], ready[STAGES];  // of ready, the leader's is used
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

// Asks for one vector, for every CTA of `mask`: bit r is the CTA of rank r. `number` is for the trace.
__device__ void multicast(float* to, const float* from, Barrier& full, unsigned mask, int number) {
  ws::Span span(ws::Work::load, number);
  const auto ctas = static_cast<unsigned short>(mask);
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, BYTES, &full, ctas);
}

// Every cluster takes the vectors first, first + clusters, ...
__device__ void load(Ring& ring, const float* w, int vectors) {
  const int rank = cg::this_cluster().block_rank();
  const int first = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
  // 1. The loader's loop, of one thread in every CTA. Vector v begins at w + v * TILE.
  PipelineState at{0, 1};
  for (int v = first; v < vectors; v += clusters, at.advance()) {
    wait(ring.empty[at.stage], at.parity);
    announce(ring.full[at.stage], BYTES);
    permit(ring.ready[at.stage]);
    if (rank == LEADER) {
      wait(ring.ready[at.stage], at.parity ^ 1);
      multicast(ring.buffer[at.stage], w + v * TILE, ring.full[at.stage], CLUSTER, v);
    }
  }
}

__device__ void compute(Ring& ring, const float* factor, float* y, int vectors) {
  const int lane = threadIdx.x % 32, rank = cg::this_cluster().block_rank();
  const int first = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
  PipelineState at{0, 0};
  for (int v = first; v < vectors; v += clusters, at.advance()) {
    wait(ring.full[at.stage], at.parity);
    float* row = y + (rank * vectors + v) * TILE;
    for (int i = lane; i < TILE; i += 32) row[i] = factor[rank] * ring.buffer[at.stage][i];
    ptx::mbarrier_arrive(&ring.empty[at.stage]);  // every lane
  }
}

__global__ void scaled(const float* w, const float* factor, float* y, int vectors) {
  __shared__ Ring ring;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      // 2. How many arrivals complete a phase of each of the three barriers?
      ptx::mbarrier_init(&ring.full[s], 1);
      ptx::mbarrier_init(&ring.empty[s], 32);
      ptx::mbarrier_init(&ring.ready[s], CLUSTER);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cg::this_cluster().sync();
  if (threadIdx.x == 0) {
    load(ring, w, vectors);
  } else if (threadIdx.x >= 32) {
    compute(ring, factor, y, vectors);
  }
  __syncwarp();
  cg::this_cluster().sync();
}
