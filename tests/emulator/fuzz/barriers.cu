// The same stream over cuda::barrier (every thread arrives, tokens or parity), over named barriers, and with __syncthreads only.
#include <cuda/barrier>
#include <cuda/ptx>

enum Bug {
  NONE,
  INIT_NOT_PUBLISHED,
  NO_FIRST_ARRIVAL,
  PRODUCER_NO_WAIT,
  CONSUMER_NO_WAIT,
  NO_RELEASE,
  EARLY_RELEASE,
  EARLY_ARRIVE,
  COUNT_UP,
  COUNT_DOWN,
  PRODUCER_STOPS,
  CONSUMER_GOES_ON,
  ARRIVES_INSTEAD_OF_WAITING,
  WRONG_BARRIER,
  TOO_MANY_BARRIERS,
  ODD_COUNT,
};
enum Kind { TOKENS, PARITY, NAMED, WHOLE_BLOCK };
constexpr int TILE = 128, MOST = 4;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

struct Config {
  int tiles, stages, kind, producers, consumers, bug;
};

__device__ void fill(float* to, const float* from, int rank, int size) {
  for (int i = rank; i < TILE; i += size) to[i] = from[i];
}
__device__ void use(float* y, const float* from, int rank, int size) {
  for (int i = rank; i < TILE; i += size) y[i] = 2 * from[TILE - 1 - i];
}

__device__ void with_barriers(float (*in)[TILE], Barrier* full, Barrier* empty, const float* x, float* y, const Config& c) {
  const int rank = threadIdx.x, producers = 32 * c.producers, consumers = 32 * c.consumers;
  const bool tokens = c.kind == TOKENS;  // both sides arrive at both barriers
  if (rank == 0)
    for (int i = 0; i < c.stages; ++i) {
      const int off = (c.bug == COUNT_UP) - (c.bug == COUNT_DOWN);
      init(&full[i], (tokens ? producers + consumers : producers) + off);
      init(&empty[i], (tokens ? producers + consumers : consumers) + off);
    }
  if (c.bug != INIT_NOT_PUBLISHED) __syncthreads();
  if (rank < producers) {
    for (int t = 0; t < c.tiles - (c.bug == PRODUCER_STOPS); ++t) {
      const int slot = t % c.stages;
      if (c.bug != PRODUCER_NO_WAIT) {
        if (tokens) empty[slot].arrive_and_wait();
        else empty[slot].wait_parity((t / c.stages & 1) ^ 1);
      }
      if (c.bug == EARLY_ARRIVE) (void)full[slot].arrive();
      fill(in[slot], x + t * TILE, rank, producers);
      if (c.bug != EARLY_ARRIVE) (void)full[slot].arrive();
    }
  } else {
    if (tokens && c.bug != NO_FIRST_ARRIVAL)
      for (int i = 0; i < c.stages; ++i) (void)empty[i].arrive();
    for (int t = 0; t < c.tiles + (c.bug == CONSUMER_GOES_ON); ++t) {
      const int slot = t % c.stages;
      if (c.bug == CONSUMER_NO_WAIT) {
        if (tokens) (void)full[slot].arrive();
      } else if (tokens) {
        auto token = full[slot].arrive();
        full[slot].wait(std::move(token));
      } else {
        full[slot].wait_parity(t / c.stages & 1);
      }
      if (c.bug == EARLY_RELEASE) (void)empty[slot].arrive();
      use(y + t * TILE, in[slot], rank - producers, consumers);
      if (c.bug != EARLY_RELEASE && c.bug != NO_RELEASE) (void)empty[slot].arrive();
    }
  }
}

__device__ void bar(bool wait, int id, int count) {
  if (wait) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
  else asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory");
}
__device__ void named(float (*in)[TILE], const float* x, float* y, const Config& c) {
  const int rank = threadIdx.x, producers = 32 * c.producers, consumers = 32 * c.consumers;
  const int count = producers + consumers + 32 * (c.bug == COUNT_UP) - 32 * (c.bug == COUNT_DOWN) + (c.bug == ODD_COUNT);
  const int first = c.bug == TOO_MANY_BARRIERS ? 16 - c.stages : 1;
  if (rank < producers) {
    for (int t = 0; t < c.tiles - (c.bug == PRODUCER_STOPS); ++t) {
      const int slot = t % c.stages, full = first + slot, empty = first + c.stages + slot;
      if (t >= c.stages && c.bug != PRODUCER_NO_WAIT) bar(c.bug != ARRIVES_INSTEAD_OF_WAITING, empty, count);
      if (c.bug == EARLY_ARRIVE) bar(false, full, count);
      fill(in[slot], x + t * TILE, rank, producers);
      if (c.bug != EARLY_ARRIVE) bar(false, full + (c.bug == WRONG_BARRIER ? 2 * MOST : 0), count);
    }
  } else {
    for (int t = 0; t < c.tiles + (c.bug == CONSUMER_GOES_ON); ++t) {
      const int slot = t % c.stages, full = first + slot, empty = first + c.stages + slot;
      if (c.bug != CONSUMER_NO_WAIT) bar(true, full, count);
      const bool next = t + c.stages < c.tiles;
      if (next && c.bug == EARLY_RELEASE) bar(false, empty, count);
      use(y + t * TILE, in[slot], rank - producers, consumers);
      if (next && c.bug != EARLY_RELEASE && c.bug != NO_RELEASE) bar(false, empty, count);
    }
  }
}

__device__ void whole_block(float (*in)[TILE], const float* x, float* y, const Config& c) {
  const int rank = threadIdx.x, size = blockDim.x;
  for (int t = 0; t < c.tiles; ++t) {
    const int slot = t % c.stages;
    fill(in[slot], x + t * TILE, rank, size);
    if (c.bug != CONSUMER_NO_WAIT) __syncthreads();
    use(y + t * TILE, in[slot], rank, size);
    if (c.stages == 1 && c.bug != PRODUCER_NO_WAIT) __syncthreads();
  }
}

extern "C" __global__ void barriers(const float* x, float* y, int tiles, int stages, int kind, int producers, int consumers, int bug) {
  __shared__ float in[MOST][TILE];
  __shared__ Barrier full[MOST], empty[MOST];
  const Config c{tiles, stages, kind, producers, consumers, bug};
  if (kind == NAMED) named(in, x, y, c);
  else if (kind == WHOLE_BLOCK) whole_block(in, x, y, c);
  else with_barriers(in, full, empty, x, y, c);
}
