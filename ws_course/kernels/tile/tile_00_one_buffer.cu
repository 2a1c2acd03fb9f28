// One buffer: everybody loads, everybody waits, everybody computes.
//
// Claim         While the copy is in flight no warp computes, and while the warps compute nothing is in flight:
//               with one CTA per SM the two times add up.
// Differs from  nothing; this is the start of the ladder.
//
// Roles         | who       | job                                                    |
//               | all warps | load A[i], B[i] to shared memory, C[i] = A[i] B[i]     |
//
// Barriers      | name            | from -> to                         | arrivals       |
//               | __syncthreads 1 | tiles written -> tiles read        | all threads    |
//               | __syncthreads 2 | tiles read -> tiles overwritten    | all threads    |
//
// Constraints   any number of tiles, any grid; block = COMPUTE_THREADS; no dynamic shared memory.
// Lesson        01 latency and __syncthreads
#include <ws/trace.cuh>

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                        // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // a thread computes ROWS x 4 elements of C
static_assert(TILE % 4 == 0 && COMPUTE_THREADS % 32 == 0, "rows of whole float4, whole warps");
static_assert(COMPUTE_THREADS % COLUMNS == 0 && ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");

struct SharedStorage {
  float4 a[TILE_FLOATS / 4];
  float4 b[TILE_FLOATS / 4];
};

// [load]
// Copies one tile to shared memory, 16 bytes a thread and neighbours side by side: global -> register -> shared.
__device__ void load(float4* to, const float* from) {
  const float4* source = reinterpret_cast<const float4*>(from);
#pragma unroll
  for (int i = 0; i < TILE_FLOATS / 4; i += COMPUTE_THREADS) {
    to[i + threadIdx.x] = source[i + threadIdx.x];
  }
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
    tile_00_one_buffer(const float* A, const float* B, float* C, int tiles) {
  __shared__ SharedStorage s;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const size_t at = size_t(tile) * TILE_FLOATS;
    {
      ws::Span span(ws::Work::load, tile);
      load(s.a, A + at);
      load(s.b, B + size_t(tile / SHARE) * TILE_FLOATS);
    }
    __syncthreads();  // 1: written -> read. Nobody computes before the last thread has stored its part
    float4 c[ROWS] = {};
    {
      ws::Span span(ws::Work::compute, tile);
      compute(s.a, s.b, c);
    }
    {
      ws::Span span(ws::Work::store, tile);
      store(C + at, c);
    }
    __syncthreads();  // 2: read -> overwritten. Nobody loads the next tile before the last thread has read this one
  }
}
// [/kernel]
