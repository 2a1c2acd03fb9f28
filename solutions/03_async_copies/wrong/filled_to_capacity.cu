// expect: race, AssertionError
// cell: wave
// STAGES rows ahead: the newest copy lands in the stage that is read.
#include <cuda/pipeline>
#include <ws/trace.cuh>

__global__ void wave(const float* x, float* y, int rows) {
  __shared__ float ring[STAGES][ROW];
  const int i = threadIdx.x;  // a block has ROW threads
  auto pipe = cuda::make_pipeline();
  auto issue = [&](int row, int stage) {
    ws::Span span(ws::Work::load, row);
    pipe.producer_acquire();
    cuda::memcpy_async(&ring[stage][i], &x[row * ROW + i], cuda::aligned_size_t<4>(4), pipe);
    pipe.producer_commit();
  };
  // 1. Fill the ring.
  for (int k = 0; k < STAGES; ++k) {
    const int row = blockIdx.x + k * gridDim.x;
    if (row < rows) issue(row, k);
  }
  int stage = 0;  // the stage that holds this row
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    // 2. This row has landed for everybody; a later row is on its way.
    pipe.consumer_wait();
    __syncthreads();
    const int later = row + STAGES * gridDim.x;
    if (later < rows) issue(later, stage);
    {
      ws::Span span(ws::Work::compute, row);
      y[row * ROW + i] = ring[stage][i] - ring[stage][(i + 1) % ROW];
    }
    // 3. Next stage.
    pipe.consumer_release();
    stage = (stage + 1) % STAGES;
  }
}
