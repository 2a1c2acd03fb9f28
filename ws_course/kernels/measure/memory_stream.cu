// How tiles travel when nobody computes: every CTA streams stages of two tiles of 16 KiB, and keeps `stages` in flight.
//
// The loads       KIND 0 through registers (one stage), 1 cp.async by every thread, 2 bulk copies by one thread, 3 none.
// The stores      STORE 0 none, 1 a tile per stage by every thread, 2 a tile per stage by the copy engine, 3 the same
//                 after every thread has written its part of it to shared memory, with the fence that this needs. They
//                 carry no result: what is measured is the traffic.
// The pace        `pace` > 0: all threads are busy so many cycles after each stage, as if they computed.
// The time        of a launch / stages of a CTA is the time of a stage; with one CTA on the whole chip and one stage in
//                 flight, it is the latency. Little's law: bytes in flight = latency x bandwidth.
// Constraints     block = THREADS; dynamic shared memory = stages x 32 KiB, and 16 KiB more for STORE 2 and 3; stages <= 6;
//                 KIND 1 needs compute capability 8.0, KIND 2, STORE 2 and 3 need 9.0.
#include <cuda/ptx>
#include <cuda_pipeline.h>
#pragma nv_diag_suppress 177  // some variants leave a variable unused

#ifndef KIND
#define KIND 0
#endif
#ifndef STORE
#define STORE 1
#endif
#ifndef THREADS
#define THREADS 128
#endif

namespace ptx = cuda::ptx;

constexpr int TILE = 64 * 64 / 4;  // float4 of a tile
constexpr int STAGE = 2 * TILE;
constexpr int MAX_STAGES = 6;
constexpr unsigned TILE_BYTES = TILE * sizeof(float4), STAGE_BYTES = 2 * TILE_BYTES;

using Barrier = cuda::std::uint64_t;

// Starts to load one stage, a tile of A and one of B; `full` completes when it has landed. With KIND 0 it has landed when the call returns.
__device__ void load(float4* to, const float4* a, const float4* b, Barrier& full) {
#if KIND == 0
  float4 registers[STAGE / THREADS];
#pragma unroll
  for (int i = 0; i < TILE / THREADS; ++i) {
    registers[i] = a[i * THREADS + threadIdx.x];
    registers[i + TILE / THREADS] = b[i * THREADS + threadIdx.x];
  }
#pragma unroll
  for (int i = 0; i < STAGE / THREADS; ++i) to[i * THREADS + threadIdx.x] = registers[i];
#elif KIND == 1
#pragma unroll 4
  for (int i = threadIdx.x; i < TILE; i += THREADS) {
    __pipeline_memcpy_async(&to[i], &a[i], sizeof(float4));
    __pipeline_memcpy_async(&to[TILE + i], &b[i], sizeof(float4));
  }
  ptx::cp_async_mbarrier_arrive_noinc(&full);
#elif KIND == 2
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, STAGE_BYTES);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, a, TILE_BYTES, &full);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to + TILE, b, TILE_BYTES, &full);
  }
#endif
}

__device__ void wait(Barrier& full, unsigned parity) {
#if KIND == 1 || KIND == 2
  while (!ptx::mbarrier_try_wait_parity(&full, parity)) {}
#endif
}

__device__ void store(float4* to, float4* from) {
#if STORE == 1
  const float4 value = make_float4(threadIdx.x, 1, 2, 3);
#pragma unroll
  for (int i = 0; i < TILE / THREADS; ++i) to[i * THREADS + threadIdx.x] = value;
#elif STORE == 2 || STORE == 3
#if STORE == 3
  if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  __syncthreads();  // the copy before has read C -> C may be written
#pragma unroll
  for (int i = 0; i < TILE / THREADS; ++i) from[i * THREADS + threadIdx.x] = make_float4(threadIdx.x, 1, 2, 3);
  ptx::fence_proxy_async(ptx::space_shared);  // ordinary writes -> seen by the copy engine
  __syncthreads();                            // all of C is written
#endif
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());  // as if there were only this tile to write C into
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to, from, TILE_BYTES);
    ptx::cp_async_bulk_commit_group();
  }
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    memory_stream(const float4* from, float4* to, int tiles, int stages, int pace) {
  extern __shared__ float4 ring[];
  __shared__ Barrier full[MAX_STAGES];
#if KIND == 1 || KIND == 2
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) ptx::mbarrier_init(&full[i], KIND == 1 ? THREADS : 1);
#if KIND == 2
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
#endif
  }
#endif
#if STORE >= 2
  for (int i = threadIdx.x; i < TILE; i += THREADS) ring[stages * STAGE + i] = make_float4(threadIdx.x, 1, 2, 3);
  ptx::fence_proxy_async(ptx::space_shared);  // ordinary writes -> seen by the copy engine
#endif
  __syncthreads();  // barriers initialised, C written -> used
  int next = blockIdx.x;  // the next tile to load, into stage `fill`
  int fill = 0;
  auto load_next = [&] {
    if (next < tiles) {
      load(ring + fill * STAGE, from + size_t(next) * TILE, from + (size_t(tiles) + next) * TILE, full[fill]);
      next += gridDim.x;
      fill = fill + 1 == stages ? 0 : fill + 1;
    }
  };
  for (int i = KIND == 0 ? stages : 0; i < stages; ++i) load_next();
  int stage = 0;
  unsigned parity = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    if (KIND == 0) load_next();
    wait(full[stage], parity);
    if (pace) {
      for (const long long begin = clock64(); clock64() - begin < pace;) {}
    }
    store(to + size_t(tile) * TILE, ring + stages * STAGE);
    __syncthreads();  // all have seen the stage -> it may be filled again
    if (KIND != 0) load_next();
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
#if STORE >= 2
  if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
#endif
}
