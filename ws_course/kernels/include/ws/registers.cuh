// setmaxnreg for toolkits whose <cuda/ptx> lacks it (CUDA 13.0 does). Every warp of a warpgroup (4 warps) must call it,
// on the chips with a letter only: sm_90a, sm_100a. The emulator has its own version of this header.
#pragma once

namespace ws {

// Gives registers back: from here on a thread of this warpgroup may use COUNT of them.
template <int COUNT>
__device__ __forceinline__ void setmaxnreg_dec() {
  static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "a multiple of 8, from 24 to 256");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// Waits until the CTA has given back enough registers, and takes them: COUNT for each thread of this warpgroup.
template <int COUNT>
__device__ __forceinline__ void setmaxnreg_inc() {
  static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "a multiple of 8, from 24 to 256");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

}  // namespace ws
