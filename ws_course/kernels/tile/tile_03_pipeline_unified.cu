// A unified cuda::pipeline: the block's threads share one pipeline, and __syncthreads is gone from the loop.
//
// Claim         A block-scope pipeline says per stage who waits for what: full (copied -> read) and empty (read ->
//               refilled). Here every thread is producer and consumer, so all four calls are collective.
// Differs from  tile_02 by the pipeline's scope: its barriers replace the __syncthreads.
//
// Roles         | who       | job                                                       |
//               | all warps | producer: copy a later tile; consumer: compute one        |
//
// Barriers      | name                               | from -> to             | arrivals    | first wait   |
//               | full[s]: commit -> consumer_wait   | copies landed -> read  | all threads | blocks       |
//               | empty[s]: release -> acquire       | read -> refilled       | all threads | passes       |
//
// Constraints   every thread makes every call: in a branch that only some threads take, the pipeline hangs.
//               STAGES >= 2; any number of tiles, any grid; block = COMPUTE_THREADS; dynamic shared memory =
//               sizeof(SharedStorage).
// Lesson        04 cuda::pipeline
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <ws/trace.cuh>
#pragma nv_diag_suppress static_var_with_dynamic_init  // init() starts a __shared__ barrier, its constructor does not

namespace cg = cooperative_groups;

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                        // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // a thread computes ROWS x 4 elements of C
static_assert(TILE % 4 == 0 && COMPUTE_THREADS % 32 == 0, "rows of whole float4, whole warps");
static_assert(COMPUTE_THREADS % COLUMNS == 0 && ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");
static_assert(STAGES >= 2, "one stage to read and at least one to fill");

struct SharedStorage {
  float4 a[STAGES][TILE_FLOATS / 4];
  float4 b[STAGES][TILE_FLOATS / 4];
};

using Pipeline = cuda::pipeline<cuda::thread_scope_block>;

// [load]
// Copies one tile into one stage, 16 bytes at a time, once the stage is empty. Does not wait for the copies.
__device__ void load(SharedStorage& s, int stage, const float* a, const float* b, Pipeline& pipe) {
  const cg::thread_block block = cg::this_thread_block();
  const cuda::aligned_size_t<16> bytes(TILE_FLOATS * sizeof(float));
  pipe.producer_acquire();  // empty[stage]: all threads have released it
  cuda::memcpy_async(block, s.a[stage], reinterpret_cast<const float4*>(a), bytes, pipe);
  cuda::memcpy_async(block, s.b[stage], reinterpret_cast<const float4*>(b), bytes, pipe);
  pipe.producer_commit();  // arrives at full[stage] when my copies have landed
}
// [/load]

// [compute]
__device__ void multiply_add(float4& c, float a, const float4& b) {
  c.x += a * b.x;
  c.y += a * b.y;
  c.z += a * b.z;
  c.w += a * b.w;
}

// Adds A B to this thread's piece of C. For every four steps of k: ROWS vectors of A, 4 of B, 16 ROWS multiply-adds.
__device__ void compute(const float4* a, const float4* b, float4 (&c)[ROWS]) {
  const int row = threadIdx.x / COLUMNS * ROWS, column = threadIdx.x % COLUMNS;
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
// [/compute]

// [store]
// Writes this thread's piece of C, 16 bytes of a row at a time.
__device__ void store(float* to, const float4 (&c)[ROWS]) {
  const int row = threadIdx.x / COLUMNS * ROWS, column = threadIdx.x % COLUMNS;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    reinterpret_cast<float4*>(to)[(row + r) * COLUMNS + column] = c[r];
  }
}
// [/store]

// [kernel]
extern "C" __global__ void __launch_bounds__(COMPUTE_THREADS, 1)
    tile_03_pipeline_unified(const float* A, const float* B, float* C, int tiles) {
  extern __shared__ float4 dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  Pipeline pipe = cuda::make_pipeline(cg::this_thread_block(), &state);  // collective
  int next = blockIdx.x;  // the next tile to load, into stage `fill`
  int fill = 0;
  auto load_next = [&] {
    if (next < tiles) {  // the same answer in every thread: the calls stay collective
      ws::Span span(ws::Work::load, next);
      load(s, fill, A + size_t(next) * TILE_FLOATS, B + size_t(next / SHARE) * TILE_FLOATS, pipe);
      next += gridDim.x;
      fill = (fill + 1) % STAGES;
    }
  };
  for (int i = 0; i < STAGES - 1; ++i) load_next();  // fill the pipeline
  int stage = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, stage = (stage + 1) % STAGES) {
    load_next();
    pipe.consumer_wait();  // full[stage]: the copies of all threads have landed
    float4 c[ROWS] = {};
    {
      ws::Span span(ws::Work::compute, tile);
      compute(s.a[stage], s.b[stage], c);
    }
    pipe.consumer_release();  // empty[stage]: I have read it
    ws::Span span(ws::Work::store, tile);
    store(C + size_t(tile) * TILE_FLOATS, c);
  }
}
// [/kernel]
