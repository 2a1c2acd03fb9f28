// The lane that went its own way: as tile_07, without the __syncwarp() that ends one lane's errand.
//
// Claim         One lane asks TMA for C, and nothing makes the other 31 wait for it. While it waits until C is whole,
//               they may begin the next tile; it then does its part alone, and the warp issues that product twice.
//               Every value is right.
// Differs from  tile_07 by one line that is missing, at the end of store.
//
// Roles         | role    | warps                | job                                                     |
//               | loader  | 1 (one thread of it) | asks TMA for A[i], B[i] -> stage                        |
//               | compute | COMPUTE_THREADS / 32 | stage -> registers -> C in shared memory; one thread    |
//               |         |                      | asks TMA for C in shared memory -> C[i]                 |
//
// Barriers      | name     | from -> to                          | arrivals        | tx bytes    | first parity |
//               | full[s]  | loader, TMA -> compute wait         | 1               | STAGE_BYTES | 0: blocks    |
//               | empty[s] | compute release -> loader acquire   | compute threads | 0           | 1: passes    |
//               | c_empty  | TMA has read C -> C is overwritten  | 1               | 0           | 0: blocks    |
//               | c_full   | C is written -> TMA reads it        | compute threads | 0           | 0: blocks    |
//
// Constraints   TILE 32 or 64; any number of tiles, any grid; block = 32 + COMPUTE_THREADS; dynamic shared memory =
//               sizeof(SharedStorage). The maps: float [tiles][LINES][32], box [1][LINES][32], swizzle 128 bytes.
// Lesson        07 TMA
#include <cuda/ptx>
#include <ws/tensormap.cuh>
#include <ws/trace.cuh>

namespace ptx = cuda::ptx;

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                        // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // a thread computes ROWS x 4 elements of C …
constexpr int ROW_STEP = COMPUTE_THREADS / COLUMNS;      // … in rows that are ROW_STEP apart
constexpr int LOADER_THREADS = 32;  // a whole warp, so that roles begin at warps; its thread 0 does the work
constexpr unsigned TILE_BYTES = TILE_FLOATS * sizeof(float), STAGE_BYTES = 2 * TILE_BYTES;
static_assert(TILE == 32 || TILE == 64, "a box has at most 256 lines, and four rows of A must differ in their lines");
static_assert(COMPUTE_THREADS % 64 == 0, "warps of 4 x 8 threads that fill a row, and rows of a thread 8 lines apart");
static_assert(ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");
static_assert(STAGES >= 1, "a tile needs a stage");

using Barrier = cuda::std::uint64_t;

struct SharedStorage {
  alignas(1024) float4 a[STAGES][TILE_FLOATS / 4];  // the swizzle goes by the address: 8 lines of 128 bytes
  alignas(1024) float4 b[STAGES][TILE_FLOATS / 4];
  alignas(1024) float4 c[TILE_FLOATS / 4];
  Barrier full[STAGES];
  Barrier empty[STAGES];
  Barrier c_full, c_empty;
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
__device__ void load(SharedStorage& s, const CUtensorMap& A, const CUtensorMap& B, int tiles) {
  PipelineState at{0, 1};
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
    const int box[3] = {0, 0, tile}, shared_box[3] = {0, 0, tile / SHARE};
    producer_acquire(s, at);  // empty[stage]: the compute threads have released it
    ws::Span span(ws::Work::load, tile);
    producer_expect(s, at);  // full[stage]: my arrival, and the bytes of both tiles
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s.a[at.stage], &A, box, &s.full[at.stage]);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s.b[at.stage], &B, shared_box, &s.full[at.stage]);
  }
}
// [/load]

// [swizzle]
// Where TMA puts float4 i of a tile: in line i / 8 of 128 bytes, its place among the 8 XORed with the line's number. So
// swizzled(x + y) = swizzled(x) ^ swizzled(y) where x and y have no bit in common, and rows 8 lines apart are alike.
__device__ unsigned swizzled(unsigned i) { return i ^ (i / 8 % 8); }
constexpr unsigned ALIKE = 64 / COLUMNS;  // every so many rows

// A warp is 4 x 8 threads: it reads 4 rows of A (at 4 different places of their lines) and 8 neighbours of B (a whole
// line) at a time.
__device__ unsigned row_of(unsigned thread) { return thread / 32 / (COLUMNS / 8) * 4 + thread % 32 / 8; }
__device__ unsigned column_of(unsigned thread) { return thread / 32 % (COLUMNS / 8) * 8 + thread % 8; }
// [/swizzle]

// [multiply]
__device__ void multiply_add(float4& c, float a, const float4& b) {
  c.x += a * b.x;
  c.y += a * b.y;
  c.z += a * b.z;
  c.w += a * b.w;
}

// Adds A B to this thread's piece of C. For every four steps of k: ROWS vectors of A, 4 of B, 16 ROWS multiply-adds.
__device__ void multiply(const float4* a, const float4* b, float4 (&c)[ROWS], int thread) {
  const unsigned at_a = swizzled(row_of(thread) * COLUMNS);
  unsigned at_b[ALIKE];  // where this thread's column is in the first rows of B
#pragma unroll
  for (unsigned i = 0; i < ALIKE; ++i) at_b[i] = swizzled(i * COLUMNS + column_of(thread)) - i * COLUMNS;
#pragma unroll 1
  for (int repeat = 0; repeat < INTENSITY; ++repeat) {
#pragma unroll 8
    for (unsigned k = 0; k < COLUMNS; ++k) {
      const float4* rows = a + (at_a ^ swizzled(k));  // ROW_STEP rows further on, A is swizzled alike
      float4 y[4];
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        y[i] = b[(4 * k + i) * COLUMNS + at_b[(4 * k + i) % ALIKE]];
      }
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const float4 x = rows[r * ROW_STEP * COLUMNS];
        multiply_add(c[r], x.x, y[0]);
        multiply_add(c[r], x.y, y[1]);
        multiply_add(c[r], x.z, y[2]);
        multiply_add(c[r], x.w, y[3]);
      }
    }
  }
}
// [/multiply]

// [store]
// C -> shared memory -> C[tile]. One thread asks TMA for the second half, which travels during the next tile.
__device__ void store(SharedStorage& s, const CUtensorMap& C, int tile, const float4 (&c)[ROWS], int thread,
                      unsigned parity) {
  if (thread == 0) {
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    ptx::mbarrier_arrive(&s.c_empty);  // c_empty: my last copy has read C
  }
  wait(s.c_empty, parity);  // c_empty: C may be overwritten
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    s.c[swizzled((row_of(thread) + r * ROW_STEP) * COLUMNS + column_of(thread))] = c[r];
  }
  ptx::fence_proxy_async(ptx::space_shared);  // my ordinary writes -> seen by the copy engine
  ptx::mbarrier_arrive(&s.c_full);            // c_full: my piece of C is written
  if (thread == 0) {
    const int box[3] = {0, 0, tile};
    wait(s.c_full, parity);  // c_full: all pieces are written
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &C, box, s.c);
    ptx::cp_async_bulk_commit_group();
  }
}
// [/store]

// [compute]
__device__ void compute(SharedStorage& s, const CUtensorMap& C, int tiles) {
  const int thread = threadIdx.x - LOADER_THREADS;
  PipelineState at{0, 0};
  unsigned parity = 0;  // of C's barriers, a ring of one stage
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance(), parity ^= 1) {
    consumer_wait(s, at);  // full[stage]: all bytes of both tiles have landed
    float4 c[ROWS] = {};
    {
      ws::Span span(ws::Work::compute, tile);
      multiply(s.a[at.stage], s.b[at.stage], c, thread);
    }
    consumer_release(s, at);  // empty[stage]: I have read it
    ws::Span span(ws::Work::store, tile);
    store(s, C, tile, c, thread, parity);
  }
  if (thread == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());  // shared memory must outlive its readers
}
// [/compute]

// [kernel]
extern "C" __global__ void __launch_bounds__(LOADER_THREADS + COMPUTE_THREADS, 1)
    tile_07_diverged(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
                     const __grid_constant__ CUtensorMap C, int tiles) {
  alignas(1024) extern __shared__ unsigned char dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      ptx::mbarrier_init(&s.full[i], 1);
      ptx::mbarrier_init(&s.empty[i], COMPUTE_THREADS);
    }
    ptx::mbarrier_init(&s.c_full, COMPUTE_THREADS);
    ptx::mbarrier_init(&s.c_empty, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);  // initialised -> seen by the copy engine
  }
  __syncthreads();  // barriers initialised -> used; the only block-wide barrier
  if (threadIdx.x == 0) {
    load(s, A, B, tiles);
  } else if (threadIdx.x >= LOADER_THREADS) {
    compute(s, C, tiles);
  }
}
// [/kernel]
