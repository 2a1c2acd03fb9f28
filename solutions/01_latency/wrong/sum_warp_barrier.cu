// expect: race
// cell: sum-tiles
// The first step reads what the other warp stored, and a warp's barrier does not reach it.
__global__ void sum_tiles(const int* x, int* y, int tiles) {
  __shared__ int part[TILE];
  const int i = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    part[i] = x[tile * TILE + i];
    for (int half = TILE / 2; half > 0; half /= 2) {
      __syncwarp();
      if (i < half) part[i] += part[i + half];
    }
    if (i == 0) y[tile] = part[0];
    __syncthreads();
  }
}
