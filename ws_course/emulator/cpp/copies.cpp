// Asynchronous copies of a thread (cp.async): data moves at the last moment that is legal, so that code which does not
// wait long enough sees poison, whatever the schedule.
#include "copies.hpp"

#include <algorithm>
#include <cstring>

#include "memory.hpp"
#include "report.hpp"

namespace ws_emu {

void mbar_async_arrive(void* bar, Agent copier, Clock clock, std::uint64_t time);
void mbar_add_pending(void* bar, Where w);
void reset_mbarriers();
void reset_group_barriers();
void thread_left_barriers(Thread* t);
std::string describe_block_wait(const Thread* t, std::string& hint);
std::string describe_mbarrier_wait(const Thread* t, std::string& hint);
int mbarrier_priority(const void* bar);

namespace {

// Ticks of the logical clock from issue to arrival of an asynchronous copy: a device-memory latency is several hundred
// times a shared-memory access. It shapes the emulated timeline, nothing else.
constexpr std::uint64_t kCopyLatency = 400;

struct Copy {
  void* dst;
  const void* src;
  std::size_t bytes, zero_fill;
  Agent copier;
  Clock clock;
  std::uint64_t due;
  bool done;
};
std::vector<Copy> copies;

struct Arrival {  // cp.async.mbarrier.arrive: an arrival once the thread's copies so far are done
  void* bar;
  Thread* owner;
  Agent copier;
  Clock clock;
  std::vector<std::uint32_t> copies;
};
std::vector<Arrival> arrivals;

void finish_group(Thread* t, const std::vector<std::uint32_t>& group) {
  for (std::uint32_t id : group) {
    Copy& c = copies[id];
    complete_copy(id);
    t->clocks.know.learn(c.copier, c.clock);
    t->time = std::max(t->time, c.due);
  }
}

}  // namespace

void complete_copy(std::uint32_t id) {
  Copy& c = copies[id];
  if (c.done) return;
  c.done = true;
  std::memcpy(c.dst, c.src, c.bytes - c.zero_fill);
  std::memset(static_cast<char*>(c.dst) + c.bytes - c.zero_fill, 0, c.zero_fill);
  ++world.progress;
}

void copy_now(void* dst, const void* src, std::size_t bytes, Where w) {
  AccessKind read, write;
  write.write = true;
  check_access(current, src, bytes, read, site_of(w));
  check_access(current, dst, bytes, write, site_of(w));
  std::memmove(dst, src, bytes);
}

void cp_async(void* dst, const void* src, std::size_t bytes, std::size_t zero_fill, const char* what, Where w) {
  Thread* t = current;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    stop({"launch-error", text("%s copies %zu bytes: an asynchronous copy moves 4, 8 or 16", what, bytes), "", "", place_of(t, w), {}, {}});
  if (reinterpret_cast<std::uintptr_t>(dst) % bytes || reinterpret_cast<std::uintptr_t>(src) % bytes)
    stop({"out-of-bounds",
          text("%s: %s copies %zu bytes %s %s, which is not aligned to %zu bytes (misaligned address)", what, who(t).c_str(), bytes,
               reinterpret_cast<std::uintptr_t>(dst) % bytes ? "to" : "from",
               name_of(reinterpret_cast<std::uintptr_t>(dst) % bytes ? dst : src).c_str(), bytes),
          "align the array (alignas(16)) and keep row lengths a multiple of the copy size", "", place_of(t, w), {}, {}});
  Thread::Copier& unit = copier_of(t, nullptr);
  AccessKind read, write;
  read.copier = write.copier = unit.agent;
  read.copy_clock = write.copy_clock = unit.clock;
  write.write = true;
  if (bytes > zero_fill) check_access(t, src, bytes - zero_fill, read, site_of(w));
  check_access(t, dst, bytes, write, site_of(w));
  poison(dst, bytes);
  copies.push_back({dst, src, bytes, zero_fill, unit.agent, unit.clock, t->time + kCopyLatency, false});
  t->open_copies.push_back(std::uint32_t(copies.size() - 1));
  if (--t->countdown <= 0) maybe_yield();
}

bool copy_by_group(void* dst, const void* src, std::size_t bytes, std::size_t align, unsigned rank, unsigned size, const char* what, Where w) {
  std::size_t chunk = align >= 16 ? 16 : align >= 8 ? 8 : align >= 4 ? 4 : 1;
  bool async = chunk >= 4 && is_global(src) && is_shared(dst);
  if (async && bytes % chunk)
    stop({"out-of-bounds", text("%s of %zu bytes, which is no multiple of the %zu bytes that the alignment promises", what, bytes, chunk), "", "",
          place_of(current, w), {}, {}});
  auto *to = static_cast<char*>(dst);
  auto* from = static_cast<const char*>(src);
  for (std::size_t at = rank * chunk; at < bytes; at += size * chunk)
    if (async) cp_async(to + at, from + at, chunk, 0, what, w);
    else copy_now(to + at, from + at, std::min(chunk, bytes - at), w);
  return async;
}

void write_u32(std::uint32_t* p, std::uint32_t v, Where w) {
  AccessKind kind;
  kind.write = true;
  check_access(current, p, 4, kind, site_of(w));
  *p = v;
}

void cp_async_commit() {
  Thread* t = current;
  t->groups.push_back(std::move(t->open_copies));
  t->open_copies.clear();
  ++copier_of(t, nullptr).clock;
}

void cp_async_wait(int allowed, Where) {
  Thread* t = current;
  if (allowed < 0 && !t->open_copies.empty()) cp_async_commit();
  std::uint64_t start = t->time;
  while (!t->groups.empty() && long(t->groups.size()) > std::max(allowed, 0)) {
    finish_group(t, t->groups.front());
    t->groups.erase(t->groups.begin());
  }
  if (world.config.trace && t->rank % 32 == 0 && t->time > start) add_span(t, "wait", start, t->time, -1, "the copies");
}

void cp_async_arrive(void* bar, bool noinc, Where w) {
  Thread* t = current;
  if (!noinc) mbar_add_pending(bar, w);
  Arrival a{bar, t, 0, 0, {}};
  Thread::Copier& unit = copier_of(t, nullptr);
  a.copier = unit.agent;
  a.clock = unit.clock++;
  for (auto& g : t->groups) a.copies.insert(a.copies.end(), g.begin(), g.end());
  a.copies.insert(a.copies.end(), t->open_copies.begin(), t->open_copies.end());
  bool all_done = std::all_of(a.copies.begin(), a.copies.end(), [](std::uint32_t id) { return copies[id].done; });
  // Copies that an arrival covers need not be kept for cp.async.wait_group as well: they complete in order.
  if (all_done) {
    mbar_async_arrive(bar, a.copier, a.clock, t->time);
    return;
  }
  t->groups.clear();
  t->open_copies.clear();
  t->groups.push_back(a.copies);
  arrivals.push_back(std::move(a));
}

bool deliver_one() {
  if (arrivals.empty() || (world.config.seed && world.random() % 2 && deliver_bulk())) return arrivals.empty() ? deliver_bulk() : true;
  // Any thread's oldest arrival may be next.
  std::size_t i = world.config.seed ? world.random() % arrivals.size() : 0;
  for (std::size_t j = 0; j < i; ++j)
    if (arrivals[j].owner == arrivals[i].owner) i = j;
  Arrival a = std::move(arrivals[i]);
  arrivals.erase(arrivals.begin() + long(i));
  std::uint64_t time = 0;
  for (std::uint32_t id : a.copies) {
    complete_copy(id);
    time = std::max(time, copies[id].due);
  }
  mbar_async_arrive(a.bar, a.copier, a.clock, time);
  return true;
}

void reset_barriers() {
  reset_mbarriers();
  reset_group_barriers();
  reset_bulk();
  reset_registers();
  reset_wgmma();
  copies.clear();
  arrivals.clear();
}
void thread_left(Thread* t) {
  thread_left_bulk(t);
  thread_left_barriers(t);
}

std::string describe_wait(const Thread* t, std::string& hint) {
  std::string r = describe_mbarrier_wait(t, hint);
  if (r.empty()) r = describe_block_wait(t, hint);
  if (r.empty()) r = describe_register_wait(t, hint);
  return r.empty() ? describe_warpgroup_wait(t, hint) : r;
}
int wait_priority(const Thread* t) {
  const Wait& w = t->wait;
  if (!w.object) return t->state == State::ready ? 12 : 0;  // it polls memory: the others wait for it
  if (is_shared(w.object) || is_global(w.object)) return mbarrier_priority(w.object);
  if (only_follows(t)) return 3;
  return is_warp_wait(t) ? 11 : 9;  // a barrier of a warp, the block, a cluster: some of its threads are there
}

}  // namespace ws_emu
