// expect: race
// cell: backwards
// gridDim.x counts blocks, not threads.
__global__ void backwards(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x) y[i] = x[n - 1 - i];
}
