// expect: AssertionError
// cell: add-neighbour
// Right values, but nothing goes through the pipeline.
__global__ void add_neighbour(const float* x, float* y, int tiles) {
  for (int tile = 0; tile < tiles; ++tile) {
    y[tile * TILE + threadIdx.x] = x[tile * TILE + threadIdx.x] + x[tile * TILE + (threadIdx.x + 1) % TILE];
  }
}
