// expect: deadlock, race
// cell: line
// The computing warps forget the first pipeline.
#include <cuda/barrier>
#include <cuda/pipeline>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
using Pipeline = cuda::pipeline<cuda::thread_scope_block>;
using cuda::pipeline_role;
constexpr int COMPUTE_THREADS = 32 * COMPUTE_WARPS;

struct Team {  // the threads [first, first + count) of the block, which meet at a barrier of their own
  int first, count;
  Barrier* barrier;
  __device__ int size() const { return count; }
  __device__ int thread_rank() const { return int(threadIdx.x) - first; }
  __device__ void sync() const { barrier->arrive_and_wait(); }
};

__global__ void line(const float* x, float* y, int tiles) {
  __shared__ float buffer[STAGES][TILE], result[TILE];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> loaded_state;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> computed_state;
  __shared__ Barrier meet[2];
  const Team loading{0, 32 + COMPUTE_THREADS, &meet[0]};
  // 1. The team `storing`, which shares the second pipeline.
  const Team storing{32, COMPUTE_THREADS + 32, &meet[1]};
  if (threadIdx.x == 0) {
    init(&meet[0], loading.size());
    init(&meet[1], storing.size());
  }
  __syncthreads();
  if (threadIdx.x < 32) {  // the loader
    Pipeline loaded = cuda::make_pipeline(loading, &loaded_state, pipeline_role::producer);
    for (int tile = blockIdx.x, stage = 0; tile < tiles; tile += gridDim.x, stage = (stage + 1) % STAGES) {
      loaded.producer_acquire();
      for (int i = threadIdx.x; i < TILE; i += 32) {
        cuda::memcpy_async(&buffer[stage][i], x + tile * TILE + i, sizeof(float), loaded);
      }
      loaded.producer_commit();
    }
  } else if (threadIdx.x < 32 + COMPUTE_THREADS) {  // computing
    Pipeline loaded = cuda::make_pipeline(loading, &loaded_state, pipeline_role::consumer);
    // 2. The second pipeline, on this side.
    Pipeline computed = cuda::make_pipeline(storing, &computed_state, pipeline_role::producer);
    for (int tile = blockIdx.x, stage = 0; tile < tiles; tile += gridDim.x, stage = (stage + 1) % STAGES) {
      loaded.consumer_wait();
      // 3. Compute into `result`, with all computing threads, and hand it on.
      //    Give the stage back as early as you can (a late release passes too).
      float mine[(TILE + COMPUTE_THREADS - 1) / COMPUTE_THREADS];
      int n = 0;
      for (int i = threadIdx.x - 32; i < TILE; i += COMPUTE_THREADS) {
        mine[n++] = buffer[stage][i] * buffer[stage][TILE - 1 - i];
      }
      computed.producer_acquire();
      n = 0;
      for (int i = threadIdx.x - 32; i < TILE; i += COMPUTE_THREADS) result[i] = mine[n++];
      computed.producer_commit();
    }
  } else {  // the storer
    // 4. The second pipeline, on this side; then every tile of this block from `result` to y.
    Pipeline computed = cuda::make_pipeline(storing, &computed_state, pipeline_role::consumer);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      computed.consumer_wait();
      for (int i = threadIdx.x % 32; i < TILE; i += 32) y[tile * TILE + i] = result[i];
      computed.consumer_release();
    }
  }
}
