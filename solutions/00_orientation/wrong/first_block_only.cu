// expect: race
// cell: twice
// Without the block's number, every block writes the same elements.
__global__ void twice(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
