// Persistent: a CTA takes the next tile when it is ready for one, and C leaves by a role of its own.
//
// Claim         A storer thread waits for the copies of C, so that no compute warp does. Tiles dealt out beforehand
//               (SCHEDULE 1) leave SMs idle when some CTAs are slower, tiles taken from a counter (SCHEDULE 2) do not.
// Differs from  tile_08 by the storer; and by where the tile's number comes from: the loader alone knows the schedule
//               and puts the number in the stage, where full[s] hands it to every role with the data.
//
// Roles         | role    | warps                | job                                                             |
//               | loader  | 1 (one thread of it) | takes a tile, asks TMA for A[i], B[i] -> stage                  |
//               | storer  | 1 (one thread of it) | asks TMA for C in shared memory -> C[i]; of loader's warpgroup  |
//               | compute | COMPUTE_THREADS / 32 | stage -> registers -> C in shared memory                        |
//
// Barriers      | name     | from -> to                            | arrivals            | tx bytes    | first parity |
//               | full[s]  | loader, TMA -> compute, storer        | 1                   | STAGE_BYTES | 0: blocks    |
//               | empty[s] | compute, storer release -> loader     | compute threads + 1 | 0           | 1: passes    |
//               | c_full   | compute: C is written -> storer       | compute threads     | 0           | 0: blocks    |
//               | c_empty  | storer: TMA has read C -> compute     | 1                   | 0           | 1: passes    |
//
// Constraints   as tile_08; next = 0 at launch, and 0 again when the grid has finished.
// Lesson        09 persistent kernels
#include <cuda/ptx>
#include <ws/registers.cuh>
#include <ws/tensormap.cuh>
#include <ws/trace.cuh>

namespace ptx = cuda::ptx;

constexpr int TILE_FLOATS = TILE * TILE;
constexpr int COLUMNS = TILE / 4;                        // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / COMPUTE_THREADS;  // a thread computes ROWS x 4 elements of C …
constexpr int ROW_STEP = COMPUTE_THREADS / COLUMNS;      // … in rows that are ROW_STEP apart
constexpr int LOADER_THREADS = 128;  // a warpgroup: thread 0 loads, thread STORER stores
constexpr int STORER = 32;           // in another warp than the loader
constexpr int END = -1;              // the tile's number that ends a role
constexpr int STATIC = 1, DYNAMIC = 2;
constexpr int THREADS = LOADER_THREADS + COMPUTE_THREADS;
constexpr int LAUNCH_REGISTERS = 65536 / (THREADS * CTAS) / 8 * 8;  // a thread has them when CTAS share an SM
constexpr int LOADER_REGISTERS = 24;
constexpr int SPARE = LOADER_THREADS * (LAUNCH_REGISTERS - LOADER_REGISTERS) / COMPUTE_THREADS / 8 * 8;
constexpr int COMPUTE_REGISTERS = LAUNCH_REGISTERS + SPARE > 240 ? 240 : LAUNCH_REGISTERS + SPARE;
constexpr unsigned TILE_BYTES = TILE_FLOATS * sizeof(float), STAGE_BYTES = 2 * TILE_BYTES;
static_assert(TILE == 32 || TILE == 64, "a box has at most 256 lines, and four rows of A must differ in their lines");
static_assert(COMPUTE_THREADS % 64 == 0, "warps of 4 x 8 threads that fill a row, and rows of a thread 8 lines apart");
static_assert(COMPUTE_THREADS % 128 == 0, "roles are warpgroups");
static_assert(CTAS >= 1 && LAUNCH_REGISTERS >= 24 && LAUNCH_REGISTERS <= 240, "CTAS leaves 24 to 240 for a thread");
static_assert(ROWS * COMPUTE_THREADS * 4 == TILE_FLOATS, "C in equal pieces");
static_assert(INTENSITY >= 1 && SHARE >= 1, "the product is done INTENSITY times; SHARE tiles use one B");
static_assert(STAGES >= 1, "a tile needs a stage");
static_assert(SCHEDULE == STATIC || SCHEDULE == DYNAMIC, "1: tiles dealt out beforehand, 2: taken from the counter");

using Barrier = cuda::std::uint64_t;

struct SharedStorage {
  alignas(1024) float4 a[STAGES][TILE_FLOATS / 4];  // the swizzle goes by the address: 8 lines of 128 bytes
  alignas(1024) float4 b[STAGES][TILE_FLOATS / 4];
  alignas(1024) float4 c[TILE_FLOATS / 4];
  Barrier full[STAGES];
  Barrier empty[STAGES];
  Barrier c_full, c_empty;
  int tile[STAGES];
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

// [schedule]
// The tile after `tile`. Static: every gridDim.x-th, as in the rungs before. Dynamic: the next that nobody has; one is
// taken after each tile, so the grid takes `tiles` numbers in all: who has the last puts the counter back to 0.
__device__ int next_tile(int tile, int* next, int tiles) {
  if constexpr (SCHEDULE == STATIC) return tile + gridDim.x;
  const int taken = atomicAdd(next, 1);
  if (taken == tiles - 1) atomicExch(next, 0);
  return gridDim.x + taken;  // the first gridDim.x tiles need no counter
}
// [/schedule]

// [load]
__device__ void load(SharedStorage& s, const CUtensorMap& A, const CUtensorMap& B, int tiles, int* next) {
  PipelineState at{0, 1};
  for (int tile = blockIdx.x; tile < tiles; tile = next_tile(tile, next, tiles), at.advance()) {
    const int box[3] = {0, 0, tile}, shared_box[3] = {0, 0, tile / SHARE};
    producer_acquire(s, at);  // empty[stage]: compute threads and storer have released it
    ws::Span span(ws::Work::load, tile);
    s.tile[at.stage] = tile;
    producer_expect(s, at);  // full[stage]: the tile's number is written, and the bytes of both tiles will come
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s.a[at.stage], &A, box, &s.full[at.stage]);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s.b[at.stage], &B, shared_box, &s.full[at.stage]);
  }
  producer_acquire(s, at);  // empty[stage]: as above
  s.tile[at.stage] = END;
  ptx::mbarrier_arrive(&s.full[at.stage]);  // full[stage]: the end is written, no bytes will come
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
__device__ void store(SharedStorage& s, const CUtensorMap& C) {
  PipelineState at{0, 0};
  for (unsigned parity = 0;; at.advance(), parity ^= 1) {
    consumer_wait(s, at);  // full[stage]: the tile's number is there
    const int tile = s.tile[at.stage];
    if (tile == END) return;
    consumer_release(s, at);  // empty[stage]: I have read the number
    const int box[3] = {0, 0, tile};
    wait(s.c_full, parity);  // c_full: all pieces of C are written
    ws::Span span(ws::Work::store, tile);
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &C, box, s.c);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    ptx::mbarrier_arrive(&s.c_empty);  // c_empty: the copy has read C
  }
}
// [/store]

// [compute]
__device__ void compute(SharedStorage& s) {
  const int thread = threadIdx.x - LOADER_THREADS;
  PipelineState at{0, 0};
  for (unsigned parity = 1;; at.advance(), parity ^= 1) {  // of c_empty, a ring of one stage
    consumer_wait(s, at);  // full[stage]: the number, and all bytes of both tiles, are there
    const int tile = s.tile[at.stage];
    if (tile == END) return;
    float4 c[ROWS] = {};
    {
      ws::Span span(ws::Work::compute, tile);
      multiply(s.a[at.stage], s.b[at.stage], c, thread);
    }
    consumer_release(s, at);  // empty[stage]: I have read it
    wait(s.c_empty, parity);  // c_empty: the copy of the tile before has read C
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      s.c[swizzled((row_of(thread) + r * ROW_STEP) * COLUMNS + column_of(thread))] = c[r];
    }
    ptx::fence_proxy_async(ptx::space_shared);  // my ordinary writes -> seen by the copy engine
    ptx::mbarrier_arrive(&s.c_full);            // c_full: my piece of C is written
  }
}
// [/compute]

// [kernel]
extern "C" __global__ void __launch_bounds__(THREADS, CTAS)  // CTAS sets the registers at launch
    tile_09_persistent(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
                       const __grid_constant__ CUtensorMap C, int tiles, int* next) {
  alignas(1024) extern __shared__ unsigned char dynamic_shared[];
  SharedStorage& s = *reinterpret_cast<SharedStorage*>(dynamic_shared);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      ptx::mbarrier_init(&s.full[i], 1);
      ptx::mbarrier_init(&s.empty[i], COMPUTE_THREADS + 1);
    }
    ptx::mbarrier_init(&s.c_full, COMPUTE_THREADS);
    ptx::mbarrier_init(&s.c_empty, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);  // initialised -> seen by the copy engine
  }
  __syncthreads();  // barriers initialised -> used; the only block-wide barrier
  if (threadIdx.x < LOADER_THREADS) {
    ws::setmaxnreg_dec<LOADER_REGISTERS>();  // all four warps
    if (threadIdx.x == 0) load(s, A, B, tiles, next);
    if (threadIdx.x == STORER) store(s, C);
  } else {
    ws::setmaxnreg_inc<COMPUTE_REGISTERS>();  // waits until the other warpgroup has given them back
    compute(s);
  }
}
// [/kernel]
