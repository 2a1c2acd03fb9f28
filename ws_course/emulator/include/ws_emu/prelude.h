// Included before every kernel: what a CUDA compiler knows without an #include. Written for the host compiler.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#if __has_include(<vector_functions.h>)
#include <vector_functions.h>
#include <vector_types.h>
#else
#error "ws-course: the header vector_types.h is missing; install the wheel nvidia-cuda-runtime"
#endif

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#undef __cluster_dims__
#undef __align__
#define __global__ __attribute__((used))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define __grid_constant__
#define __cluster_dims__(...)
#define __align__(n) alignas(n)
#define __CUDA_ARCH__ 900
#define WS_EMULATOR 1

#include <ws_emu/api.h>

extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
constexpr int warpSize = 32;

#include <ws_emu/atomics.h>
#include <ws_emu/intrinsics.h>
#include <ws_emu/warp.h>
#include <ws_emu/asm.h>

#define printf(...) ::ws_emu::device_printf(__VA_ARGS__)
#undef assert
#define assert(e) ((e) ? (void)0 : ::ws_emu::fail("launch-error", "the kernel's assertion failed: " #e, "", {__FILE__, __LINE__}))
