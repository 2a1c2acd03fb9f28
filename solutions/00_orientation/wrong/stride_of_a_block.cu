// expect: race
// cell: backwards
// A stride of one block instead of the whole grid: two blocks write the same element.
// The values are right, so only the order of accesses shows it.
__global__ void backwards(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) y[i] = x[n - 1 - i];
}
