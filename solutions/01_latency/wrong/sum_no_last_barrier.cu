// expect: race
// cell: sum-tiles
// Right for one tile: with more, the next tile is stored while thread 0 still reads.
__global__ void sum_tiles(const int* x, int* y, int tiles) {
  __shared__ int part[TILE];
  const int i = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    part[i] = x[tile * TILE + i];
    for (int half = TILE / 2; half > 0; half /= 2) {
      __syncthreads();
      if (i < half) part[i] += part[i + half];
    }
    if (i == 0) y[tile] = part[0];
  }
}
