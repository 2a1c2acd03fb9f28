// A ring over a cluster: each block's producer loads a part of every tile and multicasts it to all blocks; a slot is free when the
// consumers of all blocks have read it. Block r writes y[r][t][i] = (r + 1) * x[t][TILE - 1 - i].
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;

enum Bug {
  NONE,
  INIT_NOT_PUBLISHED,
  ONLY_BLOCK_SYNC,
  LEAVES_EARLY,
  RELEASES_ONLY_HERE,
  EMPTY_COUNT_OF_ONE_BLOCK,
  PRODUCER_NO_WAIT,
  CONSUMER_NO_WAIT,
  EARLY_RELEASE,
  TX_OF_OWN_PART,
  MULTICAST_TO_ONE,
  PRODUCER_PARITY,
};
enum Load { MULTICAST, ST_ASYNC, REMOTE_STORES };
constexpr int TILE = 128, MOST = 4;

struct Storage {
  alignas(128) float in[MOST][TILE];
  uint64_t full[MOST], empty[MOST];
};
struct Config {
  int tiles, stages, consumers, load, bug;
};

__device__ void wait(uint64_t* bar, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, bar, parity)) {}
}

__device__ void produce(Storage& s, const float* x, const Config& c) {
  auto cluster = cg::this_cluster();
  const int blocks = cluster.num_blocks(), rank = cluster.block_rank(), lane = threadIdx.x, part = TILE / blocks;
  if (c.load == MULTICAST && lane) return;
  for (int t = 0; t < c.tiles; ++t) {
    const int slot = t % c.stages;
    unsigned parity = (t / c.stages & 1) ^ 1;
    if (c.bug == PRODUCER_PARITY) parity ^= 1;
    if (c.bug != PRODUCER_NO_WAIT) wait(&s.empty[slot], parity);
    const float* from = x + t * TILE + rank * part;
    float* to = &s.in[slot][rank * part];
    const unsigned bytes = 4 * (c.bug == TX_OF_OWN_PART ? part : TILE);
    if (c.load == MULTICAST) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &s.full[slot], bytes);
      const uint16_t all = c.bug == MULTICAST_TO_ONE ? 1 : (1u << blocks) - 1;
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, 4 * part, &s.full[slot], all);
    } else if (c.load == ST_ASYNC) {
      if (lane == 0) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &s.full[slot], bytes);
      for (int b = 0; b < (c.bug == MULTICAST_TO_ONE ? 1 : blocks); ++b)
        for (int i = lane; i < part; i += 32)
          ptx::st_async(ptx::sem_weak, cluster.map_shared_rank(to + i, b), from[i], cluster.map_shared_rank(&s.full[slot], b));
    } else {
      for (int b = 0; b < (c.bug == MULTICAST_TO_ONE ? 1 : blocks); ++b) {
        float* there = cluster.map_shared_rank(to, b);
        for (int i = lane; i < part; i += 32) there[i] = from[i];
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, cluster.map_shared_rank(&s.full[slot], b));
      }
    }
  }
}

__device__ void consume(Storage& s, float* y, const Config& c) {
  auto cluster = cg::this_cluster();
  const int rank = threadIdx.x - 32, size = 32 * c.consumers;
  for (int t = 0; t < c.tiles; ++t) {
    const int slot = t % c.stages;
    auto release = [&] {
      __syncwarp();
      const int blocks = c.bug == RELEASES_ONLY_HERE ? 1 : int(cluster.num_blocks());
      if (rank % 32 < blocks) {
        const int target = c.bug == RELEASES_ONLY_HERE ? int(cluster.block_rank()) : rank % 32;
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, cluster.map_shared_rank(&s.empty[slot], target));
      }
    };
    if (c.bug != CONSUMER_NO_WAIT) wait(&s.full[slot], t / c.stages & 1);
    if (c.bug == EARLY_RELEASE) release();
    for (int i = rank; i < TILE; i += size)
      y[(cluster.block_rank() * c.tiles + t) * TILE + i] = (cluster.block_rank() + 1) * s.in[slot][TILE - 1 - i];
    if (c.bug != EARLY_RELEASE) release();
  }
}

extern "C" __global__ void cluster(const float* x, float* y, int tiles, int stages, int consumers, int load, int bug) {
  __shared__ Storage s;
  const Config c{tiles, stages, consumers, load, bug};
  auto all = cg::this_cluster();
  if (threadIdx.x == 0) {
    const int blocks = all.num_blocks();
    for (int i = 0; i < stages; ++i) {
      ptx::mbarrier_init(&s.full[i], load == REMOTE_STORES ? 32 * blocks : 1);
      ptx::mbarrier_init(&s.empty[i], consumers * (bug == EMPTY_COUNT_OF_ONE_BLOCK ? 1 : blocks));
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  if (bug == ONLY_BLOCK_SYNC) __syncthreads();
  else if (bug != INIT_NOT_PUBLISHED) all.sync();
  if (threadIdx.x < 32) produce(s, x, c);
  else consume(s, y, c);
  __syncwarp();
  if (bug != LEAVES_EARLY) all.sync();
}
