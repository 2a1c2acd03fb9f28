// Cooperative groups for the emulator (CUDA C++ Programming Guide, "Cooperative Groups").
#pragma once
#include <ws_emu/prelude.h>

namespace cooperative_groups {

namespace detail {
// Identifies a group of the running thread's block: kind or tile size, and which one.
WS_QUIET inline const void* key(unsigned kind, unsigned index) {
  return reinterpret_cast<const void*>((std::uintptr_t(ws_emu::block_slot() + 1) << 40) | (std::uintptr_t(kind) << 20) | index);
}
inline unsigned volume(dim3 d) { return d.x * d.y * d.z; }
}  // namespace detail

#define WS_AT ::ws_emu::Where w = ::ws_emu::Where::here()

class thread_block {
 public:
  struct arrival_token {
    std::uint64_t round = 0;
  };
  static void sync(WS_AT) { ws_emu::block_barrier(0, 0, true, ws_emu::Reduce::none, 0, w); }
  static unsigned thread_rank() { return ws_emu::thread_rank(); }
  static unsigned size() { return ws_emu::block_threads(); }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
  const void* ws_key() const { return detail::key(1, 0); }
};
inline thread_block this_thread_block() { return {}; }

class thread_group_self {
 public:
  static void sync() {}
  static unsigned thread_rank() { return 0; }
  static unsigned size() { return 1; }
  static unsigned num_threads() { return 1; }
  const void* ws_key() const { return nullptr; }
};
inline thread_group_self this_thread() { return {}; }

// Some lanes of one warp: a tile, or the threads that took a branch together.
class lanes {
 public:
  unsigned mask() const { return mask_; }
  unsigned size() const { return unsigned(__builtin_popcount(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return unsigned(__builtin_popcount(mask_ & ((1u << (ws_emu::thread_rank() & 31u)) - 1u))); }
  void sync(WS_AT) const { ws_emu::warp_sync(mask_, "group.sync", true, w); }
  template <class WsT>
  WsT shfl(WsT v, int rank, WS_AT) const { return ws_emu::shuffle(mask_, v, lane(rank), "group.shfl", w); }
  template <class WsT>
  WsT shfl_down(WsT v, unsigned d, WS_AT) const {
    unsigned r = thread_rank() + d;
    return ws_emu::shuffle(mask_, v, lane(int(r < size() ? r : thread_rank())), "group.shfl_down", w);
  }
  template <class WsT>
  WsT shfl_up(WsT v, unsigned d, WS_AT) const {
    unsigned r = thread_rank();
    return ws_emu::shuffle(mask_, v, lane(int(r >= d ? r - d : r)), "group.shfl_up", w);
  }
  template <class WsT>
  WsT shfl_xor(WsT v, unsigned x, WS_AT) const {
    unsigned r = thread_rank() ^ x;
    return ws_emu::shuffle(mask_, v, lane(int(r < size() ? r : thread_rank())), "group.shfl_xor", w);
  }
  unsigned ballot(int p, WS_AT) const {
    unsigned all = __ballot_sync(mask_, p, w), r = 0;
    for (unsigned i = 0; i < size(); ++i) r |= ((all >> lane(int(i))) & 1u) << i;
    return r;
  }
  int any(int p, WS_AT) const { return ballot(p, w) != 0; }
  int all(int p, WS_AT) const { return ballot(p, w) == (size() == 32 ? 0xffffffffu : (1u << size()) - 1u); }
  template <class WsT>
  unsigned match_any(WsT v, WS_AT) const { return __match_any_sync(mask_, v, w); }
  const void* ws_key() const { return detail::key(2 + (ws_emu::thread_rank() / 32), mask_ & 0xfffffu); }

 protected:
  explicit lanes(unsigned mask) : mask_(mask) {}
  int lane(int rank) const {  // of the thread with this rank in the group
    unsigned m = mask_;
    for (int i = 0; i < rank && m; ++i) m &= m - 1;
    return m ? __builtin_ctz(m) : int(ws_emu::thread_rank() & 31u);
  }
  unsigned mask_;
};

class coalesced_group : public lanes {
 public:
  explicit coalesced_group(unsigned mask) : lanes(mask) {}
  unsigned meta_group_size() const { return 1; }
  unsigned meta_group_rank() const { return 0; }
};
inline coalesced_group coalesced_threads(WS_AT) { return coalesced_group(ws_emu::active_mask(w)); }

template <unsigned WsSize, class WsParent = void>
class thread_block_tile : public lanes {
  static_assert(WsSize >= 1 && (WsSize & (WsSize - 1)) == 0 && WsSize <= 1024, "a tile has a power of two of threads, at most 1024");

 public:
  thread_block_tile() : lanes(tile_mask()) {}
  static constexpr unsigned size() { return WsSize; }
  static constexpr unsigned num_threads() { return WsSize; }
  static unsigned thread_rank() { return ws_emu::thread_rank() % WsSize; }
  static unsigned meta_group_rank() { return ws_emu::thread_rank() / WsSize; }
  static unsigned meta_group_size() { return (ws_emu::block_threads() + WsSize - 1) / WsSize; }
  void sync(WS_AT) const {
    if constexpr (WsSize <= 32) ws_emu::warp_sync(mask_, "tile.sync", true, w);
    else ws_emu::group_barrier(ws_key(), WsSize, "tile.sync", w);
  }
  const void* ws_key() const { return WsSize == 1 ? nullptr : detail::key(64 + WsSize, meta_group_rank()); }

 private:
  static unsigned tile_mask() {
    if (WsSize >= 32) return 0xffffffffu;
    unsigned lane = ws_emu::thread_rank() & 31u, n = WsSize & 31u;
    return ((1u << n) - 1u) << (lane / n * n);
  }
};

class thread_group : public lanes {  // a group whose kind is known at run time only: the block, or lanes of a warp
 public:
  thread_group(unsigned size, unsigned lane) : lanes(size >= 32 ? 0xffffffffu : ((1u << size) - 1u) << (lane / size * size)) {}
  template <unsigned WsS, class WsP>
  thread_group(const thread_block_tile<WsS, WsP>& t) : lanes(t.mask()) {}
  thread_group(const coalesced_group& g) : lanes(g.mask()) {}
  thread_group(const thread_block&) : lanes(0xffffffffu), block_(true) {}
  unsigned size() const { return block_ ? thread_block::size() : lanes::size(); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return block_ ? thread_block::thread_rank() : lanes::thread_rank(); }
  void sync(WS_AT) const {
    if (block_) thread_block::sync(w);
    else lanes::sync(w);
  }
  const void* ws_key() const { return block_ ? thread_block().ws_key() : lanes::ws_key(); }

 private:
  bool block_ = false;
};

template <unsigned WsSize, class WsG>
thread_block_tile<WsSize, WsG> tiled_partition(const WsG&) {
  return {};
}
inline thread_group tiled_partition(const thread_block&, unsigned size) { return {size, ws_emu::thread_rank() & 31u}; }
template <class WsG>
coalesced_group binary_partition(const WsG& g, bool p, WS_AT) {
  unsigned yes = __ballot_sync(g.mask(), p, w);
  return coalesced_group(p ? yes : g.mask() & ~yes);
}
template <class WsG, class WsL>
coalesced_group labeled_partition(const WsG& g, WsL label, WS_AT) {
  return coalesced_group(__match_any_sync(g.mask(), label, w));
}

class grid_group {
 public:
  struct arrival_token {};
  static void sync(WS_AT) {
    if (!ws_emu::is_cooperative())
      ws_emu::fail("launch-error", "this_grid().sync() in a kernel that was not launched cooperatively",
                   "launch with cooperative=True, so that all blocks are resident at once", w);
    ws_emu::group_barrier(reinterpret_cast<const void*>(16), detail::volume(gridDim) * ws_emu::block_threads(), "grid.sync", w);
  }
  static bool is_valid() { return ws_emu::is_cooperative(); }
  static unsigned long long block_rank() { return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z); }
  static unsigned long long num_blocks() { return detail::volume(gridDim); }
  static unsigned long long thread_rank() { return block_rank() * ws_emu::block_threads() + ws_emu::thread_rank(); }
  static unsigned long long size() { return num_blocks() * ws_emu::block_threads(); }
  static unsigned long long num_threads() { return size(); }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
};
inline grid_group this_grid() { return {}; }

class cluster_group {
 public:
  struct arrival_token {};
  static void sync(WS_AT) { ws_emu::cluster_arrive(true, w), ws_emu::cluster_wait(w); }
  static arrival_token barrier_arrive(WS_AT) { return ws_emu::cluster_arrive(true, w), arrival_token{}; }
  static void barrier_wait(WS_AT) { ws_emu::cluster_wait(w); }
  static void barrier_wait(arrival_token&&, WS_AT) { ws_emu::cluster_wait(w); }
  static unsigned block_rank() { return ws_emu::cluster_rank(); }
  static unsigned num_blocks() { return ws_emu::cluster_blocks(); }
  static unsigned thread_rank() { return block_rank() * ws_emu::block_threads() + ws_emu::thread_rank(); }
  static unsigned num_threads() { return num_blocks() * ws_emu::block_threads(); }
  static unsigned size() { return num_threads(); }
  static dim3 dim_blocks() { return ws_emu_cluster_dim(); }
  static dim3 block_index() {
    dim3 d = ws_emu_cluster_dim();
    return {blockIdx.x % d.x, blockIdx.y % d.y, blockIdx.z % d.z};
  }
  template <class WsT>
  static WsT* map_shared_rank(WsT* p, int rank, WS_AT) {
    return static_cast<WsT*>(const_cast<void*>(static_cast<const void*>(ws_emu::cluster_map(const_cast<const std::remove_cv_t<WsT>*>(p), unsigned(rank), w))));
  }
  static unsigned query_shared_rank(const void* p) { return ws_emu::cluster_owner(p); }

 private:
  static dim3 ws_emu_cluster_dim() {
    unsigned d[3];
    ws_emu::cluster_shape(d);
    return {d[0], d[1], d[2]};
  }
};
inline cluster_group this_cluster() { return {}; }

template <class WsG>
WS_QUIET inline void sync(const WsG& g, WS_AT) { g.sync(w); }

template <class WsT = void>
struct plus {
  WsT operator()(WsT a, WsT b) const { return a + b; }
};
template <class WsT = void>
struct less {
  WsT operator()(WsT a, WsT b) const { return b < a ? b : a; }
};
template <class WsT = void>
struct greater {
  WsT operator()(WsT a, WsT b) const { return a < b ? b : a; }
};
template <class WsT = void>
struct bit_and {
  WsT operator()(WsT a, WsT b) const { return a & b; }
};
template <class WsT = void>
struct bit_or {
  WsT operator()(WsT a, WsT b) const { return a | b; }
};
template <class WsT = void>
struct bit_xor {
  WsT operator()(WsT a, WsT b) const { return a ^ b; }
};

template <class WsG, class WsT, class WsOp>
WS_QUIET inline WsT reduce(const WsG& g, WsT v, WsOp op, WS_AT) {
  const std::uint64_t* all = ws_emu::warp_exchange(g.mask(), ws_emu::pack(v), "cg::reduce", w);
  bool first = true;
  WsT r = v;
  for (int i = 0; i < 32; ++i)
    if ((g.mask() >> i) & 1u) {
      WsT x = ws_emu::unpack<WsT>(all[i]);
      r = first ? x : op(r, x);
      first = false;
    }
  return r;
}

template <class WsG>
WS_QUIET inline unsigned invoke_elected_lane(const WsG& g) { return g.thread_rank() == 0; }

// cg::memcpy_async: cp.async where 4, 8 or 16 bytes fit, then wait() or wait_prior<N>() of the same group.
template <class WsG, class WsT>
WS_QUIET inline void memcpy_async(const WsG& g, WsT* dst, const WsT* src, std::size_t bytes, WS_AT) {
  if (g.size() > 1) ws_emu::collective_call(g.ws_key(), unsigned(g.size()), "cooperative_groups::memcpy_async", w);
  ws_emu::copy_by_group(dst, src, bytes, alignof(WsT), unsigned(g.thread_rank()), unsigned(g.size()), "memcpy_async", w);
  ws_emu::cp_async_commit();
}
template <class WsG, class WsT, std::size_t WsA, template <std::size_t> class WsSize>
WS_QUIET inline void memcpy_async(const WsG& g, WsT* dst, const WsT* src, WsSize<WsA> bytes, WS_AT) {
  if (g.size() > 1) ws_emu::collective_call(g.ws_key(), unsigned(g.size()), "cooperative_groups::memcpy_async", w);
  ws_emu::copy_by_group(dst, src, std::size_t(bytes), WsA, unsigned(g.thread_rank()), unsigned(g.size()), "memcpy_async", w);
  ws_emu::cp_async_commit();
}
template <class WsG>
WS_QUIET inline void wait(const WsG& g, WS_AT) {
  ws_emu::cp_async_wait(0, w);
  g.sync(w);
}
template <unsigned WsN, class WsG>
WS_QUIET inline void wait_prior(const WsG& g, WS_AT) {
  ws_emu::cp_async_wait(int(WsN), w);
  g.sync(w);
}
#undef WS_AT

namespace experimental {}
}  // namespace cooperative_groups
