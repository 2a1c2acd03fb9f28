// expect: illegal-collective
// cell: flip-tiles
// Only some lanes of a warp come to the first barrier; the others are already at the second.
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  __shared__ float buffer[TILE];
  const int i = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    buffer[i] = x[tile * TILE + i];
    if (i < 16) __syncthreads();
    y[tile * TILE + i] = buffer[TILE - 1 - i];
    __syncthreads();
  }
}
