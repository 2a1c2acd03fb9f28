// expect: wrong-result
// cell: flip-tiles
// A copy: no element changes its place.
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    y[tile * TILE + threadIdx.x] = x[tile * TILE + threadIdx.x];
  }
}
