// The CUDA header works on the host; here is what it defines for device code only. Computed in float, rounded once.
#pragma once
#include_next <cuda_fp16.h>

#include <ws_emu/prelude.h>

#define WS_HALF1(NAME, EXPR) \
  inline __half NAME(__half h) { float x = __half2float(h); return __float2half(float(EXPR)); }
WS_HALF1(hexp, std::exp(x))
WS_HALF1(hexp2, std::exp2(x))
WS_HALF1(hlog, std::log(x))
WS_HALF1(hlog2, std::log2(x))
WS_HALF1(hsqrt, std::sqrt(x))
WS_HALF1(hrsqrt, 1.f / std::sqrt(x))
WS_HALF1(hrcp, 1.f / x)
WS_HALF1(hsin, std::sin(x))
WS_HALF1(hcos, std::cos(x))
WS_HALF1(hfloor, std::floor(x))
WS_HALF1(hceil, std::ceil(x))
WS_HALF1(htrunc, std::trunc(x))
WS_HALF1(hrint, std::nearbyint(x))
#undef WS_HALF1
#define WS_HALF2(NAME, ONE) \
  inline __half2 NAME(__half2 v) { return __halves2half2(ONE(__low2half(v)), ONE(__high2half(v))); }
WS_HALF2(h2exp, hexp)
WS_HALF2(h2exp2, hexp2)
WS_HALF2(h2log, hlog)
WS_HALF2(h2log2, hlog2)
WS_HALF2(h2sqrt, hsqrt)
WS_HALF2(h2rsqrt, hrsqrt)
WS_HALF2(h2rcp, hrcp)
#undef WS_HALF2
inline __half __hfma(__half a, __half b, __half c) {
  return __float2half(std::fma(__half2float(a), __half2float(b), __half2float(c)));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __halves2half2(__hfma(__low2half(a), __low2half(b), __low2half(c)), __hfma(__high2half(a), __high2half(b), __high2half(c)));
}
