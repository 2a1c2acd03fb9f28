// expect: wrong-result
// cell: smooth-down
// Fetched after the store: the row is gone.
constexpr int EACH = ROW / THREADS;

__global__ void smooth_down(float* data, int rows) {
  __shared__ float buffer[2][ROW];
  int now = 0;
  for (int i = threadIdx.x; i < ROW; i += THREADS) buffer[0][i] = data[i];
  __syncthreads();
  for (int row = 0; row < rows; ++row, now ^= 1) {
    const int next = row + 1;
    float flight[EACH];
    for (int e = 0; e < EACH; ++e) {
      const int i = e * THREADS + threadIdx.x;
      const float left = buffer[now][(i + ROW - 1) % ROW], right = buffer[now][(i + 1) % ROW];
      data[next * ROW + i] = (left + buffer[now][i] + right) / 3;  // where the next row was
    }
    if (next < rows) {
      for (int e = 0; e < EACH; ++e) flight[e] = data[next * ROW + e * THREADS + threadIdx.x];
    }
    if (next < rows) {
      for (int e = 0; e < EACH; ++e) buffer[now ^ 1][e * THREADS + threadIdx.x] = flight[e];
    }
    __syncthreads();
  }
}
