// Keeps the GPU busy for a while without touching memory, so that the host can queue what is to be timed behind it.
// A launch takes the host several microseconds: an event recorded on an idle GPU would count them as the kernel's time.
extern "C" __global__ void busy(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
}
