// The functions that -fsanitize=thread makes the compiler call at every load, store and atomic of the kernel.
#include "shadow.hpp"
#include "world.hpp"

namespace ws_emu {
namespace {

template <unsigned Bytes, bool Write>
inline void plain(const void* p, const void* pc) {
  Thread* t = current;
  if (!t) return;
  SiteId site = site_of_pc(pc);
  if constexpr (Bytes % 4 == 0) {
    // Only accesses to device memory may switch threads: an atomic's own temporaries must not.
    if (Quick q = quick_access<Bytes, Write>(t, p, site); q != Quick::look) {
      if (q == Quick::done && --t->countdown <= 0) maybe_yield();
      return;
    }
  }
  AccessKind kind;
  kind.write = Write;
  if (check_access(t, p, Bytes, kind, site) && --t->countdown <= 0) maybe_yield();
}
inline void plain_range(const void* p, std::size_t bytes, bool write, const void* pc) {
  AccessKind kind;
  kind.write = write;
  if (current && bytes) check_access(current, p, bytes, kind, site_of_pc(pc));
}

// `volatile` is how kernels without atomics poll a flag: it is treated as a relaxed atomic, and it lets others run.
inline void polled(const void* p, std::size_t bytes, bool write, const void* pc) {
  Thread* t = current;
  if (!t) return;
  AccessKind kind;
  kind.write = write;
  kind.atomic = true;
  check_access(t, p, bytes, kind, site_of_pc(pc));
  auto below = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(t->stack);
  if (below < kStack) return;  // its own variable: nobody else will change it
  poll({"a loop", nullptr, 0, Where{nullptr, int(site_of_pc(pc))}});
  // The access itself follows at once: nobody else runs in between.
  relaxed_access(p, write);
}

}  // namespace
}  // namespace ws_emu

using namespace ws_emu;
#define PC __builtin_return_address(0)
#define ACCESS(N)                                                                                   \
  extern "C" void __tsan_read##N(void* p) { plain<N, false>(p, PC); }                               \
  extern "C" void __tsan_write##N(void* p) { plain<N, true>(p, PC); }                               \
  extern "C" void __tsan_unaligned_read##N(void* p) { plain<N, false>(p, PC); }                     \
  extern "C" void __tsan_unaligned_write##N(void* p) { plain<N, true>(p, PC); }                     \
  extern "C" void __tsan_read_write##N(void* p) { plain<N, false>(p, PC), plain<N, true>(p, PC); }  \
  extern "C" void __tsan_unaligned_read_write##N(void* p) { plain<N, false>(p, PC), plain<N, true>(p, PC); } \
  extern "C" void __tsan_volatile_read##N(void* p) { polled(p, N, false, PC); }                     \
  extern "C" void __tsan_volatile_write##N(void* p) { polled(p, N, true, PC); }                     \
  extern "C" void __tsan_unaligned_volatile_read##N(void* p) { polled(p, N, false, PC); }           \
  extern "C" void __tsan_unaligned_volatile_write##N(void* p) { polled(p, N, true, PC); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
extern "C" void __tsan_read_range(void* p, std::size_t n) { plain_range(p, n, false, PC); }
extern "C" void __tsan_write_range(void* p, std::size_t n) { plain_range(p, n, true, PC); }
// clang calls these for the memory functions.
extern "C" void* __tsan_memset(void* p, int value, std::size_t n) {
  plain_range(p, n, true, PC);
  return std::memset(p, value, n);
}
extern "C" void* __tsan_memcpy(void* to, const void* from, std::size_t n) {
  plain_range(from, n, false, PC);
  plain_range(to, n, true, PC);
  return std::memcpy(to, from, n);
}
extern "C" void* __tsan_memmove(void* to, const void* from, std::size_t n) {
  plain_range(from, n, false, PC);
  plain_range(to, n, true, PC);
  return std::memmove(to, from, n);
}
extern "C" void __tsan_vptr_update(void**, void*) {}
extern "C" void __tsan_vptr_read(void**) {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_init() {}

namespace {
Order order_of(int mo) {  // relaxed, consume, acquire, release, acq_rel, seq_cst
  return mo == 0 ? Order::relaxed : mo <= 2 ? Order::acquire : mo == 3 ? Order::release : Order::acq_rel;
}
template <class T, class F>
T rmw(volatile T* p, F next, int mo, const void* pc, bool reads = true) {
  T* q = const_cast<T*>(p);
  atomic_begin(q, sizeof(T), true, order_of(mo), Where{nullptr, int(site_of_pc(pc))}, reads);
  T old = *q, now = next(old);
  *q = now;
  atomic_end(q, old != now, order_of(mo));
  return old;
}
}  // namespace

#define ATOMIC(BITS, T)                                                                                            \
  extern "C" T __tsan_atomic##BITS##_load(const volatile T* p, int mo) {                                           \
    T* q = const_cast<T*>(p);                                                                                      \
    atomic_begin(q, sizeof(T), false, order_of(mo), Where{nullptr, int(site_of_pc(PC))});                          \
    T v = *q;                                                                                                      \
    atomic_end(q, false, order_of(mo));                                                                            \
    return v;                                                                                                      \
  }                                                                                                                \
  extern "C" void __tsan_atomic##BITS##_store(volatile T* p, T v, int mo) { rmw(p, [&](T) { return v; }, mo, PC, false); } \
  extern "C" T __tsan_atomic##BITS##_exchange(volatile T* p, T v, int mo) {                                        \
    return rmw(p, [&](T) { return v; }, mo, PC);                                                                   \
  }                                                                                                                \
  extern "C" T __tsan_atomic##BITS##_fetch_add(volatile T* p, T v, int mo) {                                       \
    return rmw(p, [&](T o) { return T(o + v); }, mo, PC);                                                          \
  }                                                                                                                \
  extern "C" T __tsan_atomic##BITS##_fetch_sub(volatile T* p, T v, int mo) {                                       \
    return rmw(p, [&](T o) { return T(o - v); }, mo, PC);                                                          \
  }                                                                                                                \
  extern "C" T __tsan_atomic##BITS##_fetch_and(volatile T* p, T v, int mo) {                                       \
    return rmw(p, [&](T o) { return T(o & v); }, mo, PC);                                                          \
  }                                                                                                                \
  extern "C" T __tsan_atomic##BITS##_fetch_or(volatile T* p, T v, int mo) {                                        \
    return rmw(p, [&](T o) { return T(o | v); }, mo, PC);                                                          \
  }                                                                                                                \
  extern "C" T __tsan_atomic##BITS##_fetch_xor(volatile T* p, T v, int mo) {                                       \
    return rmw(p, [&](T o) { return T(o ^ v); }, mo, PC);                                                          \
  }                                                                                                                \
  extern "C" T __tsan_atomic##BITS##_fetch_nand(volatile T* p, T v, int mo) {                                      \
    return rmw(p, [&](T o) { return T(~(o & v)); }, mo, PC);                                                       \
  }                                                                                                                \
  extern "C" int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* p, T* e, T v, int mo, int) {            \
    T old = rmw(p, [&](T o) { return o == *e ? v : o; }, mo, PC);                                                  \
    if (old == *e) return 1;                                                                                       \
    *e = old;                                                                                                      \
    return 0;                                                                                                      \
  }                                                                                                                \
  extern "C" int __tsan_atomic##BITS##_compare_exchange_weak(volatile T* p, T* e, T v, int mo, int fmo) {          \
    return __tsan_atomic##BITS##_compare_exchange_strong(p, e, v, mo, fmo);                                        \
  }                                                                                                                \
  extern "C" T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T e, T v, int mo, int fmo) {              \
    T expected = e;                                                                                                \
    __tsan_atomic##BITS##_compare_exchange_strong(p, &expected, v, mo, fmo);                                       \
    return expected;                                                                                               \
  }
ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)
extern "C" void __tsan_atomic_thread_fence(int) { thread_fence(Where{"", 0}); }
extern "C" void __tsan_atomic_signal_fence(int) {}

// What -fsanitize=alignment calls when a pointer is not a multiple of its type's alignment (layout as in compiler-rt's
// ubsan_handlers.h): the hardware stops at such an access, the host would not.
struct TypeMismatch {
  const char* file;
  std::uint32_t line, column;
  const void* type;
  unsigned char log_alignment, check;  // check: 0 load, 1 store, others
};
extern "C" void __ubsan_handle_type_mismatch_v1(TypeMismatch* data, std::uintptr_t pointer) {
  auto* p = reinterpret_cast<const void*>(pointer);
  std::size_t alignment = std::size_t(1) << data->log_alignment;
  if (current && pointer % alignment) misaligned(current, p, alignment, data->check == 1, site_of(Where{data->file, int(data->line)}));
}
