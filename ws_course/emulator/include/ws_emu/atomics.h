// Atomic functions (CUDA C++ Programming Guide, "Atomic Functions"): relaxed, of device scope unless named otherwise.
// One host thread runs all fibers, so plain code between atomic_begin and atomic_end is indivisible.
#pragma once

namespace ws_emu {
template <class T, class F>
WS_QUIET inline T atomic_rmw(T* at, F next, Where w) {
  atomic_begin(at, sizeof(T), true, Order::relaxed, w);
  T old = *at;
  T now = next(old);
  *at = now;
  atomic_end(at, std::memcmp(&old, &now, sizeof(T)) != 0, Order::relaxed);
  return old;
}
template <class T>
struct same {
  using type = T;
};
}  // namespace ws_emu

#define WS_ATOMIC(NAME, EXPR)                                                                              \
  template <class T>                                                                                       \
  WS_QUIET inline T NAME(T* at, typename ws_emu::same<T>::type v, ws_emu::Where w = ws_emu::Where::here()) { \
    return ws_emu::atomic_rmw(at, [&](T old) -> T { return EXPR; }, w);                                     \
  }                                                                                                        \
  template <class T>                                                                                       \
  WS_QUIET inline T NAME##_block(T* at, typename ws_emu::same<T>::type v, ws_emu::Where w = ws_emu::Where::here()) { \
    return NAME(at, v, w);                                                                                 \
  }                                                                                                        \
  template <class T>                                                                                       \
  WS_QUIET inline T NAME##_system(T* at, typename ws_emu::same<T>::type v, ws_emu::Where w = ws_emu::Where::here()) { \
    return NAME(at, v, w);                                                                                 \
  }
WS_ATOMIC(atomicAdd, T(old + v))
WS_ATOMIC(atomicSub, T(old - v))
WS_ATOMIC(atomicExch, v)
WS_ATOMIC(atomicMin, v < old ? v : old)
WS_ATOMIC(atomicMax, v > old ? v : old)
WS_ATOMIC(atomicAnd, T(old & v))
WS_ATOMIC(atomicOr, T(old | v))
WS_ATOMIC(atomicXor, T(old ^ v))
WS_ATOMIC(atomicInc, old >= v ? T(0) : T(old + 1))
WS_ATOMIC(atomicDec, (old == 0 || old > v) ? v : T(old - 1))
#undef WS_ATOMIC
template <class T>
WS_QUIET inline T atomicCAS(T* at, typename ws_emu::same<T>::type expected, typename ws_emu::same<T>::type v,
                            ws_emu::Where w = ws_emu::Where::here()) {
  return ws_emu::atomic_rmw(at, [&](T old) -> T { return old == expected ? T(v) : old; }, w);
}
