// Asynchronous copies: global to shared memory without registers and without a waiting thread.
//
// Claim         cp.async keeps STAGES - 1 tiles in flight and costs no register; the copy of tile i + STAGES - 1
//               travels while tile i is computed.
// Differs from  tile_01 by the copy: `fetch` and `put` become one cuda::memcpy_async into one of STAGES stages, and a
//               thread-scope cuda::pipeline counts this thread's batches of copies in flight.
//
// Roles         | who       | job                                          |
//               | all warps | issue the copy of a later tile, compute one  |
//
// Barriers      | name          | from -> to                                         | arrivals    |
//               | consumer_wait | this thread's own copies have landed               | none        |
//               | __syncthreads | everyone's copies landed -> read; read -> refilled | all threads |
//
// Constraints   STAGES >= 2; any number of tiles, any grid; block = COMPUTE_THREADS; dynamic shared memory =
//               sizeof(SharedStorage).
// Lesson        03 asynchronous copies
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <ws/trace.cuh>

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

using Pipeline = cuda::pipeline<cuda::thread_scope_thread>;

// [load]
// Issues the copies of one tile into one stage, 16 bytes at a time, and closes the batch. Does not wait.
__device__ void load(SharedStorage& s, int stage, const float* a, const float* b, Pipeline& pipe) {
  const cg::thread_block block = cg::this_thread_block();
  const cuda::aligned_size_t<16> bytes(TILE_FLOATS * sizeof(float));
  pipe.producer_acquire();  // thread scope: nothing to wait for, the __syncthreads in the kernel emptied the stage
  cuda::memcpy_async(block, s.a[stage], reinterpret_cast<const float4*>(a), bytes, pipe);
  cuda::memcpy_async(block, s.b[stage], reinterpret_cast<const float4*>(b), bytes, pipe);
  pipe.producer_commit();  // one batch more in flight; consumer_wait takes them in this order
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
    tile_02_cp_async(const float* A, const float* B, float* C, int tiles) {
  extern __shared__ float4 dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  Pipeline pipe = cuda::make_pipeline();
  int next = blockIdx.x;  // the next tile to load, into stage `fill`
  int fill = 0;
  auto load_next = [&] {
    if (next < tiles) {
      ws::Span span(ws::Work::load, next);
      load(s, fill, A + size_t(next) * TILE_FLOATS, B + size_t(next / SHARE) * TILE_FLOATS, pipe);
      next += gridDim.x;
      fill = (fill + 1) % STAGES;
    }
  };
  for (int i = 0; i < STAGES - 1; ++i) load_next();  // fill the pipeline
  int stage = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, stage = (stage + 1) % STAGES) {
    pipe.consumer_wait();  // my copies of this tile have landed ...
    __syncthreads();       // ... and everyone's: written -> read. Also: previous tile read -> its stage may be refilled
    load_next();
    float4 c[ROWS] = {};
    {
      ws::Span span(ws::Work::compute, tile);
      compute(s.a[stage], s.b[stage], c);
    }
    pipe.consumer_release();  // thread scope: tells nobody, the next __syncthreads does
    ws::Span span(ws::Work::store, tile);
    store(C + size_t(tile) * TILE_FLOATS, c);
  }
}
// [/kernel]
