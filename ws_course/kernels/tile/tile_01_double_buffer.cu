// Double buffer: fetch the next tile into registers before computing on this one.
//
// Claim         A load that is issued early travels while the warps compute: with one CTA per SM the tile costs about
//               the longer of the two times, and one __syncthreads a tile is enough.
// Differs from  tile_00 by a second pair of buffers and by `load` cut in two: `fetch` starts the load, `put` ends it.
//
// Roles         | who       | job                                                          |
//               | all warps | fetch tile i+1, compute tile i, put tile i+1 in the other buffer |
//
// Barriers      | name          | from -> to                                      | arrivals    |
//               | __syncthreads | buffer written -> read, and read -> overwritten | all threads |
//
// Price         8 VECTORS registers a thread hold the tile in flight, from the fetch to the put.
// Constraints   any number of tiles, any grid; block = COMPUTE_THREADS; dynamic shared memory = sizeof(SharedStorage).
// Lesson        02 double buffering
#include <ws/trace.cuh>

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                           // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;     // a thread computes ROWS x 4 elements of C
constexpr int VECTORS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // float4 of A, and as many of B, that a thread moves
static_assert(TILE % 4 == 0 && COMPUTE_THREADS % 32 == 0, "rows of whole float4, whole warps");
static_assert(COMPUTE_THREADS % COLUMNS == 0 && ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");

struct SharedStorage {
  float4 a[2][TILE_FLOATS / 4];
  float4 b[2][TILE_FLOATS / 4];
};

// [load]
// Starts the loads of one tile: they have landed only when the registers are used.
__device__ void fetch(float4 (&registers)[VECTORS], const float* from) {
  const float4* source = reinterpret_cast<const float4*>(from);
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    registers[i] = source[i * COMPUTE_THREADS + threadIdx.x];
  }
}

// Writes the fetched tile to shared memory: here a thread waits for its loads.
__device__ void put(float4* to, const float4 (&registers)[VECTORS]) {
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    to[i * COMPUTE_THREADS + threadIdx.x] = registers[i];
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
    tile_01_double_buffer(const float* A, const float* B, float* C, int tiles) {
  extern __shared__ float4 dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  float4 a[VECTORS], b[VECTORS];  // the tile in flight
  int buffer = 0;
  if (int(blockIdx.x) < tiles) {
    ws::Span span(ws::Work::load, blockIdx.x);
    fetch(a, A + size_t(blockIdx.x) * TILE_FLOATS);
    fetch(b, B + size_t(blockIdx.x / SHARE) * TILE_FLOATS);
    put(s.a[0], a);
    put(s.b[0], b);
  }
  __syncthreads();  // the first tile is written -> it may be read
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, buffer ^= 1) {
    const int next = tile + gridDim.x;
    if (next < tiles) {
      ws::Span span(ws::Work::load, next);
      fetch(a, A + size_t(next) * TILE_FLOATS);
      fetch(b, B + size_t(next / SHARE) * TILE_FLOATS);
    }
    float4 c[ROWS] = {};
    {
      ws::Span span(ws::Work::compute, tile);
      compute(s.a[buffer], s.b[buffer], c);
    }
    {
      ws::Span span(ws::Work::store, tile);
      store(C + size_t(tile) * TILE_FLOATS, c);
    }
    if (next < tiles) {
      ws::Span span(ws::Work::load, next);
      put(s.a[buffer ^ 1], a);  // nobody reads this buffer: its readers have passed the last __syncthreads
      put(s.b[buffer ^ 1], b);
    }
    __syncthreads();  // next tile written -> it may be read; this one read -> it may be overwritten
  }
}
// [/kernel]
