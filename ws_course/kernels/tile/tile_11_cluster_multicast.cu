// A warp-specialized cluster pipeline: one loader asks for B, and TMA delivers it to every CTA of the cluster.
//
// Claim         A multicast copy reads L2 once, writes to the same place in every CTA's shared memory and signals each
//               CTA's own full barrier: nobody sends, and no SM pays for the others.
// Differs from  tile_10 by one operand: the leader's copy of B has a mask of CTAs. The sender and its warp are gone.
//
// Roles         | role    | warps                | job                                                        |
//               | loader  | 1 (one thread of it) | A[i] -> stage; in the leader B -> that stage of every CTA  |
//               | compute | COMPUTE_THREADS / 32 | stage -> registers -> C[i]                                 |
//
// Barriers      | name     | from -> to                             | arrivals        | tx bytes    | first parity |
//               | full[s]  | loader, copy engine -> compute         | 1               | STAGE_BYTES | 0: blocks    |
//               | empty[s] | compute release -> loader of that CTA  | compute threads | 0           | 1: passes    |
//               | ready[s] | all CTAs' loaders -> leader's loader   | CLUSTER         | 0           | 0: blocks    |
//
// Constraints   any number of tiles; grid and SHARE multiples of CLUSTER; block = 32 + COMPUTE_THREADS; dynamic shared
//               memory = sizeof(SharedStorage); clusters need compute capability 9.0.
// Lesson        11 warp-specialized cluster pipeline
#include <cooperative_groups.h>
#include <cuda/ptx>
#include <ws/cluster.cuh>
#include <ws/trace.cuh>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                        // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // a thread computes ROWS x 4 elements of C
constexpr int FIRST_COMPUTE = 32;  // the loader is a whole warp, so that roles begin at warps; its thread 0 works
constexpr int LEADER = 0;          // the CTA of a cluster that loads B
constexpr unsigned TILE_BYTES = TILE_FLOATS * sizeof(float), STAGE_BYTES = 2 * TILE_BYTES;
static_assert(TILE % 4 == 0 && COMPUTE_THREADS % 32 == 0, "rows of whole float4, whole warps");
static_assert(COMPUTE_THREADS % COLUMNS == 0 && ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");
static_assert(STAGES >= 1, "a tile needs a stage");
static_assert(CLUSTER >= 1 && CLUSTER <= 8 && SHARE % CLUSTER == 0, "at most 8 CTAs, whose tiles use one B");
static_assert(TILE_BYTES % 16 == 0 && STAGE_BYTES < 1 << 20, "whole 16 bytes, and no more than a barrier can count");

using Barrier = cuda::std::uint64_t;

struct SharedStorage {
  float4 a[STAGES][TILE_FLOATS / 4];
  float4 b[STAGES][TILE_FLOATS / 4];
  Barrier full[STAGES];
  Barrier empty[STAGES];
  Barrier ready[STAGES];  // the leader's is used
};

// [ring]
// Where a role is in the ring: the stage, and the parity of the phase that it waits for.
struct PipelineState {
  int stage;
  unsigned parity;
  __device__ void advance() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;  // once round the ring: every barrier is one phase further
    }
  }
};

__device__ void wait(Barrier& barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
}

__device__ void producer_acquire(SharedStorage& s, PipelineState at) { wait(s.empty[at.stage], at.parity); }

// Announces the bytes that the stage gets and arrives: full completes when all of them have landed.
__device__ void producer_expect(SharedStorage& s, PipelineState at, unsigned bytes) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &s.full[at.stage], bytes);
}

__device__ void consumer_wait(SharedStorage& s, PipelineState at) { wait(s.full[at.stage], at.parity); }

__device__ void consumer_release(SharedStorage& s, PipelineState at) { ptx::mbarrier_arrive(&s.empty[at.stage]); }
// [/ring]

// [ready]
// Tells the leader that this CTA's stage is free and expects B. It is permission that goes there, no data.
__device__ void producer_ready(SharedStorage& s, PipelineState at) {
  ws::arrive_remote(cg::this_cluster().map_shared_rank(&s.ready[at.stage], LEADER));
}
// [/ready]

// [load]
// Asks the copy engine for one tile, which it counts on `full` as it lands.
__device__ void copy(float4* to, const float* from, Barrier& full) {
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, TILE_BYTES, &full);
}

// The same for every CTA of the cluster: the tile lands at the offset of `to` in each, counted on each one's `full`.
__device__ void multicast(float4* to, const float* from, Barrier& full) {
  constexpr cuda::std::uint16_t EVERYONE = (1u << CLUSTER) - 1;
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, TILE_BYTES, &full, EVERYONE);
}

// The tiles of a cluster are `first` and the CLUSTER - 1 that follow; past the last tile a CTA still takes B.
__device__ void load(SharedStorage& s, const float* A, const float* B, int tiles) {
  const int rank = cg::this_cluster().block_rank();
  PipelineState at{0, 1};
  for (int first = blockIdx.x - rank; first < tiles; first += gridDim.x, at.advance()) {
    const int tile = first + rank;
    producer_acquire(s, at);  // empty[stage]: my compute threads have released it
    ws::Span span(ws::Work::load, tile);
    producer_expect(s, at, tile < tiles ? STAGE_BYTES : TILE_BYTES);  // full[stage]: my arrival, and these bytes
    if (tile < tiles) copy(s.a[at.stage], A + size_t(tile) * TILE_FLOATS, s.full[at.stage]);
    producer_ready(s, at);  // ready[stage] of the leader: B may come
    if (rank == LEADER) {
      wait(s.ready[at.stage], at.parity ^ 1);  // ready[stage]: all CTAs have released it and expect B
      multicast(s.b[at.stage], B + size_t(first / SHARE) * TILE_FLOATS, s.full[at.stage]);
    }
  }
}
// [/load]

// [multiply]
__device__ void multiply_add(float4& c, float a, const float4& b) {
  c.x += a * b.x;
  c.y += a * b.y;
  c.z += a * b.z;
  c.w += a * b.w;
}

// Adds A B to this thread's piece of C. For every four steps of k: ROWS vectors of A, 4 of B, 16 ROWS multiply-adds.
__device__ void multiply(const float4* a, const float4* b, float4 (&c)[ROWS], int thread) {
  const int row = thread / COLUMNS * ROWS, column = thread % COLUMNS;
#pragma unroll 1
  for (int repeat = 0; repeat < INTENSITY; ++repeat) {
#pragma unroll 8
    for (int k = 0; k < COLUMNS; ++k) {
      const float4* rows = b + 4 * k * COLUMNS + column;
      const float4 b0 = rows[0], b1 = rows[COLUMNS], b2 = rows[2 * COLUMNS], b3 = rows[3 * COLUMNS];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const float4 x = a[(row + r) * COLUMNS + k];
        multiply_add(c[r], x.x, b0);
        multiply_add(c[r], x.y, b1);
        multiply_add(c[r], x.z, b2);
        multiply_add(c[r], x.w, b3);
      }
    }
  }
}
// [/multiply]

// [compute]
// Writes this thread's piece of C, 16 bytes of a row at a time.
__device__ void store(float* to, const float4 (&c)[ROWS], int thread) {
  const int row = thread / COLUMNS * ROWS, column = thread % COLUMNS;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    reinterpret_cast<float4*>(to)[(row + r) * COLUMNS + column] = c[r];
  }
}

__device__ void compute(SharedStorage& s, float* C, int tiles) {
  const int thread = threadIdx.x - FIRST_COMPUTE, rank = cg::this_cluster().block_rank();
  PipelineState at{0, 0};
  for (int first = blockIdx.x - rank; first < tiles; first += gridDim.x, at.advance()) {
    const int tile = first + rank;
    consumer_wait(s, at);  // full[stage]: all bytes of both tiles have landed
    float4 c[ROWS] = {};
    if (tile < tiles) {
      ws::Span span(ws::Work::compute, tile);
      multiply(s.a[at.stage], s.b[at.stage], c, thread);
    }
    consumer_release(s, at);  // empty[stage]: I have read it
    if (tile < tiles) {
      ws::Span span(ws::Work::store, tile);
      store(C + size_t(tile) * TILE_FLOATS, c, thread);
    }
  }
}
// [/compute]

// [kernel]
extern "C" __global__ void __launch_bounds__(FIRST_COMPUTE + COMPUTE_THREADS, 1)
    tile_11_cluster_multicast(const float* A, const float* B, float* C, int tiles) {
  extern __shared__ float4 dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      ptx::mbarrier_init(&s.full[i], 1);
      ptx::mbarrier_init(&s.empty[i], COMPUTE_THREADS);
      ptx::mbarrier_init(&s.ready[i], CLUSTER);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);  // initialised -> seen by the cluster
  }
  cluster.sync();  // barriers of every CTA initialised -> used from anywhere
  if (threadIdx.x == 0) {
    load(s, A, B, tiles);
  } else if (threadIdx.x >= FIRST_COMPUTE) {
    compute(s, C, tiles);
  }
  __syncwarp();
  cluster.sync();  // nobody leaves while others arrive at its barriers
}
// [/kernel]
