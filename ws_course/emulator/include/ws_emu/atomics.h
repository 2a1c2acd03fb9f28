// Atomic functions (CUDA C++ Programming Guide, "Atomic Functions"): relaxed, of device scope unless named otherwise.
// One host thread runs all fibers, so plain code between atomic_begin and atomic_end is indivisible.
#pragma once

namespace ws_emu {
template <class T, class F>
WS_QUIET inline T atomic_rmw(T* at, F next, Where w, bool reads = true, bool compares = false) {
  atomic_begin(at, sizeof(T), true, Order::classic, w, reads, compares);
  T old = *at;
  T now = next(old);
  *at = now;
  atomic_end(at, std::memcmp(&old, &now, sizeof(T)) != 0, Order::classic);
  return old;
}
template <class T>
struct same {
  using type = T;
};
}  // namespace ws_emu

#define WS_ATOMIC(NAME, EXPR, READS)                                                                              \
  template <class T>                                                                                       \
  WS_QUIET inline T NAME(T* at, typename ws_emu::same<T>::type v, ws_emu::Where w = ws_emu::Where::here()) { \
    return ws_emu::atomic_rmw(at, [&](T old) -> T { return EXPR; }, w, READS);                              \
  }                                                                                                        \
  template <class T>                                                                                       \
  WS_QUIET inline T NAME##_block(T* at, typename ws_emu::same<T>::type v, ws_emu::Where w = ws_emu::Where::here()) { \
    return NAME(at, v, w);                                                                                 \
  }                                                                                                        \
  template <class T>                                                                                       \
  WS_QUIET inline T NAME##_system(T* at, typename ws_emu::same<T>::type v, ws_emu::Where w = ws_emu::Where::here()) { \
    return NAME(at, v, w);                                                                                 \
  }
WS_ATOMIC(atomicAdd, T(old + v), true)
WS_ATOMIC(atomicSub, T(old - v), true)
WS_ATOMIC(atomicExch, v, false)
WS_ATOMIC(atomicMin, v < old ? v : old, true)
WS_ATOMIC(atomicMax, v > old ? v : old, true)
WS_ATOMIC(atomicAnd, T(old & v), true)
WS_ATOMIC(atomicOr, T(old | v), true)
WS_ATOMIC(atomicXor, T(old ^ v), true)
WS_ATOMIC(atomicInc, old >= v ? T(0) : T(old + 1), true)
WS_ATOMIC(atomicDec, (old == 0 || old > v) ? v : T(old - 1), true)
#undef WS_ATOMIC
template <class T>
WS_QUIET inline T atomicCAS(T* at, typename ws_emu::same<T>::type expected, typename ws_emu::same<T>::type v,
                            ws_emu::Where w = ws_emu::Where::here()) {
  return ws_emu::atomic_rmw(at, [&](T old) -> T { return old == expected ? T(v) : old; }, w, true, true);
}
