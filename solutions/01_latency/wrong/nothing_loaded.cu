// expect: uninitialised-read
// cell: flip-tiles
// The buffer is read, but nobody has written it.
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  __shared__ float buffer[TILE];
  const int i = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    __syncthreads();
    y[tile * TILE + i] = buffer[TILE - 1 - i];
    __syncthreads();
  }
}
