// expect: race
// cell: flip-tiles
// One warp of two meets at the barrier, and the other has left: nothing orders its stores and these reads.
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  __shared__ float buffer[TILE];
  const int i = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    buffer[i] = x[tile * TILE + i];
    if (i < TILE / 2) {
      __syncthreads();
      y[tile * TILE + i] = buffer[TILE - 1 - i];
    }
  }
}
