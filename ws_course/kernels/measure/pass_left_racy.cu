// A planted race: each thread reads what its neighbour stores, and nothing orders the two. Every block passes its own
// numbers on, the last thread gets the first one's.
extern "C" __global__ void pass_left_racy(const float* x, float* y) {
  __shared__ float buffer[1024];
  const int i = threadIdx.x, n = blockDim.x;
  buffer[i] = x[blockIdx.x * n + i];
  y[blockIdx.x * n + i] = buffer[(i + 1) % n];
}
