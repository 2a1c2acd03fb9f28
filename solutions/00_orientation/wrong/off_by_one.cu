// expect: out-of-bounds
// cell: backwards
// x[n - i] for i = 0 is one past the end.
__global__ void backwards(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[n - i];
}
