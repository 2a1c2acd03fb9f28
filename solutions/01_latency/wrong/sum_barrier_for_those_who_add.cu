// expect: illegal-collective
// cell: sum-tiles
// The barrier stands in the branch: the threads that have nothing to add do not come.
__global__ void sum_tiles(const int* x, int* y, int tiles) {
  __shared__ int part[TILE];
  const int i = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    part[i] = x[tile * TILE + i];
    __syncthreads();
    for (int half = TILE / 2; half > 0; half /= 2) {
      if (i < half) {
        part[i] += part[i + half];
        __syncthreads();
      }
    }
    if (i == 0) y[tile] = part[0];
    __syncthreads();
  }
}
