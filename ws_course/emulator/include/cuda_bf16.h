// The CUDA header works on the host; here is what it defines for device code only. Computed in float, rounded once.
#pragma once
#include_next <cuda_bf16.h>

#include <ws_emu/prelude.h>

#define WS_BF1(NAME, EXPR) \
  inline __nv_bfloat16 NAME(__nv_bfloat16 h) { float x = __bfloat162float(h); return __float2bfloat16(float(EXPR)); }
WS_BF1(hexp, std::exp(x))
WS_BF1(hexp2, std::exp2(x))
WS_BF1(hlog, std::log(x))
WS_BF1(hlog2, std::log2(x))
WS_BF1(hsqrt, std::sqrt(x))
WS_BF1(hrsqrt, 1.f / std::sqrt(x))
WS_BF1(hrcp, 1.f / x)
#undef WS_BF1
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __float2bfloat16(std::fma(__bfloat162float(a), __bfloat162float(b), __bfloat162float(c)));
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return __halves2bfloat162(__hfma(__low2bfloat16(a), __low2bfloat16(b), __low2bfloat16(c)), __hfma(__high2bfloat16(a), __high2bfloat16(b), __high2bfloat16(c)));
}
