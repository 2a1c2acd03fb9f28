// What translated inline PTX needs beyond the runtime's calls (see ptx.py).
#pragma once
#include <limits>

namespace ws_emu {

inline struct Sink {
  template <class T>
  Sink& operator=(const T&) { return *this; }
} sink;

// The bits of a register as another type of the same size; a conversion between integers of different sizes.
template <class To, class From>
WS_QUIET inline To as(From v) {
  if constexpr (std::is_floating_point_v<To> != std::is_floating_point_v<From> && sizeof(To) == sizeof(From) && !std::is_same_v<From, bool>)
    return bits<To>(v);
  else
    return static_cast<To>(v);
}
template <class T, class V>
WS_QUIET inline void put(T& target, V v) {
  if constexpr (std::is_same_v<T, Sink>) (void)v;
  else if constexpr (std::is_pointer_v<T>) target = reinterpret_cast<T>(v);
  else if constexpr (std::is_arithmetic_v<T>) target = as<T>(v);
  else std::memcpy(&target, &v, sizeof(T) < sizeof(V) ? sizeof(T) : sizeof(V));
}
// The nearest value that the type can hold; for a floating-point type, in [0, 1]. NaN becomes 0.
template <class To, class From>
WS_QUIET inline To clamped(From v) {
  if constexpr (std::is_floating_point_v<To>) {
    return v > From(0) ? v < From(1) ? To(v) : To(1) : To(0);
  } else if constexpr (std::is_floating_point_v<From>) {
    constexpr From end = From(std::uint64_t(1) << (8 * sizeof(To) - 1)) * (std::is_signed_v<To> ? From(1) : From(2));  // past the largest
    const From low = std::is_signed_v<To> ? -end : From(0);
    return v >= end ? std::numeric_limits<To>::max() : v > low ? To(v) : v != v ? To(0) : std::numeric_limits<To>::min();
  } else {
    if constexpr (std::is_signed_v<From>)
      if (v < 0) return std::is_signed_v<To> && (long long)(v) >= (long long)(std::numeric_limits<To>::min()) ? To(v) : std::numeric_limits<To>::min();
    return (unsigned long long)(v) > (unsigned long long)(std::numeric_limits<To>::max()) ? std::numeric_limits<To>::max() : To(v);
  }
}
template <class T> inline T bit_and(T a, T b) { return a & b; }
template <class T> inline T bit_or(T a, T b) { return a | b; }
template <class T> inline T bit_xor(T a, T b) { return a ^ b; }

template <class T, class F>
WS_QUIET inline T atomic_update(T* at, F next, Order order, Where w) {
  atomic_begin(at, sizeof(T), true, order, w);
  T old = *at, now = next(old);
  *at = now;
  atomic_end(at, std::memcmp(&old, &now, sizeof(T)) != 0, order);
  return old;
}
template <class T>
WS_QUIET inline T atomic_load(T* at, Order order, Where w) {
  atomic_begin(at, sizeof(T), false, order, w);
  T v = *at;
  atomic_end(at, false, order);
  return v;
}
template <class T, class V>
WS_QUIET inline void atomic_store(T* at, V v, Order order, Where w) {
  atomic_begin(at, sizeof(T), true, order, w, false);
  bool changed = *at != T(v);
  *at = T(v);
  atomic_end(at, changed, order);
}

// ldmatrix: lanes 8i to 8i+7 give the row addresses of matrix i; each lane gets two neighbouring elements of row lane/4.
WS_QUIET inline void load_matrix(unsigned* out, int matrices, const void* row, bool transpose, Where w) {
  unsigned lane = thread_rank() % 32;
  std::uint16_t mine[8] = {};
  if (lane < unsigned(8 * matrices)) load_memory(mine, row, 16, w);
  std::uint64_t halves[2];
  std::memcpy(halves, mine, 16);
  std::uint16_t all[32][8];
  for (int h = 0; h < 2; ++h) {
    const std::uint64_t* got = warp_exchange(0xffffffffu, halves[h], "ldmatrix", w);
    for (int i = 0; i < 32; ++i) std::memcpy(&all[i][4 * h], &got[i], 8);
  }
  for (int m = 0; m < matrices; ++m) {
    unsigned r = lane / 4, c = lane % 4 * 2;
    std::uint16_t lo = transpose ? all[8 * m + c][r] : all[8 * m + r][c];
    std::uint16_t hi = transpose ? all[8 * m + c + 1][r] : all[8 * m + r][c + 1];
    out[m] = lo | unsigned(hi) << 16;
  }
}
WS_QUIET inline void store_matrix(void* row, const unsigned* in, int matrices, bool transpose, Where w) {
  unsigned lane = thread_rank() % 32;
  std::uint16_t rows[8] = {};
  for (int m = 0; m < matrices; ++m) {
    const std::uint64_t* got = warp_exchange(0xffffffffu, in[m], "stmatrix", w);
    if (lane / 8 != unsigned(m)) continue;
    unsigned r = lane % 8;  // this lane stores row r of matrix m
    for (unsigned c = 0; c < 8; ++c) {
      unsigned from = transpose ? c * 4 + r / 2 : r * 4 + c / 2, part = transpose ? r % 2 : c % 2;
      rows[c] = std::uint16_t(got[from] >> (16 * part));
    }
  }
  if (lane < unsigned(8 * matrices)) store_memory(row, rows, 16, w);
}

}  // namespace ws_emu
