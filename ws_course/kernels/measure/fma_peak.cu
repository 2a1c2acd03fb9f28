// The arithmetic limit: every thread keeps 16 independent chains of multiply-adds in registers and touches no memory
// until the end. Floating-point operations: 2 * 16 * steps for each thread.
extern "C" __global__ void __launch_bounds__(256) fma_peak(float* out, float a, float b, int steps) {
  float x[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) x[i] = float(threadIdx.x + i);
#pragma unroll 4
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < 16; ++i) x[i] = fmaf(x[i], a, b);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += x[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
