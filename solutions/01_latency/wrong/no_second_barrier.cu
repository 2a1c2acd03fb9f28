// expect: race
// cell: flip-tiles
// Right for one tile; with more, a fast thread stores the next tile while a slow one still reads this one.
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  __shared__ float buffer[TILE];
  const int i = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    buffer[i] = x[tile * TILE + i];
    __syncthreads();
    y[tile * TILE + i] = buffer[TILE - 1 - i];
  }
}
