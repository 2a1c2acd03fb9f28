// A ring of slots between producer warps, consumer warps and an optional storer warp, over mbarriers (cuda::ptx).
// y[t][i] = 2 * x[t][TILE - 1 - i], so that every value passes from one thread to another. `bug` picks one mistake.
#include <cuda/ptx>
#include <cuda_pipeline.h>
namespace ptx = cuda::ptx;

enum Bug {
  NONE,
  INIT_NOT_PUBLISHED,
  PRODUCER_PARITY,
  PRODUCER_PARITY_STUCK,
  PRODUCER_NO_WAIT,
  PRODUCER_STOPS,
  PRODUCER_WRONG_SLOT,
  PRODUCER_NO_SYNCWARP,
  CONSUMER_PARITY,
  CONSUMER_PARITY_STUCK,
  CONSUMER_NO_WAIT,
  CONSUMER_GOES_ON,
  CONSUMER_WRONG_SLOT,
  CONSUMER_NO_SYNCWARP,
  NO_RELEASE,
  ONE_RELEASE_MISSING,
  RELEASE_TWICE,
  EARLY_RELEASE,
  EARLY_ARRIVE,
  FULL_COUNT_UP,
  FULL_COUNT_DOWN,
  EMPTY_COUNT_UP,
  EMPTY_COUNT_DOWN,
  COPY_NOT_WAITED,
  TX_UP,
  TX_DOWN,
  TX_MISSING,
  STORE_NO_FENCE,
  STORE_NO_WAIT,
  STORE_SOURCE_NOT_READ,
};
enum Load { STORES, CP_ASYNC_WAIT, CP_ASYNC_NOINC, CP_ASYNC_ARRIVE, BULK, BULK_HALVES };

constexpr int TILE = 128, MOST = 4;

struct Storage {
  alignas(128) float in[MOST][TILE];
  alignas(128) float out[MOST][TILE];
  uint64_t full[MOST], empty[MOST], done[MOST], room[MOST];
};

struct Config {
  int tiles, stages, producers, consumers, load, one_producer, one_consumer, spin, storer, round, bug;
};

__device__ void wait(uint64_t* bar, unsigned parity, const Config& c) {
  if (c.spin) while (!ptx::mbarrier_test_wait_parity(bar, parity)) {}
  else while (!ptx::mbarrier_try_wait_parity(bar, parity)) {}
}

__device__ void arrive(uint64_t* bar, bool one_for_all, bool forget_syncwarp) {
  if (one_for_all) {
    if (!forget_syncwarp) __syncwarp();
    if (threadIdx.x % 32) return;
  }
  ptx::mbarrier_arrive(bar);
}

__device__ void produce(Storage& s, const float* x, const Config& c, int rank) {
  const int size = 32 * c.producers;
  const bool bulk = c.load >= BULK;
  if (bulk && rank) return;
  for (int t = 0; t < c.tiles - (c.bug == PRODUCER_STOPS); ++t) {
    const int slot = t % c.stages, to = c.bug == PRODUCER_WRONG_SLOT ? (slot + 1) % c.stages : slot;
    unsigned parity = (t / c.stages & 1) ^ 1;
    if (c.bug == PRODUCER_PARITY) parity ^= 1;
    if (c.bug == PRODUCER_PARITY_STUCK) parity = 1;
    if (c.bug != PRODUCER_NO_WAIT) wait(&s.empty[slot], parity, c);
    const float* from = x + t * TILE;
    if (bulk) {
      const unsigned bytes = TILE * 4, halves = c.load == BULK_HALVES ? 2 : 1;
      const unsigned expected = bytes + 16 * (c.bug == TX_UP) - 16 * (c.bug == TX_DOWN);
      if (c.bug == TX_MISSING) ptx::mbarrier_arrive(&s.full[slot]);
      else ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &s.full[slot], expected);
      for (unsigned h = 0; h < halves; ++h)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, &s.in[to][h * TILE / 2], from + h * TILE / 2, bytes / halves,
                           &s.full[slot]);
      continue;
    }
    if (c.bug == EARLY_ARRIVE) arrive(&s.full[slot], c.one_producer, false);
    for (int i = rank; i < TILE; i += size) {
      if (c.load == STORES) s.in[to][i] = from[i];
      else __pipeline_memcpy_async(&s.in[to][i], &from[i], 4);
    }
    if (c.bug == EARLY_ARRIVE) continue;
    const unsigned bar = static_cast<unsigned>(__cvta_generic_to_shared(&s.full[slot]));
    if (c.load == CP_ASYNC_NOINC && c.bug != COPY_NOT_WAITED) {
      asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
      continue;
    }
    if (c.load == CP_ASYNC_ARRIVE && c.bug != COPY_NOT_WAITED)
      asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
    if (c.load == CP_ASYNC_WAIT) {
      __pipeline_commit();
      __pipeline_wait_prior(c.bug == COPY_NOT_WAITED ? 1 : 0);
    }
    arrive(&s.full[slot], c.one_producer, c.bug == PRODUCER_NO_SYNCWARP);
  }
}

__device__ void consume(Storage& s, float* y, const Config& c, int rank) {
  const int size = 32 * c.consumers;
  for (int t = 0; t < c.tiles + (c.bug == CONSUMER_GOES_ON); ++t) {
    const int slot = t % c.stages, from = c.bug == CONSUMER_WRONG_SLOT ? (slot + 1) % c.stages : slot;
    unsigned parity = t / c.stages & 1;
    if (c.bug == CONSUMER_PARITY) parity ^= 1;
    if (c.bug == CONSUMER_PARITY_STUCK) parity = 0;
    if (c.bug != CONSUMER_NO_WAIT) wait(&s.full[slot], parity, c);
    if (c.bug == EARLY_RELEASE) arrive(&s.empty[slot], c.one_consumer, false);
    if (c.storer) wait(&s.room[slot], (t / c.stages & 1) ^ 1, c);
    for (int i = rank; i < TILE; i += size) {
      const float v = 2 * s.in[from][TILE - 1 - i];
      if (c.storer) s.out[slot][i] = v;
      else y[t * TILE + i] = v;
    }
    const bool skip = c.bug == NO_RELEASE || c.bug == EARLY_RELEASE ||
                      (c.bug == ONE_RELEASE_MISSING && t == c.round && rank / 32 == c.consumers - 1 && (c.one_consumer || rank % 32 == 7));
    if (!skip) arrive(&s.empty[slot], c.one_consumer, c.bug == CONSUMER_NO_SYNCWARP);
    if (c.bug == RELEASE_TWICE && t == 0 && rank == 0) ptx::mbarrier_arrive(&s.empty[slot]);
    if (c.storer) {
      if (c.bug != STORE_NO_FENCE) ptx::fence_proxy_async(ptx::space_shared);
      arrive(&s.done[slot], c.one_consumer, false);
    }
  }
}

__device__ void store(Storage& s, float* y, const Config& c) {
  for (int t = 0; t < c.tiles; ++t) {
    const int slot = t % c.stages;
    if (c.bug != STORE_NO_WAIT) wait(&s.done[slot], t / c.stages & 1, c);
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + t * TILE, s.out[slot], TILE * 4);
    ptx::cp_async_bulk_commit_group();
    if (c.bug != STORE_SOURCE_NOT_READ) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    ptx::mbarrier_arrive(&s.room[slot]);
  }
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

extern "C" __global__ void ring(const float* x, float* y, int tiles, int stages, int producers, int consumers, int load, int one_producer,
                                int one_consumer, int spin, int storer, int round, int bug) {
  __shared__ Storage s;
  const Config c{tiles, stages, producers, consumers, load, one_producer, one_consumer, spin, storer, round, bug};
  if (threadIdx.x == 0) {
    const int full = load >= BULK ? 1 : one_producer ? producers : 32 * producers, empty = one_consumer ? consumers : 32 * consumers;
    for (int i = 0; i < stages; ++i) {
      ptx::mbarrier_init(&s.full[i], full + (bug == FULL_COUNT_UP) - (bug == FULL_COUNT_DOWN));
      ptx::mbarrier_init(&s.empty[i], empty + (bug == EMPTY_COUNT_UP) - (bug == EMPTY_COUNT_DOWN));
      ptx::mbarrier_init(&s.done[i], empty);
      ptx::mbarrier_init(&s.room[i], 1);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  if (bug != INIT_NOT_PUBLISHED) __syncthreads();
  const int rank = threadIdx.x;
  if (rank < 32 * producers) produce(s, x, c, rank);
  else if (rank < 32 * (producers + consumers)) consume(s, y, c, rank - 32 * producers);
  else if (rank == 32 * (producers + consumers)) store(s, y, c);
}
