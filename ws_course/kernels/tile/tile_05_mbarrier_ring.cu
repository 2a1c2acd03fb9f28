// The ring by hand: a full and an empty mbarrier per stage, and a state {stage, parity} per role.
//
// Claim         A block-scope cuda::pipeline is nothing but this: two mbarriers a stage and four short functions. Built
//               by hand it costs no more, and the next rungs can change what arrives.
// Differs from  tile_04_two_roles by the pipeline: acquire, commit, wait and release are written out, and the barriers
//               lie behind the tiles.
//
// Roles         | role    | warps                | job                                   |
//               | loader  | LOADER_WARPS         | A[i], B[i] -> stage                   |
//               | compute | COMPUTE_THREADS / 32 | stage -> registers -> C[i]            |
//
// Barriers      | name     | from -> to                        | arrivals        | tx bytes | first parity |
//               | full[s]  | loader commit -> compute wait     | loader threads  | 0        | 0: blocks    |
//               | empty[s] | compute release -> loader acquire | compute threads | 0        | 1: passes    |
//
// Constraints   any number of tiles, any grid; block = 32 LOADER_WARPS + COMPUTE_THREADS; dynamic shared memory =
//               sizeof(SharedStorage); compute capability 9.0 (try_wait).
// Lesson        06 full and empty
#include <cuda/ptx>
#include <cuda_pipeline.h>
#include <ws/trace.cuh>

namespace ptx = cuda::ptx;

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                        // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // a thread computes ROWS x 4 elements of C
constexpr int LOADER_THREADS = 32 * LOADER_WARPS;
static_assert(TILE % 4 == 0 && COMPUTE_THREADS % 32 == 0, "rows of whole float4, whole warps");
static_assert(COMPUTE_THREADS % COLUMNS == 0 && ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");
static_assert(STAGES >= 1 && LOADER_WARPS >= 1, "every role needs a warp and a stage");

using Barrier = cuda::std::uint64_t;

struct SharedStorage {
  float4 a[STAGES][TILE_FLOATS / 4];
  float4 b[STAGES][TILE_FLOATS / 4];
  Barrier full[STAGES];
  Barrier empty[STAGES];
};

// [ring]
// Where a role is in the ring: the stage, and the parity of the phase that it waits for. A barrier's phases count
// 0, 1, 2 …; waiting for parity p returns once a phase of parity p is complete, and before phase 0 the phase "-1" of
// parity 1 counts as complete. So who waits for full starts with 0, who waits for empty (as all stages are) with 1.
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

// Arrives at full when the copies that this thread has issued have landed; the thread itself goes on.
__device__ void producer_commit(SharedStorage& s, PipelineState at) {
  ptx::cp_async_mbarrier_arrive_noinc(&s.full[at.stage]);
}

__device__ void consumer_wait(SharedStorage& s, PipelineState at) { wait(s.full[at.stage], at.parity); }

__device__ void consumer_release(SharedStorage& s, PipelineState at) { ptx::mbarrier_arrive(&s.empty[at.stage]); }
// [/ring]

// [load]
__device__ void load(SharedStorage& s, const float* A, const float* B, int tiles) {
  PipelineState at{0, 1};
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
    const float4* a = reinterpret_cast<const float4*>(A + size_t(tile) * TILE_FLOATS);
    const float4* b = reinterpret_cast<const float4*>(B + size_t(tile / SHARE) * TILE_FLOATS);
    producer_acquire(s, at);  // empty[stage]: the compute threads have released it
    ws::Span span(ws::Work::load, tile);
#pragma unroll 8
    for (int i = threadIdx.x; i < TILE_FLOATS / 4; i += LOADER_THREADS) {
      __pipeline_memcpy_async(&s.a[at.stage][i], &a[i], sizeof(float4));
      __pipeline_memcpy_async(&s.b[at.stage][i], &b[i], sizeof(float4));
    }
    producer_commit(s, at);  // full[stage]: my copies have landed
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
  const int thread = threadIdx.x - LOADER_THREADS;
  PipelineState at{0, 0};
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
    consumer_wait(s, at);  // full[stage]: the loaders' copies have landed
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
extern "C" __global__ void __launch_bounds__(LOADER_THREADS + COMPUTE_THREADS, 1)
    tile_05_mbarrier_ring(const float* A, const float* B, float* C, int tiles) {
  extern __shared__ float4 dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      ptx::mbarrier_init(&s.full[i], LOADER_THREADS);
      ptx::mbarrier_init(&s.empty[i], COMPUTE_THREADS);
    }
  }
  __syncthreads();  // barriers initialised -> used; the only block-wide barrier
  if (threadIdx.x < LOADER_THREADS) {
    load(s, A, B, tiles);
  } else {
    compute(s, C, tiles);
  }
}
// [/kernel]
