// CUtensorMap, the 128 bytes that tell the copy engine (TMA) about a tensor, as a kernel's parameter. Its home, <cuda.h>,
// is a header for the host: NVRTC cannot read it. What is in the bytes is known to the driver alone.
#pragma once
#ifdef __CUDACC_RTC__
struct alignas(128) CUtensorMap {
  unsigned long long opaque[16];
};
#else
#include <cuda.h>
#endif
