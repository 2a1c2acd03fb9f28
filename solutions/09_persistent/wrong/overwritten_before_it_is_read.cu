// expect: race
// cell: persistent
// No barrier between the readers and the next answer.
__device__ int steps(int n) {
  int count = 0;
  for (; n != 1; ++count) n = n % 2 ? 3 * n + 1 : n / 2;
  return count;
}

__global__ void persistent(const int* x, int* y, int* owner, int tiles, int* next) {
  // Every tile once, by whichever CTA is ready for it. Blocks have TILE threads.
  __shared__ int following;
  for (int tile = blockIdx.x; tile < tiles;) {
    const int i = tile * TILE + threadIdx.x;
    y[i] = steps(x[i]);
    if (threadIdx.x == 0) {
      owner[tile] = blockIdx.x;
      const int taken = atomicAdd(next, 1);
      if (taken == tiles - 1) atomicExch(next, 0);  // everybody has asked
      following = gridDim.x + taken;
    }
    __syncthreads();  // written -> read
    tile = following;
  }
}
