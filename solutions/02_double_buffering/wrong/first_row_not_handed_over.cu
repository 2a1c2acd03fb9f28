// expect: race
// cell: smooth
// No barrier between loading the first row and reading it.
constexpr int EACH = ROW / THREADS;  // numbers of a row that one thread moves

__global__ void smooth(const float* x, float* y, int rows) {
  __shared__ float buffer[2][ROW];
  int now = 0;  // the buffer that is read
  // 1. The first row has nothing to hide behind.
  if (int(blockIdx.x) < rows) {
    for (int e = 0; e < EACH; ++e) {
      const int i = e * THREADS + threadIdx.x;
      buffer[0][i] = x[blockIdx.x * ROW + i];
    }
  }
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    const int next = row + gridDim.x;
    float flight[EACH];  // the next row, on its way
    // 2. Fetch.
    if (next < rows) {
      for (int e = 0; e < EACH; ++e) flight[e] = x[next * ROW + e * THREADS + threadIdx.x];
    }
    for (int e = 0; e < EACH; ++e) {
      const int i = e * THREADS + threadIdx.x;
      const float left = buffer[now][(i + ROW - 1) % ROW], right = buffer[now][(i + 1) % ROW];
      y[row * ROW + i] = (left + buffer[now][i] + right) / 3;
    }
    // 3. Put, hand over, change buffers.
    if (next < rows) {
      for (int e = 0; e < EACH; ++e) buffer[now ^ 1][e * THREADS + threadIdx.x] = flight[e];
    }
    __syncthreads();  // next row: written -> read; this row: read -> overwritten
    now ^= 1;
  }
}
