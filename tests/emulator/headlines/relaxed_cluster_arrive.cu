#include <cuda/ptx>
#include <cooperative_groups.h>
namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;
// Right: initialise, fence.mbarrier_init, arrive relaxed, wait with acquire.
extern "C" __global__ void relaxed_cluster_arrive(float* y) {
  __shared__ uint64_t full;
  if (threadIdx.x == 0) { ptx::mbarrier_init(&full, 64); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); }
  ptx::barrier_cluster_arrive(ptx::sem_relaxed);
  ptx::barrier_cluster_wait(ptx::sem_acquire);
  for (int r = 0; r < 2; ++r)
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, cg::this_cluster().map_shared_rank(&full, r));
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, 0)) {}
  y[blockIdx.x * 32 + threadIdx.x] = 1;
  cg::this_cluster().sync();
}
