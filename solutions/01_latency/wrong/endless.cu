// expect: timeout
// cell: flip-tiles
// The loop's step is forgotten.
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  for (int tile = blockIdx.x; tile < tiles;) {
    y[tile * TILE + threadIdx.x] = x[tile * TILE + TILE - 1 - threadIdx.x];
  }
}
