// expect: out-of-bounds
// cell: twice
// i == n is one past the end.
__global__ void twice(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > n) return;
  y[i] = 2 * x[i];
}
