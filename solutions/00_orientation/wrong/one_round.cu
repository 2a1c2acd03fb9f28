// expect: wrong-result
// cell: backwards
// Fine as long as there are as many threads as numbers.
__global__ void backwards(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[n - 1 - i];
}
