// expect: out-of-bounds
// cell: twice
// The guard compares the index within the block, which is always small.
__global__ void twice(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x >= n) return;
  y[i] = 2 * x[i];
}
