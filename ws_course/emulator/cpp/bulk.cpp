// The asynchronous proxy: bulk copies, which one thread starts and a copy engine carries out. Like cp.async they move data at
// the last legal moment. They see generic writes only across a proxy fence.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "copies.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "world.hpp"

namespace ws_emu {
namespace {

constexpr std::uint64_t kBulkLatency = 400;  // ticks, as for cp.async

struct Piece {  // contiguous bytes
  void* dst;
  const void* src;  // null: zeros (out of the tensor's bounds)
  std::size_t bytes;
};
struct Load {
  std::vector<Piece> pieces;
  std::vector<unsigned char> value;  // of st.async, which has no source in memory
  void* bar;
  std::size_t bytes;
  Agent copier;
  Clock clock;
  Thread* owner;
  std::uint64_t due;
};
std::vector<Load> loads;

struct Store {
  std::vector<Piece> pieces;
  Agent reader, writer;
  Clock clock;
  std::uint64_t due;
  bool read = false, written = false;
};
struct StoreQueue {
  std::vector<std::size_t> open;
  std::deque<std::vector<std::size_t>> groups;  // not yet complete, oldest first
};
std::vector<Store> stores;
std::map<Agent, StoreQueue> queues;
const char kReads = 0, kWrites = 0;  // their addresses name the two asynchronous units of a thread's stores

void move(const Piece& p) {
  if (p.src) std::memcpy(p.dst, p.src, p.bytes);
  else std::memset(p.dst, 0, p.bytes);
}

void check_aligned(const void* p, std::size_t to, const char* what, const char* role, Where w) {
  if (reinterpret_cast<std::uintptr_t>(p) % to == 0) return;
  stop({"out-of-bounds", text("%s: %s %s %s, which is not aligned to %zu bytes (misaligned address)", what, who(current).c_str(), role, name_of(p).c_str(), to),
        "bulk copies move multiples of 16 bytes between addresses that are multiples of 16: align the array (alignas(128))", name_of(p),
        place_of(current, w), {}, {}});
}
void check_source(const void* p, const char* what, Where w) {  // pieces without a source are zeros: here it is a mistake
  if (p) return;
  stop({"out-of-bounds", text("%s: %s copies from a null pointer", what, who(current).c_str()),
        "the kernel was given no array for this, or has not computed the address yet", "", place_of(current, w), {}, {}});
}
void check_size(std::size_t bytes, const char* what, Where w) {
  if (bytes % 16 == 0 && bytes > 0) return;
  stop({"out-of-bounds", text("%s: %s copies %zu bytes, but the size must be a positive multiple of 16", what, who(current).c_str(), bytes),
        "round the size up, and the array with it", "", place_of(current, w), {}, {}});
}

void check_targets(unsigned blocks, Where w) {
  if (blocks >> world.config.cluster_size())
    stop({"out-of-bounds", text("%s multicasts to the blocks 0x%x of a cluster of %u", who(current).c_str(), blocks, world.config.cluster_size()),
          "the mask has one bit for each block of the cluster", "", place_of(current, w), {}, {}});
}

AccessKind by_copier(bool write, Agent agent, Clock clock) {
  AccessKind kind;
  kind.write = write;
  kind.copier = agent;
  kind.copy_clock = clock;
  kind.async_proxy = true;
  return kind;
}

void start_load(std::vector<Piece> pieces, std::size_t bytes, void* bar, Where w, std::vector<unsigned char> value = {}) {
  Thread* t = current;
  mbar_touch(bar, value.empty() ? "cp.async.bulk" : "st.async", w);
  Thread::Copier& unit = copier_of(t, bar);
  for (const Piece& p : pieces) {
    if (p.src && value.empty()) check_access(t, p.src, p.bytes, by_copier(false, unit.agent, unit.clock), site_of(w));
    check_access(t, p.dst, p.bytes, by_copier(true, unit.agent, unit.clock), site_of(w));
    poison(p.dst, p.bytes);
  }
  loads.push_back({std::move(pieces), std::move(value), bar, bytes, unit.agent, unit.clock++, t, t->time + kBulkLatency});
  if (--t->countdown <= 0) maybe_yield();
}

void finish_read(Store& s) {
  if (s.read) return;
  for (const Piece& p : s.pieces) move(p);  // late: a source that was overwritten too early shows
  s.read = true;
  ++world.progress;
}

void start_store(std::vector<Piece> pieces, Where w) {
  Thread* t = current;
  Thread::Copier& reads = copier_of(t, &kReads);
  Agent reader = reads.agent;
  Clock clock = reads.clock++;
  Thread::Copier& writes = copier_of(t, &kWrites);
  Agent writer = writes.agent;
  Clock write_clock = writes.clock++;
  for (const Piece& p : pieces) {
    check_access(t, p.src, p.bytes, by_copier(false, reader, clock), site_of(w));
    check_access(t, p.dst, p.bytes, by_copier(true, writer, write_clock), site_of(w));
  }
  stores.push_back({std::move(pieces), reader, writer, clock, t->time + kBulkLatency});
  queues[t->agent].open.push_back(stores.size() - 1);
  if (--t->countdown <= 0) maybe_yield();
}

}  // namespace

void bulk_load(void* dst, const void* src, std::size_t bytes, void* bar, unsigned blocks, Where w) {
  const char* what = "cp.async.bulk";
  check_size(bytes, what, w);
  check_aligned(dst, 16, what, "copies to", w);
  check_source(src, what, w);
  check_aligned(src, 16, what, "copies from", w);
  if (!blocks) return start_load({{dst, src, bytes}}, bytes, bar, w);
  check_targets(blocks, w);
  for (unsigned r = 0; r < world.config.cluster_size(); ++r)
    if ((blocks >> r) & 1u) start_load({{cluster_map(dst, r, w), src, bytes}}, bytes, cluster_map(bar, r, w), w);
}

void store_async(void* dst, const void* value, std::size_t bytes, void* bar, Where w) {
  std::vector<unsigned char> copy(static_cast<const unsigned char*>(value), static_cast<const unsigned char*>(value) + bytes);
  start_load({{dst, nullptr, bytes}}, bytes, bar, w, std::move(copy));
}

void bulk_store(void* dst, const void* src, std::size_t bytes, Where w) {
  const char* what = "cp.async.bulk";
  check_size(bytes, what, w);
  check_aligned(dst, 16, what, "copies to", w);
  check_aligned(src, 16, what, "copies from", w);
  start_store({{dst, src, bytes}}, w);
}

void bulk_commit(Where) {
  StoreQueue& q = queues[current->agent];
  q.groups.push_back(std::move(q.open));
  q.open.clear();
}

void bulk_wait(int allowed, bool read_only, Where) {
  Thread* t = current;
  StoreQueue& q = queues[t->agent];
  std::size_t due = q.groups.size() > std::size_t(allowed) ? q.groups.size() - std::size_t(allowed) : 0;
  for (std::size_t i = 0; i < due; ++i)
    for (std::size_t id : q.groups[i]) {
      Store& s = stores[id];
      finish_read(s);
      t->clocks.know.learn(s.reader, s.clock);
      if (!read_only) s.written = true, t->clocks.know.learn(s.writer, s.clock);
      t->time = std::max(t->time, s.due);
    }
  // Groups whose reads are done still count until their writes are.
  if (!read_only)
    for (std::size_t i = 0; i < due; ++i) q.groups.pop_front();
}

// Orders generic accesses before it and asynchronous ones after it (PTX ISA, "membar/fence: .proxy").
void fence_proxy_async(Where) {
  Thread* t = current;
  t->clocks.proxied.join(t->clocks.know);
  t->clocks.proxied.learn(t->agent, t->clock++);
}

bool deliver_bulk() {
  if (loads.empty()) return false;
  std::size_t i = world.config.seed ? world.random() % loads.size() : 0;
  Load l = std::move(loads[i]);
  loads.erase(loads.begin() + long(i));
  for (const Piece& p : l.pieces) {
    if (!l.value.empty()) std::memcpy(p.dst, l.value.data(), p.bytes);
    else move(p);
  }
  ++world.progress;
  mbar_async_complete(l.bar, std::int64_t(l.bytes), l.copier, l.clock, l.due);
  return true;
}

void reset_bulk() {
  loads.clear();
  stores.clear();
  queues.clear();
}

// A thread that ends without waiting leaves copies behind that still read its block's shared memory.
void thread_left_bulk(Thread* t) {
  auto it = queues.find(t->agent);
  if (it == queues.end()) return;
  for (auto& group : it->second.groups)
    for (std::size_t id : group) finish_read(stores[id]);
  for (std::size_t id : it->second.open) finish_read(stores[id]);
}

// ---- tensor maps ---------------------------------------------------------------------------------------------------
namespace {

// How this emulator fills the 128 opaque bytes of a CUtensorMap (the driver's own encoding is not public).
struct TensorMap {
  std::uint64_t base;
  std::uint64_t strides[4];  // bytes, of dimensions 1 and up
  std::uint32_t sizes[5], box[5];
  std::uint16_t rank, element;
  std::uint16_t swizzle;  // 0, 32, 64 or 128 bytes
  std::uint16_t fill_nan;
};
static_assert(sizeof(TensorMap) <= 128);

// The swizzle modes exchange 16-byte chunks within rows of 32, 64 or 128 bytes (CUDA C++ Programming Guide, "Tensor memory
// access: swizzle"): address bits 4 and up are XORed with bits 7 and up of the offset from a 128-byte multiple.
std::size_t swizzled(std::size_t offset, unsigned bytes) {
  if (bytes == 128) return offset ^ ((offset >> 7 & 7) << 4);
  if (bytes == 64) return offset ^ ((offset >> 7 & 3) << 4);
  if (bytes == 32) return offset ^ ((offset >> 7 & 1) << 4);
  return offset;
}

// Calls each(shared offset, global address or null, bytes) for every 16-byte chunk of the box (smaller at its ends).
template <class F>
void for_each_chunk(const TensorMap& m, const int* at, F each) {
  std::size_t row_bytes = std::size_t(m.box[0]) * m.element, rows = 1;
  for (int d = 1; d < m.rank; ++d) rows *= m.box[d];
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t rest = row;
    std::uint64_t address = m.base;
    bool inside = true;
    for (int d = 1; d < m.rank; ++d) {
      long i = at[d] + long(rest % m.box[d]);
      rest /= m.box[d];
      inside &= i >= 0 && i < long(m.sizes[d]);
      address += std::uint64_t(i) * m.strides[d - 1];
    }
    for (std::size_t x = 0; x < row_bytes; x += 16) {
      std::size_t n = std::min<std::size_t>(16, row_bytes - x);
      for (std::size_t part = 0; part < n;) {  // split where the tensor ends
        long first = at[0] + long((x + part) / m.element);
        bool in = inside && first >= 0 && first < long(m.sizes[0]);
        std::size_t length = m.element;
        while (part + length < n) {
          long next = at[0] + long((x + part + length) / m.element);
          if ((inside && next >= 0 && next < long(m.sizes[0])) != in) break;
          length += m.element;
        }
        each(swizzled(row * row_bytes + x, m.swizzle) + part,
             in ? reinterpret_cast<void*>(address + std::uint64_t(first) * m.element) : nullptr, length);
        part += length;
      }
    }
  }
}

const TensorMap& map_of(const void* map, int rank, Where w) {
  auto& m = *static_cast<const TensorMap*>(map);
  if (m.rank != rank)
    stop({"launch-error", text("a tensor map of %d dimensions is used with %d coordinates", int(m.rank), rank), "", "", place_of(current, w), {}, {}});
  return m;
}

}  // namespace

void tensor_load(void* dst, const void* map, const int* at, int rank, void* bar, unsigned blocks, Where w) {
  const TensorMap& m = map_of(map, rank, w);
  check_aligned(dst, m.swizzle == 128 ? 1024 : m.swizzle == 64 ? 512 : m.swizzle == 32 ? 256 : 128, "cp.async.bulk.tensor", "copies to", w);
  check_targets(blocks, w);
  unsigned targets = blocks ? blocks : 1u << (current->block->rank % world.config.cluster_size());
  for (unsigned r = 0; r < world.config.cluster_size(); ++r) {
    if (!((targets >> r) & 1u)) continue;
    auto* to = static_cast<char*>(blocks ? cluster_map(dst, r, w) : dst);
    std::vector<Piece> pieces;
    std::size_t bytes = 0;
    for_each_chunk(m, at, [&](std::size_t offset, void* from, std::size_t n) {
      pieces.push_back({to + offset, from, n});
      bytes += n;  // the whole box counts, also what lies outside the tensor
    });
    start_load(std::move(pieces), bytes, blocks ? cluster_map(bar, r, w) : bar, w);
  }
}

void tensor_store(const void* map, const int* at, int rank, const void* src, Where w) {
  const TensorMap& m = map_of(map, rank, w);
  std::vector<Piece> pieces;
  for_each_chunk(m, at, [&](std::size_t offset, void* to, std::size_t n) {
    if (to) pieces.push_back({to, static_cast<const char*>(src) + offset, n});
  });
  start_store(std::move(pieces), w);
}

// ---- registers --------------------------------------------------------------------------------------------------------
namespace {
struct RegisterFile {
  long free = -1;
  struct Asked {
    int count;    // registers per thread
    Where where;  // of the last setmaxnreg
  };
  std::map<unsigned, Asked> of_warp;  // by warp number in the block
  std::vector<Thread*> waiting;
};
std::map<const Block*, RegisterFile> files;
constexpr long kRegisters = 65536;  // of an SM (CUDA C++ Programming Guide, compute capability 9.0)
}  // namespace

// setmaxnreg (PTX ISA): a warp gives registers back to its block's pool, or waits until the pool can give it more.
void set_max_registers(int count, bool increase, Where w) {
  Thread* t = current;
  if (count < 24 || count > 256 || count % 8)
    stop({"launch-error", text("setmaxnreg to %d: the count must be a multiple of 8 from 24 to 256", count), "", "", place_of(t, w), {}, {}});
  warp_sync(0xffffffffu, "setmaxnreg", false, w);
  RegisterFile& f = files[t->block];
  long threads = long(world.config.threads());
  int at_launch = int(std::min<long>(kRegisters / threads / 8 * 8, 248));
  if (f.free < 0) f.free = kRegisters - threads * at_launch;
  if (t->rank % 32 == 0) {
    auto [it, fresh] = f.of_warp.try_emplace(t->rank / 32, RegisterFile::Asked{at_launch, w});
    it->second.where = w;
    int& mine = it->second.count;
    // How many a thread has at launch may be fewer than at_launch (__launch_bounds__): an inc is compared with an earlier call.
    if (increase ? !fresh && count < mine : count > mine)
      stop({"launch-error",
            text("setmaxnreg.%s to %d: %s has %d registers a thread, and %s never %s", increase ? "inc" : "dec", count,
                 who(t).c_str(), mine, increase ? "inc" : "dec", increase ? "takes away" : "adds"),
            "the role that works takes registers (inc), the role that only asks gives them back (dec)", "", place_of(t, w), {}, {}});
    long change = long(count - mine) * 32;
    if (increase) {
      while (f.free < change) {
        f.waiting.push_back(t);
        block_current({"setmaxnreg.inc", &f, std::uint64_t(change), w});
      }
    }
    f.free -= change;
    mine = count;
    for (Thread* other : f.waiting) wake(other);
    f.waiting.clear();
  }
  warp_sync(0xffffffffu, "setmaxnreg", false, w);
}
void reset_registers() { files.clear(); }

// PTX ISA, setmaxnreg: all warps of a warpgroup must execute it, with the same count.
void check_registers(Block& b) {
  auto file = files.find(&b);
  if (file == files.end()) return;
  auto& asked = file->second.of_warp;
  for (unsigned first = 0; first + 4 <= b.threads.size() / 32; first += 4) {
    const RegisterFile::Asked* some = nullptr;
    unsigned who = 0, called = 0;
    bool same = true;
    for (unsigned warp = first; warp < first + 4; ++warp) {
      auto it = asked.find(warp);
      if (it == asked.end()) continue;
      if (some && it->second.count != some->count) same = false;
      some = &it->second, who = warp, ++called;
    }
    if (!some || (called == 4 && same)) continue;
    report({"illegal-collective",
            called < 4 ? text("setmaxnreg was executed by %u of the 4 warps of the warpgroup of warps %u-%u", called, first, first + 3)
                       : text("the warps %u-%u, one warpgroup, asked setmaxnreg for different numbers of registers", first, first + 3),
            "all four warps of a warpgroup must execute setmaxnreg, with the same number: call it before the role's one thread goes to work", "",
            place_of(&b.threads[who * 32], some->where), {}, {}});
    return;
  }
}
bool is_register_wait(const Thread* t) {
  for (auto& [block, f] : files)
    if (t->wait.object == &f) return true;
  return false;
}

std::string describe_register_wait(const Thread* t, std::string& hint) {
  for (auto& [block, f] : files)
    if (t->wait.object == &f) {
      hint = "another role must give registers back (setmaxnreg.dec, by all four warps of its warpgroup); then add up registers x threads of all "
             "roles: it must not exceed the 65536 of the SM";
      return text("warp %u wants %llu more registers, but only %ld are free", t->rank / 32, (unsigned long long)t->wait.phase, f.free);
    }
  return "";
}

bool elect(unsigned mask, Where w) {
  unsigned here = 0;
  warp_exchange(mask, 0, "elect.sync", w, &here);
  return current->rank % 32 == unsigned(__builtin_ctz(here));
}

void load_memory(void* to, const void* from, std::size_t bytes, Where w) {
  check_access(current, from, bytes, {}, site_of(w));
  std::memcpy(to, from, bytes);
}
void store_memory(void* to, const void* from, std::size_t bytes, Where w) {
  AccessKind kind;
  kind.write = true;
  check_access(current, to, bytes, kind, site_of(w));
  std::memcpy(to, from, bytes);
}

}  // namespace ws_emu
