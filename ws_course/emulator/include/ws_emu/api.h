// What the shadow headers ask of the emulator's runtime. Everything here is defined in ../../cpp/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// Shadow headers are not part of the kernel: their own memory traffic is not instrumented, they report it explicitly.
#define WS_QUIET __attribute__((no_sanitize("thread")))

namespace ws_emu {

// Source position of a call in the kernel. Used as `Where w = Where::here()`: the inner default arguments are
// evaluated at the caller's line (g++ evaluates a direct __builtin_LINE() default at the declaration instead).
struct Where {
  const char* file;
  int line;
  static constexpr Where here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) { return {f, l}; }
};

// ---- shared memory ---------------------------------------------------------------------------------------------
struct Shape {  // of a shared variable, for messages such as tile[3][17]
  std::size_t element;
  int rank;
  std::size_t extent[4];
};
template <class T>
constexpr Shape shape_of() {
  Shape s{sizeof(std::remove_all_extents_t<T>), int(std::rank_v<T>), {}};
  if constexpr (std::rank_v<T> > 0) s.extent[0] = std::extent_v<T, 0>;
  if constexpr (std::rank_v<T> > 1) s.extent[1] = std::extent_v<T, 1>;
  if constexpr (std::rank_v<T> > 2) s.extent[2] = std::extent_v<T, 2>;
  if constexpr (std::rank_v<T> > 3) s.extent[3] = std::extent_v<T, 3>;
  return s;
}
extern unsigned char* shared_slab;  // of the running thread's block
unsigned reserve_shared(std::size_t bytes, std::size_t align, const char* name, Shape shape, Where w = Where::here());
void* dynamic_shared(const char* name, Shape shape);
void name_member(const void* at, std::size_t bytes, const char* name, Shape shape);  // names parts of raw storage
// A variable of the whole device: one in the compiled kernel's data, known to the checks by its range.
struct DeviceVariable {
  DeviceVariable(const volatile void* at, std::size_t bytes, const char* name, Shape shape);
};
bool is_shared(const void* p);
// The rewriter defines ws_name_members for the kernel's structs; each names its members once.
template <class T>
WS_QUIET inline void name_members(T* p) {
  static bool done = false;
  if (done || !is_shared(p)) return;
  done = true;
  ws_name_members(p);
}
template <class To, class From>
WS_QUIET inline To storage_cast(From&& from) {
  To to = reinterpret_cast<To>(from);
  if constexpr (std::is_pointer_v<To>) name_members(to);
  else name_members(&to);
  return to;
}
// A __shared__ variable of file scope: the same place in every function that uses it.
template <class T, int Number, class Pointer>
WS_QUIET inline auto& file_scope_shared(const char* name, Pointer) {
  using Array = std::remove_pointer_t<Pointer>;
  static const unsigned at = reserve_shared(sizeof(Array), alignof(Array), name, shape_of<Array>());
  return *reinterpret_cast<Pointer>(shared_slab + at);
}
std::size_t shared_window(const void* p);  // the 32-bit address that PTX uses for shared memory
void* from_window(std::size_t address);

// ---- barriers ---------------------------------------------------------------------------------------------------
enum class Reduce { none, count, all, any };
int block_barrier(int id, unsigned count, bool wait, Reduce op, int predicate, Where w);  // count 0: the whole block
void warp_sync(unsigned mask, const char* what, bool orders_memory, Where w);
// Rendezvous of the lanes in `mask`; returns the 32 published values (undefined for lanes outside) and who is there.
const std::uint64_t* warp_exchange(unsigned mask, std::uint64_t value, const char* what, Where w, unsigned* here = nullptr);
void absent_lane(int lane, const char* what, Where w);  // reports a shuffle from a lane that does not take part
unsigned active_mask(Where w);  // the lanes that reach this place together
void group_barrier(const void* key, unsigned size, const char* what, Where w);  // tiles wider than a warp, grid, cluster
void collective_call(const void* key, unsigned size, const char* what, Where w);  // every member must make it equally often

// ---- mbarriers (PTX ISA, "mbarrier"), by address -----------------------------------------------------------------
void mbar_init(void* bar, std::uint32_t expected, const char* what, Where w);
void mbar_inval(void* bar, Where w);
// Names the barriers of a pipeline; `unified`: its four calls are calls of the whole group.
void mbar_label(void* bar, const char* role, int stage, const void* owner, bool unified);
std::uint64_t mbar_arrive(void* bar, std::uint32_t count, const char* what, Where w, bool drop = false, bool release = true);
void mbar_expect_tx(void* bar, std::int64_t bytes, Where w);
void mbar_complete_tx(void* bar, std::int64_t bytes, Where w);
bool mbar_test(void* bar, std::uint64_t token, const char* what, Where w);
bool mbar_test_parity(void* bar, unsigned parity, const char* what, Where w);
void mbar_wait(void* bar, std::uint64_t token, const char* what, Where w);
void mbar_wait_parity(void* bar, unsigned parity, const char* what, Where w);

// ---- asynchronous copies ------------------------------------------------------------------------------------------
void copy_now(void* dst, const void* src, std::size_t bytes, Where w);  // by this thread, checked
void cp_async(void* dst, const void* src, std::size_t bytes, std::size_t zero_fill, const char* what, Where w);
void cp_async_commit();
void cp_async_wait(int allowed_groups, Where w);  // -1: wait for everything, committed or not
void cp_async_arrive(void* bar, bool noinc, Where w);

// Copies this thread's share of a group's copy, in chunks of 16, 8 or 4 bytes as the alignment known at compile time allows;
// returns whether it is asynchronous (global to shared) or was done at once.
bool copy_by_group(void* dst, const void* src, std::size_t bytes, std::size_t align, unsigned rank, unsigned size, const char* what, Where w);
void write_u32(std::uint32_t* p, std::uint32_t v, Where w);
template <class T>
constexpr std::size_t align_of(std::size_t other) {
  std::size_t own = 1;
  if constexpr (!std::is_void_v<T>) own = alignof(T);
  return own > other ? own : other;
}

// ---- the asynchronous proxy (PTX ISA, "Asynchronous copy: bulk") ---------------------------------------------------
// Copies to shared memory complete by transaction bytes on `bar`; with `blocks` (a bit per rank of the cluster) to the same
// offset in each of those blocks, counted on the barrier at the same offset there.
void bulk_load(void* dst, const void* src, std::size_t bytes, void* bar, unsigned blocks, Where w);
void bulk_store(void* dst, const void* src, std::size_t bytes, Where w);  // to global memory, completes by bulk groups
void bulk_commit(Where w);
void bulk_wait(int allowed_groups, bool read_only, Where w);
void store_async(void* dst, const void* value, std::size_t bytes, void* bar, Where w);  // st.async
void fence_proxy_async(Where w);
void set_max_registers(int count, bool increase, Where w);
bool elect(unsigned mask, Where w);
void tensor_load(void* dst, const void* map, const int* coordinates, int rank, void* bar, unsigned blocks, Where w);
void tensor_store(const void* map, const int* coordinates, int rank, const void* src, Where w);
void load_memory(void* to, const void* from, std::size_t bytes, Where w);  // an ordinary access of this thread, checked
void store_memory(void* to, const void* from, std::size_t bytes, Where w);

// ---- wgmma ----------------------------------------------------------------------------------------------------------
enum class WgmmaType { bf16, f16, tf32 };
struct WgmmaShape {
  unsigned n, k;
  WgmmaType type;
  bool accumulate;
  int scale_a, scale_b;
  bool transpose_a, transpose_b;
};
// d: this thread's n/2 accumulators; a_registers: operand A, or null if descriptor `a` names it.
void wgmma(float** d, const unsigned* a_registers, std::uint64_t a, std::uint64_t b, const WgmmaShape& shape, Where w);
void wgmma_commit(Where w);
void wgmma_wait(int allowed_groups, Where w);

// ---- memory order and atomics ---------------------------------------------------------------------------------------
void thread_fence(Where w);
// `classic`: the atomicX functions, whose readers learn what a writer published with __threadfence (the usual idiom).
enum class Order { relaxed, acquire, release, acq_rel, classic };
void atomic_begin(void* at, std::size_t bytes, bool writes, Order order, Where w, bool reads = true, bool compares = false);
void atomic_end(void* at, bool changed, Order order);

// ---- the rest ---------------------------------------------------------------------------------------------------
void yield();
void grid_dependency_wait();
std::uint64_t logical_time();
[[noreturn]] void fail(const char* kind, const char* message, const char* hint, Where w);
[[noreturn]] void thread_exit();
int device_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
void span(int work, int item, bool begin);
unsigned thread_rank();    // in the block
unsigned block_threads();
unsigned cluster_rank();
unsigned cluster_blocks();
unsigned block_slot();     // of the blocks that live now
void cluster_shape(unsigned out[3]);
unsigned cluster_owner(const void* p);
void cluster_arrive(bool release, Where w);
void cluster_wait(Where w);
void* cluster_map(const void* p, unsigned rank, Where w);
bool is_cooperative();

// ---- the kernel's entry -------------------------------------------------------------------------------------------
struct Entry {
  void (*call)(void** arguments);
};
template <auto F>
struct Bind;
template <class... P, void (*F)(P...)>
struct Bind<F> {
  template <std::size_t... I>
  WS_QUIET static void call_with(void** a, std::index_sequence<I...>) {
    F(*static_cast<std::remove_cv_t<std::remove_reference_t<P>>*>(a[I])...);
  }
  WS_QUIET static void call(void** a) { call_with(a, std::index_sequence_for<P...>{}); }
  static const Entry* entry() {
    static const Entry e{&call};
    return &e;
  }
};

}  // namespace ws_emu
