// expect: race
// cell: relay
// The stage is given back first: the loader may write the next number meanwhile.
#include <cuda/ptx>
namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;
constexpr int STORER = 32, FIRST_COMPUTE = 64, COMPUTE_THREADS = 32 * COMPUTE_WARPS, END = -1;
constexpr unsigned BYTES = TILE * sizeof(float);

struct Storage {
  alignas(16) float stage[STAGES][TILE];
  alignas(16) float result[RESULTS][TILE];
  Barrier full[STAGES], empty[STAGES], result_full[RESULTS], result_empty[RESULTS];
  int tile[STAGES];
};

template <int SIZE>
struct PipelineState {  // a place in a ring of SIZE buffers
  int stage;
  unsigned parity;
  __device__ void advance() {
    if (++stage == SIZE) stage = 0, parity ^= 1;
  }
};

__device__ void wait(Barrier& barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
}

__device__ int next_tile(int tiles, int* next) {
  const int taken = atomicAdd(next, 1);
  if (taken == tiles - 1) atomicExch(next, 0);
  return gridDim.x + taken;
}

__device__ void load(Storage& s, const float* x, int tiles, int* next) {  // one thread
  PipelineState<STAGES> at{0, 1};
  for (int tile = blockIdx.x; tile < tiles; tile = next_tile(tiles, next), at.advance()) {
    Barrier* full = &s.full[at.stage];
    wait(s.empty[at.stage], at.parity);
    s.tile[at.stage] = tile;
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, full, BYTES);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s.stage[at.stage], x + tile * TILE, BYTES, full);
  }
  wait(s.empty[at.stage], at.parity);
  s.tile[at.stage] = END;
  ptx::mbarrier_arrive(&s.full[at.stage]);
}

__device__ void compute(Storage& s) {  // COMPUTE_THREADS threads
  const int rank = threadIdx.x - FIRST_COMPUTE;
  // 2. Every tile that comes, until END: products into a buffer of s.result, handed to the storer.
  PipelineState<STAGES> at{0, 0};
  PipelineState<RESULTS> to{0, 1};
  for (;; at.advance(), to.advance()) {
    wait(s.full[at.stage], at.parity);
    if (s.tile[at.stage] == END) return;
    wait(s.result_empty[to.stage], to.parity);
    const float* from = s.stage[at.stage];
    for (int i = rank; i < TILE; i += COMPUTE_THREADS) s.result[to.stage][i] = from[i] * from[TILE - 1 - i];
    ptx::mbarrier_arrive(&s.empty[at.stage]);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::mbarrier_arrive(&s.result_full[to.stage]);
  }
}

__device__ void store(Storage& s, float* y) {  // one thread
  // 3. Every tile that comes, until END: its buffer of s.result to its place in y, by a bulk copy.
  PipelineState<STAGES> at{0, 0};
  PipelineState<RESULTS> of{0, 0};
  for (;; at.advance(), of.advance()) {
    wait(s.full[at.stage], at.parity);
    ptx::mbarrier_arrive(&s.empty[at.stage]);
    const int tile = s.tile[at.stage];
    if (tile == END) return;
    wait(s.result_full[of.stage], of.parity);
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + tile * TILE, s.result[of.stage], BYTES);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    ptx::mbarrier_arrive(&s.result_empty[of.stage]);
  }
}

__global__ void relay(const float* x, float* y, int tiles, int* next) {
  __shared__ Storage s;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) ptx::mbarrier_init(&s.full[i], 1);
    // 1. Initialise the others: how many arrivals complete a phase of empty, result_full, result_empty?
    for (int i = 0; i < STAGES; ++i) ptx::mbarrier_init(&s.empty[i], COMPUTE_THREADS + 1);
    for (int i = 0; i < RESULTS; ++i) {
      ptx::mbarrier_init(&s.result_full[i], COMPUTE_THREADS);
      ptx::mbarrier_init(&s.result_empty[i], 1);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) load(s, x, tiles, next);
  if (threadIdx.x == STORER) store(s, y);
  if (threadIdx.x >= FIRST_COMPUTE) compute(s);
}
