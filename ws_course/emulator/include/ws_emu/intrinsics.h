// Arithmetic, bit and memory intrinsics. Host rounding of transcendental functions differs in the last bits.
#pragma once

namespace ws_emu {
template <class T, class U>
WS_QUIET inline T bits(U u) {
  static_assert(sizeof(T) == sizeof(U));
  T t;
  std::memcpy(&t, &u, sizeof t);
  return t;
}
}  // namespace ws_emu

inline int __float_as_int(float f) { return ws_emu::bits<int>(f); }
inline unsigned __float_as_uint(float f) { return ws_emu::bits<unsigned>(f); }
inline float __int_as_float(int i) { return ws_emu::bits<float>(i); }
inline float __uint_as_float(unsigned i) { return ws_emu::bits<float>(i); }
inline long long __double_as_longlong(double d) { return ws_emu::bits<long long>(d); }
inline double __longlong_as_double(long long i) { return ws_emu::bits<double>(i); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= ((x >> i) & 1u) << (31 - i);
  return r;
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  std::uint64_t v = std::uint64_t(y) << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= unsigned((v >> (8 * ((s >> (4 * i)) & 7))) & 0xff) << (8 * i);
  return r;
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  return unsigned(((std::uint64_t(hi) << 32 | lo) << (s & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  return unsigned((std::uint64_t(hi) << 32 | lo) >> (s & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((std::uint64_t(a) * b) >> 32); }
inline int __mulhi(int a, int b) { return int((std::int64_t(a) * b) >> 32); }

inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.f / a; }
inline float __frsqrt_rn(float a) { return 1.f / std::sqrt(a); }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float rsqrtf(float a) { return 1.f / std::sqrt(a); }
inline double rsqrt(double a) { return 1. / std::sqrt(a); }
inline float __expf(float a) { return std::exp(a); }
#define __logf ws_emu_logf
inline float ws_emu_logf(float a) { return std::log(a); }
inline float __log2f_(float a) { return std::log2(a); }
inline float __sinf_(float a) { return std::sin(a); }
inline float __saturatef(float a) { return a < 0.f ? 0.f : a > 1.f ? 1.f : a; }
#define __log2f __log2f_
#define __sinf __sinf_
#define __cosf(x) std::cos(float(x))
#define __powf(x, y) std::pow(float(x), float(y))
#define __exp10f(x) std::pow(10.f, float(x))
inline int __float2int_rn(float f) { return int(std::nearbyint(f)); }
inline int __float2int_rz(float f) { return int(f); }
inline int __float2int_rd(float f) { return int(std::floor(f)); }
inline int __float2int_ru(float f) { return int(std::ceil(f)); }
inline float __int2float_rn(int i) { return float(i); }
inline float __uint2float_rn(unsigned i) { return float(i); }

#define WS_MINMAX(T)                                     \
  inline T min(T a, T b) { return b < a ? b : a; }       \
  inline T max(T a, T b) { return a < b ? b : a; }
WS_MINMAX(int)
WS_MINMAX(unsigned)
WS_MINMAX(long)
WS_MINMAX(unsigned long)
WS_MINMAX(long long)
WS_MINMAX(unsigned long long)
WS_MINMAX(float)
WS_MINMAX(double)
#undef WS_MINMAX
inline unsigned min(unsigned a, int b) { return min(a, unsigned(b)); }
inline unsigned min(int a, unsigned b) { return min(unsigned(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, unsigned(b)); }
inline unsigned max(int a, unsigned b) { return max(unsigned(a), b); }
inline double min(float a, double b) { return min(double(a), b); }
inline double max(float a, double b) { return max(double(a), b); }

// Cache hints do not change what a load returns.
template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T __ldca(const T* p) { return *p; }
template <class T> inline T __ldcg(const T* p) { return *p; }
template <class T> inline T __ldcs(const T* p) { return *p; }
template <class T> inline T __ldlu(const T* p) { return *p; }
template <class T> inline T __ldcv(const T* p) { return *p; }
template <class T> inline void __stwb(T* p, T v) { *p = v; }
template <class T> inline void __stcg(T* p, T v) { *p = v; }
template <class T> inline void __stcs(T* p, T v) { *p = v; }
template <class T> inline void __stwt(T* p, T v) { *p = v; }

inline std::size_t __cvta_generic_to_shared(const void* p) { return ws_emu::shared_window(p); }
inline std::size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<std::size_t>(p); }
inline void* __cvta_shared_to_generic(std::size_t p) { return ws_emu::from_window(p); }
inline unsigned __isShared(const void* p) { return ws_emu::is_shared(p); }
inline unsigned __isGlobal(const void* p) { return !ws_emu::is_shared(p); }
inline void cudaGridDependencySynchronize() { ws_emu::grid_dependency_wait(); }
inline void cudaTriggerProgrammaticLaunchCompletion() {}
inline void __nanosleep(unsigned) { ws_emu::yield(); }
inline long long clock64() { return (long long)ws_emu::logical_time(); }
inline void __trap(ws_emu::Where w = ws_emu::Where::here()) { ws_emu::fail("launch-error", "the kernel called __trap()", "", w); }
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif
