// Block and warp synchronisation functions (CUDA C++ Programming Guide, "Synchronization Functions", "Warp ... Functions").
#pragma once

#define WS_HERE ::ws_emu::Where w = ::ws_emu::Where::here()

WS_QUIET inline void __syncthreads(WS_HERE) { ws_emu::block_barrier(0, 0, true, ws_emu::Reduce::none, 0, w); }
WS_QUIET inline int __syncthreads_count(int p, WS_HERE) { return ws_emu::block_barrier(0, 0, true, ws_emu::Reduce::count, p, w); }
WS_QUIET inline int __syncthreads_and(int p, WS_HERE) { return ws_emu::block_barrier(0, 0, true, ws_emu::Reduce::all, p, w); }
WS_QUIET inline int __syncthreads_or(int p, WS_HERE) { return ws_emu::block_barrier(0, 0, true, ws_emu::Reduce::any, p, w); }
WS_QUIET inline void __syncwarp(unsigned mask = 0xffffffffu, WS_HERE) { ws_emu::warp_sync(mask, "__syncwarp", true, w); }
WS_QUIET inline void __threadfence(WS_HERE) { ws_emu::thread_fence(w); }
WS_QUIET inline void __threadfence_block(WS_HERE) { ws_emu::thread_fence(w); }
WS_QUIET inline void __threadfence_system(WS_HERE) { ws_emu::thread_fence(w); }
WS_QUIET inline unsigned __activemask(WS_HERE) { return ws_emu::active_mask(w); }

namespace ws_emu {
template <class T>
WS_QUIET inline std::uint64_t pack(T v) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  std::uint64_t u = 0;
  std::memcpy(&u, &v, sizeof v);
  return u;
}
template <class T>
WS_QUIET inline T unpack(std::uint64_t u) {
  T v;
  std::memcpy(&v, &u, sizeof v);
  return v;
}
inline int lane_of() { return int(thread_rank() & 31u); }
template <class T>
WS_QUIET inline T shuffle(unsigned mask, T v, int source, const char* what, Where w) {
  unsigned here = 0;
  const std::uint64_t* all = warp_exchange(mask, pack(v), what, w, &here);
  if (!((here >> (source & 31)) & 1u)) absent_lane(source & 31, what, w);
  return unpack<T>(all[source & 31]);
}
}  // namespace ws_emu

template <class T>
WS_QUIET inline T __shfl_sync(unsigned mask, T v, int src, int width = 32, WS_HERE) {
  int lane = ws_emu::lane_of();
  return ws_emu::shuffle(mask, v, (lane & ~(width - 1)) | (src & (width - 1)), "__shfl_sync", w);
}
template <class T>
WS_QUIET inline T __shfl_up_sync(unsigned mask, T v, unsigned d, int width = 32, WS_HERE) {
  int lane = ws_emu::lane_of(), s = lane - int(d);
  return ws_emu::shuffle(mask, v, s < (lane & ~(width - 1)) ? lane : s, "__shfl_up_sync", w);
}
template <class T>
WS_QUIET inline T __shfl_down_sync(unsigned mask, T v, unsigned d, int width = 32, WS_HERE) {
  int lane = ws_emu::lane_of(), s = lane + int(d);
  return ws_emu::shuffle(mask, v, s > (lane | (width - 1)) ? lane : s, "__shfl_down_sync", w);
}
template <class T>
WS_QUIET inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32, WS_HERE) {
  int lane = ws_emu::lane_of(), s = lane ^ x;
  return ws_emu::shuffle(mask, v, s > (lane | (width - 1)) ? lane : s, "__shfl_xor_sync", w);
}
WS_QUIET inline unsigned __ballot_sync(unsigned mask, int p, WS_HERE) {
  const std::uint64_t* all = ws_emu::warp_exchange(mask, p != 0, "__ballot_sync", w);
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= unsigned(((mask >> i) & 1u) && all[i]) << i;
  return r;
}
WS_QUIET inline int __all_sync(unsigned mask, int p, WS_HERE) { return __ballot_sync(mask, p, w) == mask; }
WS_QUIET inline int __any_sync(unsigned mask, int p, WS_HERE) { return __ballot_sync(mask, p, w) != 0; }
template <class T>
WS_QUIET inline unsigned __match_any_sync(unsigned mask, T v, WS_HERE) {
  const std::uint64_t* all = ws_emu::warp_exchange(mask, ws_emu::pack(v), "__match_any_sync", w);
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= unsigned(((mask >> i) & 1u) && all[i] == ws_emu::pack(v)) << i;
  return r;
}
template <class T>
WS_QUIET inline unsigned __match_all_sync(unsigned mask, T v, int* pred, WS_HERE) {
  unsigned same = __match_any_sync(mask, v, w);
  *pred = same == mask;
  return *pred ? mask : 0;
}
#define WS_REDUCE(NAME, TYPE, EXPR)                                                              \
  WS_QUIET inline TYPE NAME(unsigned mask, TYPE v, WS_HERE) {                                    \
    const std::uint64_t* all = ws_emu::warp_exchange(mask, ws_emu::pack(v), #NAME, w);           \
    bool first = true;                                                                           \
    TYPE r{};                                                                                    \
    for (int i = 0; i < 32; ++i)                                                                 \
      if ((mask >> i) & 1u) {                                                                    \
        TYPE x = ws_emu::unpack<TYPE>(all[i]);                                                   \
        r = first ? x : (EXPR);                                                                  \
        first = false;                                                                           \
      }                                                                                          \
    return r;                                                                                    \
  }
WS_REDUCE(__reduce_add_sync, unsigned, r + x)
WS_REDUCE(__reduce_add_sync, int, int(unsigned(r) + unsigned(x)))
WS_REDUCE(__reduce_min_sync, unsigned, x < r ? x : r)
WS_REDUCE(__reduce_min_sync, int, x < r ? x : r)
WS_REDUCE(__reduce_max_sync, unsigned, x > r ? x : r)
WS_REDUCE(__reduce_max_sync, int, x > r ? x : r)
WS_REDUCE(__reduce_and_sync, unsigned, r & x)
WS_REDUCE(__reduce_or_sync, unsigned, r | x)
WS_REDUCE(__reduce_xor_sync, unsigned, r ^ x)
#undef WS_REDUCE
