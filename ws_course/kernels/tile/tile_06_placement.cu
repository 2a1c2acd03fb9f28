// Bulk copies, with the compute warps on as many of the SM's schedulers as you like.
//
// Claim         An SM has four schedulers, and a warp belongs to one for life: its number in the block mod 4. Four
//               compute warps on one scheduler share its one instruction a cycle; the other three issue nothing.
// Differs from  tile_06 by which warps compute: every (4 / SCHEDULERS)-th from warp 1 on. The others leave at once.
//
// Roles         | role    | warps                                   | job                                          |
//               | loader  | warp 0 (one thread of it)               | asks the copy engine for A[i], B[i] -> stage |
//               | compute | 4: 1, 1 + STRIDE, 1 + 2 STRIDE, …       | stage -> registers -> C[i]                   |
//               | none    | the rest                                | return                                       |
//
// Barriers      | name     | from -> to                         | arrivals        | tx bytes    | first parity |
//               | full[s]  | loader, copy engine -> compute     | 1               | STAGE_BYTES | 0: blocks    |
//               | empty[s] | compute release -> loader acquire  | compute threads | 0           | 1: passes    |
//
// Constraints   as tile_06; COMPUTE_THREADS = 128; block = 448 threads for every SCHEDULERS.
// Lesson        08 issue slots
#include <cuda/ptx>
#include <ws/trace.cuh>

namespace ptx = cuda::ptx;

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                        // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // a thread computes ROWS x 4 elements of C
constexpr int STRIDE = 4 / SCHEDULERS;                              // compute warps are 1, 1 + STRIDE, 1 + 2 STRIDE …
constexpr int THREADS = 32 * (2 + 4 * (COMPUTE_THREADS / 32 - 1));  // as many as STRIDE = 4 needs
constexpr unsigned TILE_BYTES = TILE_FLOATS * sizeof(float), STAGE_BYTES = 2 * TILE_BYTES;
static_assert(TILE % 4 == 0 && COMPUTE_THREADS % 32 == 0, "rows of whole float4, whole warps");
static_assert(COMPUTE_THREADS % COLUMNS == 0 && ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");
static_assert(STAGES >= 1, "a tile needs a stage");
static_assert(SCHEDULERS == 1 || SCHEDULERS == 2 || SCHEDULERS == 4, "an SM has four schedulers");
static_assert(COMPUTE_THREADS == 128, "four compute warps");
static_assert(TILE_BYTES % 16 == 0 && STAGE_BYTES < 1 << 20, "whole 16 bytes, and no more than a barrier can count");

using Barrier = cuda::std::uint64_t;

struct SharedStorage {
  float4 a[STAGES][TILE_FLOATS / 4];
  float4 b[STAGES][TILE_FLOATS / 4];
  Barrier full[STAGES];
  Barrier empty[STAGES];
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

// Announces the bytes of the stage and arrives: full completes when all of them have landed.
__device__ void producer_expect(SharedStorage& s, PipelineState at) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &s.full[at.stage], STAGE_BYTES);
}

__device__ void consumer_wait(SharedStorage& s, PipelineState at) { wait(s.full[at.stage], at.parity); }

__device__ void consumer_release(SharedStorage& s, PipelineState at) { ptx::mbarrier_arrive(&s.empty[at.stage]); }
// [/ring]

// [load]
// Asks the copy engine for one tile, which it counts on `full` as it lands.
__device__ void copy(float4* to, const float* from, Barrier& full) {
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, TILE_BYTES, &full);
}

__device__ void load(SharedStorage& s, const float* A, const float* B, int tiles) {
  PipelineState at{0, 1};
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
    producer_acquire(s, at);  // empty[stage]: the compute threads have released it
    ws::Span span(ws::Work::load, tile);
    producer_expect(s, at);  // full[stage]: my arrival, and the bytes of both tiles
    copy(s.a[at.stage], A + size_t(tile) * TILE_FLOATS, s.full[at.stage]);
    copy(s.b[at.stage], B + size_t(tile / SHARE) * TILE_FLOATS, s.full[at.stage]);
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

__device__ void compute(SharedStorage& s, float* C, int tiles, int thread) {
  PipelineState at{0, 0};
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
    consumer_wait(s, at);  // full[stage]: all bytes of both tiles have landed
    float4 c[ROWS] = {};
    {
      ws::Span span(ws::Work::compute, tile);
      multiply(s.a[at.stage], s.b[at.stage], c, thread);
    }
    consumer_release(s, at);  // empty[stage]: I have read it
    ws::Span span(ws::Work::store, tile);
    store(C + size_t(tile) * TILE_FLOATS, c, thread);
  }
}
// [/compute]

// [kernel]
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    tile_06_placement(const float* A, const float* B, float* C, int tiles) {
  extern __shared__ float4 dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      ptx::mbarrier_init(&s.full[i], 1);
      ptx::mbarrier_init(&s.empty[i], COMPUTE_THREADS);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);  // initialised -> seen by the copy engine
  }
  __syncthreads();  // barriers initialised -> used; the only block-wide barrier
  if (threadIdx.x == 0) {
    load(s, A, B, tiles);
  } else if (threadIdx.x >= 32) {
    const int warp = threadIdx.x / 32 - 1;  // 0, STRIDE, 2 STRIDE … compute, as many as there are compute warps
    if (warp % STRIDE == 0 && warp / STRIDE < COMPUTE_THREADS / 32) {
      compute(s, C, tiles, warp / STRIDE * 32 + threadIdx.x % 32);
    }
  }
}
// [/kernel]
