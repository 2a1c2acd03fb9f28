// Atomics and fences: what a relaxed or releasing write publishes, and what a read of it learns.
#include <unordered_map>

#include "memory.hpp"
#include "report.hpp"
#include "world.hpp"

namespace ws_emu {
namespace {

struct Published {
  std::uint32_t gang = 0;
  Knowledge know;
};
std::unordered_map<const void*, Published> published;

// The knowledge at a location, as a thread of this gang sees it.
Knowledge seen_at(const void* p) {
  auto it = published.find(p);
  if (it == published.end()) return {};
  if (it->second.gang == world.gang) return it->second.know;
  Knowledge k;
  auto all = std::make_shared<std::map<std::uint32_t, Vector>>();
  if (it->second.know.foreign) *all = *it->second.know.foreign;
  raise((*all)[it->second.gang], it->second.know.dense());
  k.foreign = std::move(all);
  return k;
}

void publish(const void* p, const Knowledge& k) {
  if (!k.base && k.newer.empty() && !k.foreign) return;
  Knowledge now = seen_at(p);
  now.join(k);
  published[p] = {world.gang, std::move(now)};
}

}  // namespace

void atomic_begin(void* at, std::size_t bytes, bool writes, Order order, Where w, bool reads, bool compares) {
  Thread* t = current;
  if (!t) return;
  poll({"a loop", nullptr, 0, w});
  AccessKind kind;
  kind.write = writes;
  kind.atomic = true;
  kind.needs_value = writes && reads;
  if (compares) forgive_guess(t, at);
  std::uint64_t before = world.progress;
  check_access(t, at, bytes, kind, site_of(w));
  world.progress = before;  // only a changed value is progress, see atomic_end
  if (!writes && (order == Order::acquire || order == Order::acq_rel)) t->clocks.know.join(seen_at(at));
  else if (!writes) t->observed.join(seen_at(at));
}

void atomic_end(void* at, bool changed, Order order) {
  Thread* t = current;
  if (!t) return;
  if (changed) ++world.progress;
  Knowledge there = seen_at(at);
  if (order == Order::acquire || order == Order::acq_rel || order == Order::classic) t->clocks.know.join(there);
  else t->observed.join(there);
  if (order == Order::release || order == Order::acq_rel) {
    Knowledge mine = t->clocks.know;
    mine.learn(t->agent, t->clock++);
    publish(at, mine);
  } else {
    publish(at, t->clocks.fenced);
  }
}

void relaxed_access(const void* p, bool write) {
  if (write) publish(p, current->clocks.fenced);
  else current->observed.join(seen_at(p));
}

void thread_fence(Where) {
  Thread* t = current;
  if (!t) return;
  t->clocks.know.join(t->observed);
  t->clocks.fenced = t->clocks.know;
  t->clocks.fenced.learn(t->agent, t->clock++);
  if (--t->countdown <= 0) maybe_yield();
}

}  // namespace ws_emu
