// Matrix product with tiles in shared memory, one thread per element of C: the standard first CUDA example, and the
// kernel with which emulators are compared. A, B, C are [n, n] row-major; any n >= 0; block = (16, 16),
// grid = (ceil(n / 16), ceil(n / 16)).
constexpr int SIDE = 16;

extern "C" __global__ void matmul_shared(const float* A, const float* B, float* C, int n) {
  __shared__ float a[SIDE][SIDE];
  __shared__ float b[SIDE][SIDE];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * SIDE + x, row = blockIdx.y * SIDE + y;
  float sum = 0;
  for (int start = 0; start < n; start += SIDE) {
    a[y][x] = row < n && start + x < n ? A[row * n + start + x] : 0;
    b[y][x] = start + y < n && column < n ? B[(start + y) * n + column] : 0;
    __syncthreads();  // both tiles written -> read
    for (int k = 0; k < SIDE; ++k) sum += a[y][k] * b[k][x];
    __syncthreads();  // both tiles read -> overwritten
  }
  if (row < n && column < n) C[row * n + column] = sum;
}
