// Warp roles: loader, compute and storer warps, joined by two partitioned pipelines.
//
// Claim         Each warp does one job in its own loop and waits only for its neighbours: loaders run STAGES tiles
//               ahead, storers drain C while the next product runs. The main loop has no block-wide barrier.
// Differs from  tile_03 by who calls what: the pipeline is partitioned, so producers call acquire and commit only,
//               consumers wait and release only; C takes a second pipeline to the storers.
//
// Roles         | role    | warps                | job                                         |
//               | loader  | LOADER_WARPS         | A[i], B[i] -> stage                         |
//               | compute | COMPUTE_THREADS / 32 | stage -> registers -> C in shared memory    |
//               | storer  | STORER_WARPS         | C in shared memory -> C[i]                  |
//
// Barriers      | name                | from -> to                          | arrivals        | first wait |
//               | loaded full[s]      | loader commit -> compute wait       | loader threads  | blocks     |
//               | loaded empty[s]     | compute release -> loader acquire   | compute threads | passes     |
//               | computed full       | compute commit -> storer wait       | compute threads | blocks     |
//               | computed empty      | storer release -> compute acquire   | storer threads  | passes     |
//
// Constraints   any number of tiles, any grid; block = 32 LOADER_WARPS + COMPUTE_THREADS + 32 STORER_WARPS; dynamic
//               shared memory = sizeof(SharedStorage).
// Lesson        05 warp roles
#include <cuda/barrier>
#include <cuda/pipeline>
#include <ws/trace.cuh>
#pragma nv_diag_suppress static_var_with_dynamic_init  // init() starts a __shared__ barrier, its constructor does not

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                        // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // a thread computes ROWS x 4 elements of C
constexpr int LOADER_THREADS = 32 * LOADER_WARPS, STORER_THREADS = 32 * STORER_WARPS;
static_assert(TILE % 4 == 0 && COMPUTE_THREADS % 32 == 0, "rows of whole float4, whole warps");
static_assert(COMPUTE_THREADS % COLUMNS == 0 && ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");
static_assert(STAGES >= 1 && LOADER_WARPS >= 1 && STORER_WARPS >= 1, "every role needs a warp and a stage");
static_assert(LOADER_THREADS + COMPUTE_THREADS + STORER_THREADS <= 1024, "a block holds at most 1024 threads");

struct SharedStorage {
  float4 a[STAGES][TILE_FLOATS / 4];
  float4 b[STAGES][TILE_FLOATS / 4];
  float4 c[TILE_FLOATS / 4];
};

using Barrier = cuda::barrier<cuda::thread_scope_block>;
using Pipeline = cuda::pipeline<cuda::thread_scope_block>;
using cuda::pipeline_role;

// [team]
// The threads [first, first + count) of the block as a libcu++ thread group: the two roles that share a pipeline.
// It meets at a barrier of its own, because __syncthreads would wait for the third role too.
struct Team {
  int first, count;
  Barrier* barrier;
  __device__ int size() const { return count; }
  __device__ int thread_rank() const { return int(threadIdx.x) - first; }
  __device__ void sync() const { barrier->arrive_and_wait(); }
};
// [/team]

// [load]
__device__ void load(SharedStorage& s, const float* A, const float* B, int tiles, Pipeline& loaded) {
  const Team loaders{0, LOADER_THREADS, nullptr};  // a copy divides the work and never calls sync()
  const cuda::aligned_size_t<16> bytes(TILE_FLOATS * sizeof(float));
  int stage = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, stage = (stage + 1) % STAGES) {
    const float4* a = reinterpret_cast<const float4*>(A + size_t(tile) * TILE_FLOATS);
    const float4* b = reinterpret_cast<const float4*>(B + size_t(tile / SHARE) * TILE_FLOATS);
    loaded.producer_acquire();  // empty[stage]: the compute threads have released it
    ws::Span span(ws::Work::load, tile);
    cuda::memcpy_async(loaders, s.a[stage], a, bytes, loaded);
    cuda::memcpy_async(loaders, s.b[stage], b, bytes, loaded);
    loaded.producer_commit();  // arrives at full[stage] when my copies have landed
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
__device__ void compute(SharedStorage& s, int tiles, Pipeline& loaded, Pipeline& computed) {
  const int thread = threadIdx.x - LOADER_THREADS;
  const int row = thread / COLUMNS * ROWS, column = thread % COLUMNS;
  int stage = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, stage = (stage + 1) % STAGES) {
    loaded.consumer_wait();  // full[stage]: the loaders' copies have landed
    float4 c[ROWS] = {};
    {
      ws::Span span(ws::Work::compute, tile);
      multiply(s.a[stage], s.b[stage], c, thread);
    }
    loaded.consumer_release();    // empty[stage]: I have read it
    computed.producer_acquire();  // empty: the storers have read the previous C
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      s.c[(row + r) * COLUMNS + column] = c[r];
    }
    computed.producer_commit();  // full: my piece of C is written
  }
}
// [/compute]

// [store]
__device__ void store(SharedStorage& s, float* C, int tiles, Pipeline& computed) {
  const int thread = threadIdx.x - LOADER_THREADS - COMPUTE_THREADS;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float4* c = reinterpret_cast<float4*>(C + size_t(tile) * TILE_FLOATS);
    computed.consumer_wait();  // full: the compute threads have written C
    {
      ws::Span span(ws::Work::store, tile);
      for (int i = thread; i < TILE_FLOATS / 4; i += STORER_THREADS) {
        c[i] = s.c[i];
      }
    }
    computed.consumer_release();  // empty: I have read my part of C
  }
}
// [/store]

// [kernel]
extern "C" __global__ void __launch_bounds__(LOADER_THREADS + COMPUTE_THREADS + STORER_THREADS, 1)
    tile_04_pipeline_roles(const float* A, const float* B, float* C, int tiles) {
  extern __shared__ float4 dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> loaded_state;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> computed_state;
  __shared__ Barrier meet[2];
  const Team loading{0, LOADER_THREADS + COMPUTE_THREADS, &meet[0]};
  const Team storing{LOADER_THREADS, COMPUTE_THREADS + STORER_THREADS, &meet[1]};
  if (threadIdx.x == 0) {
    init(&meet[0], loading.size());
    init(&meet[1], storing.size());
  }
  __syncthreads();  // barriers initialised -> used; the only block-wide barrier
  if (threadIdx.x < LOADER_THREADS) {
    Pipeline loaded = cuda::make_pipeline(loading, &loaded_state, pipeline_role::producer);
    load(s, A, B, tiles, loaded);
  } else if (threadIdx.x < LOADER_THREADS + COMPUTE_THREADS) {
    Pipeline loaded = cuda::make_pipeline(loading, &loaded_state, pipeline_role::consumer);
    Pipeline computed = cuda::make_pipeline(storing, &computed_state, pipeline_role::producer);
    compute(s, tiles, loaded, computed);
  } else {
    Pipeline computed = cuda::make_pipeline(storing, &computed_state, pipeline_role::consumer);
    store(s, C, tiles, computed);
  }
}
// [/kernel]
