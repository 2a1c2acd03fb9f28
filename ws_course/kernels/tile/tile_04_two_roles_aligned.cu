// Two warp roles and a pipeline, with tiles that begin at a multiple of 128 bytes.
//
// Claim         The state of a pipeline is a static shared variable and lies before dynamic shared memory: it pushes
//               the tiles to byte 48, 64 or 80 for 2, 3 or 4 stages. Aligned, they lie in whole sectors of 32 bytes.
// Differs from  tile_04_two_roles by one word: alignas(128).
//
// Roles         | role    | warps                | job                                   |
//               | loader  | LOADER_WARPS         | A[i], B[i] -> stage                   |
//               | compute | COMPUTE_THREADS / 32 | stage -> registers -> C[i]            |
//
// Barriers      | name            | from -> to                        | arrivals        | first wait |
//               | loaded full[s]  | loader commit -> compute wait     | loader threads  | blocks     |
//               | loaded empty[s] | compute release -> loader acquire | compute threads | passes     |
//
// Constraints   any number of tiles, any grid; block = 32 LOADER_WARPS + COMPUTE_THREADS; dynamic shared memory =
//               sizeof(SharedStorage).
// Lesson        06 full and empty
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <ws/trace.cuh>
#pragma nv_diag_suppress static_var_with_dynamic_init  // init() starts a __shared__ barrier, its constructor does not

namespace cg = cooperative_groups;

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                        // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // a thread computes ROWS x 4 elements of C
constexpr int LOADER_THREADS = 32 * LOADER_WARPS;
static_assert(TILE % 4 == 0 && COMPUTE_THREADS % 32 == 0, "rows of whole float4, whole warps");
static_assert(COMPUTE_THREADS % COLUMNS == 0 && ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");
static_assert(STAGES >= 1 && LOADER_WARPS >= 1, "every role needs a warp and a stage");

struct SharedStorage {
  float4 a[STAGES][TILE_FLOATS / 4];
  float4 b[STAGES][TILE_FLOATS / 4];
};

using Pipeline = cuda::pipeline<cuda::thread_scope_block>;
using cuda::pipeline_role;

// The loader threads as a libcu++ thread group, among which a copy is divided.
struct Loaders {
  __device__ int size() const { return LOADER_THREADS; }
  __device__ int thread_rank() const { return threadIdx.x; }
  __device__ void sync() const {}  // a copy never calls it
};

// [load]
__device__ void load(SharedStorage& s, const float* A, const float* B, int tiles, Pipeline& loaded) {
  const Loaders loaders;
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
// Writes this thread's piece of C, 16 bytes of a row at a time.
__device__ void store(float* to, const float4 (&c)[ROWS], int thread) {
  const int row = thread / COLUMNS * ROWS, column = thread % COLUMNS;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    reinterpret_cast<float4*>(to)[(row + r) * COLUMNS + column] = c[r];
  }
}

__device__ void compute(SharedStorage& s, float* C, int tiles, Pipeline& loaded) {
  const int thread = threadIdx.x - LOADER_THREADS;
  int stage = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, stage = (stage + 1) % STAGES) {
    loaded.consumer_wait();  // full[stage]: the loaders' copies have landed
    float4 c[ROWS] = {};
    {
      ws::Span span(ws::Work::compute, tile);
      multiply(s.a[stage], s.b[stage], c, thread);
    }
    loaded.consumer_release();  // empty[stage]: I have read it
    ws::Span span(ws::Work::store, tile);
    store(C + size_t(tile) * TILE_FLOATS, c, thread);
  }
}
// [/compute]

// [kernel]
extern "C" __global__ void __launch_bounds__(LOADER_THREADS + COMPUTE_THREADS, 1)
    tile_04_two_roles_aligned(const float* A, const float* B, float* C, int tiles) {
  alignas(128) extern __shared__ float4 dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  const bool loads = threadIdx.x < LOADER_THREADS;
  Pipeline loaded = cuda::make_pipeline(cg::this_thread_block(), &state,  // collective, the only block-wide meeting
                                        loads ? pipeline_role::producer : pipeline_role::consumer);
  if (loads) {
    load(s, A, B, tiles, loaded);
  } else {
    compute(s, C, tiles, loaded);
  }
}
// [/kernel]
