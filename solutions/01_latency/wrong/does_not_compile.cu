// expect: compile-error
// cell: flip-tiles
__global__ void flip_tiles(const float* x, float* y, int tiles) {
  __shared__ float buffer[TILE];
  buffer[threadIdx.x] = from[threadIdx.x];
}
