// expect: race
// cell: wave-counted
// STAGES - 1 groups may be in flight: this row may be one of them.
#include <cuda/pipeline>

__global__ void wave_counted(const float* x, float* y, int rows) {
  __shared__ float ring[STAGES][ROW];
  const int i = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  auto issue = [&](int row, int stage) {
    // Copy your number of this row, if the row exists. One group for each call.
    pipe.producer_acquire();
    if (row < rows) {
      cuda::memcpy_async(&ring[stage][i], &x[row * ROW + i], cuda::aligned_size_t<4>(4), pipe);
    }
    pipe.producer_commit();
  };
  for (int k = 0; k < STAGES - 1; ++k) issue(k, k);
  for (int row = 0; row < rows; ++row) {
    const int stage = row % STAGES;
    // Wait until this row has landed for everybody, with pipeline_consumer_wait_prior.
    cuda::pipeline_consumer_wait_prior<STAGES - 1>(pipe);
    __syncthreads();
    issue(row + STAGES - 1, (row + STAGES - 1) % STAGES);
    y[row * ROW + i] = ring[stage][i] - ring[stage][(i + 1) % ROW];
  }
}
