// expect: race
// cell: flip-tiles
// No thread waits for the others' stores before it reads their elements.
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  __shared__ float buffer[TILE];
  const int i = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    buffer[i] = x[tile * TILE + i];
    y[tile * TILE + i] = buffer[TILE - 1 - i];
    __syncthreads();
  }
}
