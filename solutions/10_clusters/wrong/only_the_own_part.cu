// expect: wrong-result
// cell: center
// Adds this CTA's sum once for each CTA.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ float warp_sum(float mine) {  // all lanes of a warp call it; lane 0 gets the sum
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffff, mine, step);
  return mine;
}

__global__ void center(const float* x, float* y, int rows, int n) {
  __shared__ float part;  // what this CTA adds to the sum of the row
  auto cluster = cg::this_cluster();
  const int size = cluster.num_blocks(), rank = cluster.block_rank(), lane = threadIdx.x;
  for (int row = blockIdx.x / size; row < rows; row += gridDim.x / size) {
    const float* from = x + size_t(row) * n;
    float* to = y + size_t(row) * n;
    float mine = 0;
    for (int i = rank * 32 + lane; i < n; i += size * 32) mine += from[i];
    mine = warp_sum(mine);
    float total = 0;
    // 1. Show the sum of this CTA to the others.
    if (lane == 0) part = mine;
    cluster.sync();
    // 2. total = the sum of the whole row, in every thread.
    for (int other = 0; other < size; ++other) total += *cluster.map_shared_rank(&part, rank);
    for (int i = rank * 32 + lane; i < n; i += size * 32) to[i] = from[i] - total / n;
    // 3. Before the next row, and before the end.
    cluster.sync();
  }
}
