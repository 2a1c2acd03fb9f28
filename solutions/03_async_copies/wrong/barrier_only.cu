// expect: race
// cell: flip-rows
// A barrier makes threads meet; it finishes no copy.
#include <cuda/pipeline>

__global__ void flip_rows(const float* x, float* y, int rows) {
  __shared__ float buffer[ROW];
  const int i = threadIdx.x;  // a block has ROW threads
  auto pipe = cuda::make_pipeline();
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    // Start the copy of your number of this row.
    pipe.producer_acquire();
    cuda::memcpy_async(&buffer[i], &x[row * ROW + i], cuda::aligned_size_t<4>(4), pipe);
    pipe.producer_commit();
    // Go on only when the whole row has landed.
    __syncthreads();       // everybody's has
    y[row * ROW + i] = buffer[ROW - 1 - i];
    __syncthreads();  // read -> overwritten by the next copy
  }
}
