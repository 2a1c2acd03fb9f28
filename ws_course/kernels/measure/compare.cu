// Counts the elements of `got` that are not within `tolerance` of `scale * expected`, and finds the largest error.
// A NaN is within nothing: the comparison is written so that it counts as bad.
extern "C" __global__ void compare(const float* got, const float* expected, float scale, float tolerance, long long n,
                                   unsigned long long* bad, float* largest) {
  unsigned long long count = 0;
  float error = 0;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    const float off = fabsf(got[i] - scale * expected[i]);
    if (!(off <= tolerance)) ++count;
    error = fmaxf(error, off);
  }
  if (count) atomicAdd(bad, count);
  // errors are not negative, and the bits of such floats sort like integers
  atomicMax(reinterpret_cast<int*>(largest), __float_as_int(error));
}
