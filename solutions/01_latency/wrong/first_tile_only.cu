// expect: wrong-result
// cell: flip-tiles
// Each block does one tile and stops: fine while there are as many blocks as tiles.
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  __shared__ float buffer[TILE];
  const int i = threadIdx.x;
  if (blockIdx.x < tiles) {
    buffer[i] = x[blockIdx.x * TILE + i];
    __syncthreads();
    y[blockIdx.x * TILE + i] = buffer[TILE - 1 - i];
  }
}
