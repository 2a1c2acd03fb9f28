// The same stream of tiles over cuda::pipeline: unified, partitioned (by count or by role), and of one thread with __syncthreads.
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

enum Bug {
  NONE,
  NO_WAIT,
  NO_ACQUIRE,
  NO_RELEASE,
  NO_COMMIT,
  EARLY_RELEASE,
  EARLY_COMMIT,
  PRODUCER_STOPS,
  CONSUMER_GOES_ON,
  IN_A_ROLE,
  TOO_DEEP,
  COUNT_UP,
  NO_SYNC_BEFORE,
  NO_SYNC_AFTER,
};
enum Kind { UNIFIED, BY_COUNT, BY_ROLE, ONE_THREAD };
constexpr int TILE = 128, MOST = 4;

struct Config {
  int tiles, stages, kind, producers, wide, bug;
};

template <class Pipe>
__device__ void load(float* to, const float* from, int rank, int size, const Config& c, Pipe& pipe) {
  if (c.wide)
    for (int i = 4 * rank; i < TILE; i += 4 * size) cuda::memcpy_async(to + i, from + i, cuda::aligned_size_t<16>(16), pipe);
  else
    for (int i = rank; i < TILE; i += size) cuda::memcpy_async(to + i, from + i, cuda::aligned_size_t<4>(4), pipe);
}
__device__ void use(float* y, const float* from, int rank, int size) {
  for (int i = rank; i < TILE; i += size) y[i] = 2 * from[TILE - 1 - i];
}

template <int STAGES>
__device__ void unified(float (*in)[TILE], const float* x, float* y, const Config& c) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int rank = block.thread_rank(), size = block.size(), ahead = STAGES + (c.bug == TOO_DEEP);
  if (c.bug == IN_A_ROLE && rank >= size / 2) return;
  for (int fetch = 0, t = 0; t < c.tiles; ++t) {
    for (; fetch < c.tiles && fetch < t + ahead; ++fetch) {
      if (c.bug != NO_ACQUIRE) pipe.producer_acquire();
      if (c.bug == EARLY_COMMIT) pipe.producer_commit();
      load(in[fetch % STAGES], x + fetch * TILE, rank, size, c, pipe);
      if (c.bug != NO_COMMIT && c.bug != EARLY_COMMIT) pipe.producer_commit();
    }
    if (c.bug != NO_WAIT) pipe.consumer_wait();
    if (c.bug == EARLY_RELEASE) pipe.consumer_release();
    use(y + t * TILE, in[t % STAGES], rank, size);
    if (c.bug != NO_RELEASE && c.bug != EARLY_RELEASE) pipe.consumer_release();
  }
}

template <int STAGES, class Pipe>
__device__ void roles(Pipe& pipe, float (*in)[TILE], const float* x, float* y, const Config& c) {
  const int rank = threadIdx.x, size = blockDim.x;
  if (rank < c.producers) {
    for (int t = 0; t < c.tiles - (c.bug == PRODUCER_STOPS); ++t) {
      if (c.bug != NO_ACQUIRE) pipe.producer_acquire();
      if (c.bug == EARLY_COMMIT) pipe.producer_commit();
      load(in[t % STAGES], x + t * TILE, rank, c.producers, c, pipe);
      if (c.bug != NO_COMMIT && c.bug != EARLY_COMMIT) pipe.producer_commit();
    }
  } else {
    for (int t = 0; t < c.tiles + (c.bug == CONSUMER_GOES_ON); ++t) {
      if (c.bug != NO_WAIT) pipe.consumer_wait();
      if (c.bug == EARLY_RELEASE) pipe.consumer_release();
      use(y + t * TILE, in[t % STAGES], rank - c.producers, size - c.producers);
      if (c.bug != NO_RELEASE && c.bug != EARLY_RELEASE) pipe.consumer_release();
    }
  }
}

template <int STAGES>
__device__ void partitioned(float (*in)[TILE], const float* x, float* y, const Config& c) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto block = cg::this_thread_block();
  if (c.kind == BY_COUNT) {
    auto pipe = cuda::make_pipeline(block, &state, c.producers + 32 * (c.bug == COUNT_UP));
    roles<STAGES>(pipe, in, x, y, c);
  } else {
    const auto role = int(block.thread_rank()) < c.producers ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    roles<STAGES>(pipe, in, x, y, c);
  }
}

template <int STAGES>
__device__ void one_thread(float (*in)[TILE], const float* x, float* y, const Config& c) {
  auto pipe = cuda::make_pipeline();
  const int rank = threadIdx.x, size = blockDim.x;
  int fetch = 0;
  auto fill = [&] {
    pipe.producer_acquire();
    if (fetch < c.tiles) load(in[fetch % STAGES], x + fetch * TILE, rank, size, c, pipe);
    if (c.bug != NO_COMMIT) pipe.producer_commit();
    ++fetch;
  };
  while (fetch < STAGES - 1) fill();
  for (int t = 0; t < c.tiles; ++t) {
    if (STAGES > 1) {
      if (c.bug != NO_WAIT) cuda::pipeline_consumer_wait_prior<STAGES - 2 >= 0 ? STAGES - 2 : 0>(pipe);
      if (c.bug != NO_SYNC_BEFORE) __syncthreads();
      fill();  // into the slot that everybody has read in the round before
      use(y + t * TILE, in[t % STAGES], rank, size);
    } else {
      fill();
      if (c.bug != NO_WAIT) cuda::pipeline_consumer_wait_prior<0>(pipe);
      if (c.bug != NO_SYNC_BEFORE) __syncthreads();
      use(y + t * TILE, in[0], rank, size);
      if (c.bug != NO_SYNC_AFTER) __syncthreads();
    }
    pipe.consumer_release();
  }
}

template <int STAGES>
__device__ void run(float (*in)[TILE], const float* x, float* y, const Config& c) {
  if (c.kind == UNIFIED) unified<STAGES>(in, x, y, c);
  else if (c.kind == ONE_THREAD) one_thread<STAGES>(in, x, y, c);
  else partitioned<STAGES>(in, x, y, c);
}

extern "C" __global__ void pipelines(const float* x, float* y, int tiles, int stages, int kind, int producers, int wide, int bug) {
  __shared__ alignas(16) float in[MOST][TILE];
  const Config c{tiles, stages, kind, producers, wide, bug};
  if (stages == 1) run<1>(in, x, y, c);
  if (stages == 2) run<2>(in, x, y, c);
  if (stages == 3) run<3>(in, x, y, c);
  if (stages == 4) run<4>(in, x, y, c);
}
