// expect: out-of-bounds
// cell: flip-tiles
// TILE - i instead of TILE - 1 - i: thread 0 reads behind the buffer.
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  __shared__ float buffer[TILE];
  const int i = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    buffer[i] = x[tile * TILE + i];
    __syncthreads();
    y[tile * TILE + i] = buffer[TILE - i];
    __syncthreads();
  }
}
