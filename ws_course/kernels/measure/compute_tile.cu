// What a product of two tiles costs out of shared memory, and what a handoff costs, with no global traffic at all.
//
// The work        WORK 0 none, 1 one product of 64 x 64 x 64 as the ladder does it, 2 a tile of A and of B from registers
//                 to shared memory. It is done `times` times, with a handoff after each.
// The handoff     HANDOFF 0 none, 1 __syncthreads, 2 all compute threads arrive at an mbarrier and wait for it, 3 they
//                 arrive at one (empty), another warp waits for it and arrives at a second (full), for which they wait,
//                 4 the four calls of a unified cuda::pipeline of two stages, without a copy.
// The epilogue    C after each piece of work, to the same place again and again (it stays in the L2 cache): EPILOGUE 0
//                 none, 1 by the compute threads from registers, 2 by way of shared memory and the copy engine, asked
//                 by one compute thread, 3 asked by a thread of another warp, 4 by LOADER_WARPS other warps from shared
//                 memory.
// The layout      LAYOUT 0 rows in order and a warp of 2 x 16 threads, 1 the copy engine's swizzle and a warp of 4 x 8.
// The background  BACKGROUND 0 none (LOADER_WARPS warps leave at once), 1 one thread copies two tiles from the L2 cache to
//                 shared memory, again and again, by bulk copies, 2 LOADER_WARPS warps do so by cp.async: `loaded`
//                 counts how often, of all CTAs.
// Constraints     block = THREADS + 32 LOADER_WARPS; dynamic shared memory = 32 KiB, as much again with a background or
//                 an epilogue; `from` holds 32 KiB for each CTA; HANDOFF 3, EPILOGUE 3, BACKGROUND 1 use one loader
//                 warp; HANDOFF 2 to 4, BACKGROUND 1, EPILOGUE 2 to 4 need compute capability 9.0.
#include <cuda/ptx>
#include <cuda_pipeline.h>
#if HANDOFF == 4
#include <cooperative_groups.h>
#include <cuda/pipeline>
#pragma nv_diag_suppress static_var_with_dynamic_init  // init() starts a __shared__ barrier, its constructor does not
#endif
#pragma nv_diag_suppress 177  // some variants leave a variable unused

#ifndef THREADS
#define THREADS 128
#endif
#ifndef WORK
#define WORK 1
#endif
#ifndef HANDOFF
#define HANDOFF 0
#endif
#ifndef EPILOGUE
#define EPILOGUE 0
#endif
#ifndef LAYOUT
#define LAYOUT 0
#endif
#ifndef BACKGROUND
#define BACKGROUND 0
#endif
#ifndef LOADER_WARPS
#define LOADER_WARPS 0
#endif

namespace ptx = cuda::ptx;

constexpr int TILE_FLOATS = 64 * 64;
constexpr int COLUMNS = 16;                      // columns of a tile, in float4
constexpr int ROWS = TILE_FLOATS / 4 / THREADS;  // a thread computes ROWS x 4 elements of C
constexpr int STAGE = TILE_FLOATS / 2;           // float4 of A and B
constexpr int LOADER_THREADS = 32 * LOADER_WARPS;
constexpr unsigned STAGE_BYTES = STAGE * sizeof(float4);
static_assert(!((HANDOFF == 1 || HANDOFF == 4) && LOADER_WARPS > 0), "this handoff is for a block without roles");
static_assert(!(HANDOFF == 3 && (BACKGROUND || LOADER_WARPS != 1)), "the other warp hands back, and does nothing else");
static_assert(!(EPILOGUE >= 3 && (BACKGROUND || HANDOFF || !LOADER_WARPS)), "the other warps store, and do nothing else");

using Barrier = cuda::std::uint64_t;

__device__ unsigned swizzled(unsigned i) { return LAYOUT ? i ^ (i / 8 % 8) : i; }
__device__ unsigned row_of(unsigned thread) {
  return LAYOUT ? thread / 32 / (COLUMNS / 8) * 4 + thread % 32 / 8 : thread / COLUMNS * ROWS;
}
__device__ unsigned column_of(unsigned thread) {
  return LAYOUT ? thread / 32 % (COLUMNS / 8) * 8 + thread % 8 : thread % COLUMNS;
}
constexpr int ROW_STEP = LAYOUT ? THREADS / COLUMNS : 1;

__device__ void multiply_add(float4& c, float a, const float4& b) {
  c.x += a * b.x;
  c.y += a * b.y;
  c.z += a * b.z;
  c.w += a * b.w;
}

// The inner loop of the ladder: for every four steps of k, ROWS vectors of A, 4 of B and 16 ROWS multiply-adds.
__device__ void multiply(const float4* a, const float4* b, float4 (&c)[ROWS], unsigned row, unsigned column) {
#pragma unroll 8
  for (unsigned k = 0; k < COLUMNS; ++k) {
    const float4* rows = a + swizzled(row * COLUMNS + k);
    float4 y[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) y[i] = b[k / 2 * 8 * COLUMNS + swizzled((k % 2 * 4 + i) * COLUMNS + column)];
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

__device__ void put(float4* to, const float4 (&registers)[STAGE / THREADS], int thread) {
#pragma unroll
  for (int i = 0; i < STAGE / THREADS; ++i) to[i * THREADS + thread] = registers[i];
}

__device__ void wait(Barrier& barrier, unsigned parity) {
#if HANDOFF == 2 || HANDOFF == 3 || BACKGROUND == 1 || EPILOGUE >= 2
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
#endif
}

__device__ void arrive(Barrier& barrier) {
#if HANDOFF == 2 || HANDOFF == 3 || EPILOGUE >= 2
  ptx::mbarrier_arrive(&barrier);
#endif
}

// What the other warps of EPILOGUE 3 and 4 do: C in shared memory -> `to`, each time that it is full.
__device__ void drain(float4* to, const float4* c, Barrier& c_full, Barrier& c_empty, int times) {
#if EPILOGUE == 3
  if (threadIdx.x != THREADS) return;
  for (int i = 0; i < times; ++i) {
    wait(c_full, i & 1);
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to, c, STAGE_BYTES / 2);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    arrive(c_empty);
  }
#elif EPILOGUE == 4
  for (int i = 0; i < times; ++i) {
    wait(c_full, i & 1);
    for (int j = threadIdx.x - THREADS; j < STAGE / 2; j += LOADER_THREADS) to[j] = c[j];
    arrive(c_empty);
  }
#endif
}

// C -> `to`, by way of shared memory for EPILOGUE 2 to 4.
__device__ void epilogue(float4* to, float4* shared_c, const float4 (&c)[ROWS], unsigned row, unsigned column, int i,
                         Barrier& c_full, Barrier& c_empty) {
#if EPILOGUE == 1
#pragma unroll
  for (int r = 0; r < ROWS; ++r) to[(row + r * ROW_STEP) * COLUMNS + column] = c[r];
#elif EPILOGUE >= 2
#if EPILOGUE == 2
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    arrive(c_empty);
  }
  wait(c_empty, i & 1);
#else
  wait(c_empty, (i & 1) ^ 1);
#endif
#pragma unroll
  for (int r = 0; r < ROWS; ++r) shared_c[swizzled((row + r * ROW_STEP) * COLUMNS + column)] = c[r];
#if EPILOGUE < 4
  ptx::fence_proxy_async(ptx::space_shared);  // ordinary writes -> seen by the copy engine
#endif
  arrive(c_full);
#if EPILOGUE == 2
  if (threadIdx.x == 0) {
    wait(c_full, i & 1);
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to, shared_c, STAGE_BYTES / 2);
    ptx::cp_async_bulk_commit_group();
  }
  __syncwarp();  // the warp goes on together
#endif
#endif
}

// Copies until the compute threads are done; returns how many stages this thread has seen land.
__device__ unsigned background(float4* to, const float4* from, Barrier& landed, const volatile int& done) {
  unsigned stages = 0;
#if BACKGROUND == 1
  if (threadIdx.x != THREADS) return 0;
  for (; !done; ++stages) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &landed, STAGE_BYTES);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, STAGE_BYTES, &landed);
    wait(landed, stages & 1);
  }
#elif BACKGROUND == 2
  for (; !done; ++stages) {
#pragma unroll 8
    for (int i = threadIdx.x - THREADS; i < STAGE; i += LOADER_THREADS) {
      __pipeline_memcpy_async(&to[i], &from[i], sizeof(float4));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  if (threadIdx.x != THREADS) return 0;
#endif
  return stages;
}

extern "C" __global__ void __launch_bounds__(THREADS + LOADER_THREADS, 1)
    compute_tile(const float4* from, float4* to, int times, unsigned* loaded) {
  extern __shared__ float4 tiles[];
  __shared__ Barrier full, empty, landed, c_full, c_empty;
  __shared__ int done;
  const int thread = threadIdx.x;
  from += size_t(blockIdx.x) * STAGE;
  to += size_t(blockIdx.x) * (STAGE / 2);
  for (int i = thread; i < STAGE; i += THREADS + LOADER_THREADS) tiles[i] = from[i];
  if (thread == 0) {
    done = 0;
#if HANDOFF == 2 || HANDOFF == 3 || BACKGROUND == 1 || EPILOGUE >= 2
    ptx::mbarrier_init(&full, 1);
    ptx::mbarrier_init(&empty, THREADS);
    ptx::mbarrier_init(&landed, 1);
    ptx::mbarrier_init(&c_full, THREADS);
    ptx::mbarrier_init(&c_empty, EPILOGUE == 4 ? LOADER_THREADS : 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
#endif
  }
  __syncthreads();  // tiles and barriers written -> used
  if (thread >= THREADS) {
#if HANDOFF == 3
    if (thread == THREADS) {
      for (int i = 0; i < times; ++i) {
        wait(empty, i & 1);
        arrive(full);
      }
    }
#endif
    if (EPILOGUE >= 3) drain(to, tiles + STAGE, c_full, c_empty, times);
    if (BACKGROUND) {
      const unsigned stages = background(tiles + STAGE, from, landed, done);
      if (stages) atomicAdd(loaded, stages);
    }
    return;
  }
#if HANDOFF == 4
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto pipeline = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state);
#endif
  float4 c[ROWS] = {};
  float4 registers[STAGE / THREADS] = {};
  const unsigned row = row_of(thread), column = column_of(thread);
#pragma unroll 1
  for (int i = 0; i < times; ++i) {
#if HANDOFF == 4
    pipeline.producer_acquire();
    pipeline.producer_commit();
    pipeline.consumer_wait();
#endif
    if (WORK == 1) multiply(tiles, tiles + STAGE / 2, c, row, column);
    if (WORK == 2) {
#pragma unroll
      for (int r = 0; r < STAGE / THREADS; ++r) registers[r].x += 1;
      put(tiles, registers, thread);
    }
    epilogue(to, tiles + STAGE, c, row, column, i, c_full, c_empty);
#if HANDOFF == 1
    __syncthreads();
#elif HANDOFF == 2
    arrive(empty);
    wait(empty, i & 1);
#elif HANDOFF == 3
    arrive(empty);
    wait(full, i & 1);
#elif HANDOFF == 4
    pipeline.consumer_release();
#endif
  }
  *const_cast<volatile int*>(&done) = 1;
#if EPILOGUE == 0
#pragma unroll
  for (int r = 0; r < ROWS; ++r) to[(row + r * ROW_STEP) * COLUMNS + column] = c[r];
#elif EPILOGUE == 2
  if (thread == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());  // shared memory must outlive its readers
#endif
}
