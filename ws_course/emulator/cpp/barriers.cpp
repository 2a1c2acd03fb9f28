// Barriers of a block, rendezvous of a warp, barriers of larger groups, and calls that a whole group must make.
#include <algorithm>
#include <map>
#include <set>

#include "copies.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "world.hpp"

namespace ws_emu {
namespace {

struct GroupBarrier {
  unsigned size = 0;
  std::uint64_t round = 0;
  std::vector<Thread*> waiting;
  Meeting meeting;
  std::uint64_t time = 0;
};
std::map<const void*, GroupBarrier> group_barriers;

struct Collective {
  unsigned size = 0;
  const char* what = "";
  Where where{"", 0};
  const Block* block = nullptr;
  std::map<Agent, unsigned> calls;
};
std::map<std::pair<const void*, unsigned>, Collective> collectives;  // by group and call number

unsigned lanes_alive(const Block& b, unsigned warp) {
  unsigned mask = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned rank = warp * 32 + lane;
    if (rank < b.threads.size() && b.threads[rank].state != State::finished) mask |= 1u << lane;
  }
  return mask;
}

// Wakes those who wait. All they knew is part of `c`, if they handed it in.
void release(std::vector<Thread*>& waiting, const Clocks& c, std::uint64_t time) {
  for (Thread* t : waiting) {
    if (c.know.base) t->clocks.adopt(c);
    t->time = std::max(t->time, time);
    wake(t);
  }
  waiting.clear();
}

// __syncthreads() may stand in a branch only if the whole block takes it (CUDA C++ Programming Guide, "Synchronization
// Functions"); within a warp the instruction demands it as well (PTX ISA, "barrier": .aligned).
void check_same_call_site(Block& block, const BlockBarrier& bar) {
  const std::pair<unsigned, Where>* first = nullptr;
  const std::pair<unsigned, Where>* other = nullptr;
  for (auto& call : bar.who) {
    if (!first) first = &call;
    else if (call.second.line != first->second.line && (!other || call.first / 32 == first->first / 32)) other = &call;
  }
  if (!other) return;
  if (first->second.line > other->second.line) std::swap(first, other);
  const Thread *a = &block.threads[first->first], *b = &block.threads[other->first];
  std::string them = a->rank / 32 == b->rank / 32 ? text("lane %u of the same warp", b->rank % 32) : text("warp %u lane %u", b->rank / 32, b->rank % 32);
  report({"illegal-collective",
          text("__syncthreads() in a branch: warp %u lane %u is at line %d while %s is at line %d", a->rank / 32, a->rank % 32, first->second.line,
               them.c_str(), other->second.line),
          "a block barrier is one call that all threads of the block make together: take it out of the branch", "", place_of(a, first->second),
          {place_of(b, other->second, "the other barrier")},
          {}});
}

void try_complete(Block& block, int id) {
  BlockBarrier& bar = block.barriers[id];
  unsigned needed = bar.expected ? bar.expected : block.alive;
  if (!bar.arrived || bar.arrived < needed) return;
  if (id == 0 && !bar.expected) check_same_call_site(block, bar);
  Clocks c = bar.meeting.freeze();
  bar.reduced[bar.round & 1] = bar.accumulating;
  ++bar.round;
  bar.arrived = bar.expected = 0;
  bar.accumulating = 0;
  bar.who.clear();
  ++world.progress;
  release(bar.waiting, c, bar.time);
}

Rendezvous& rendezvous_of(Block& b, unsigned warp, unsigned mask) {
  for (Rendezvous& r : b.rendezvous[warp])
    if (r.mask == mask) return r;
  b.rendezvous[warp].emplace_back();
  b.rendezvous[warp].back().mask = mask;
  return b.rendezvous[warp].back();
}

void try_complete(Block& block, unsigned warp, Rendezvous& r) {
  unsigned needed = r.mask & lanes_alive(block, warp);
  if (!r.here || (r.here & needed) != needed) return;
  r.came[r.round & 1] = r.here;
  r.here = 0;
  ++r.round;
  ++world.progress;
  Clocks c = r.orders_memory ? r.meeting.freeze() : Clocks{};
  std::uint64_t time = 0;
  for (Thread* t : r.waiting) time = std::max(time, t->time);
  release(r.waiting, c, time);
}

// The calling lane joins the others of `mask`; returns once all of them are there.
Rendezvous& meet(unsigned mask, std::uint64_t value, const char* what, bool orders_memory, Where w) {
  Thread* t = current;
  unsigned warp = t->rank / 32, lane = t->rank % 32;
  if (!((mask >> lane) & 1u))
    stop({"illegal-collective", text("%s calls %s with the mask 0x%08x, which does not contain the lane itself", who(t).c_str(), what, mask),
          "every calling lane must be named in the mask", "", place_of(t, w), {}, {}});
  Rendezvous& r = rendezvous_of(*t->block, warp, mask);
  if (r.here && std::string(r.what) != what)
    stop({"illegal-collective",
          text("%s calls %s while other lanes of the same mask are in %s", who(t).c_str(), what, r.what),
          "all lanes of a mask make the same call: the lanes of this warp have diverged", "", place_of(t, w),
          {place_of(r.waiting.front(), r.where, r.what)}, {}});
  r.here |= 1u << lane;
  r.what = what;
  r.where = w;
  std::uint64_t round = r.round;
  r.values[round & 1][lane] = value;
  r.orders_memory = orders_memory;
  if (orders_memory) release_to(r.meeting, t);
  r.waiting.push_back(t);
  try_complete(*t->block, warp, r);
  // Complete: wake() found this thread not blocked, so it simply goes on.
  if (r.round == round) block_current({what, &r, mask, w});
  return r;
}

}  // namespace

int block_barrier(int id, unsigned count, bool wait, Reduce op, int predicate, Where w) {
  Thread* t = current;
  Block& block = *t->block;
  const char* what = id == 0 && !count ? "__syncthreads" : wait ? "barrier.sync" : "barrier.arrive";
  if (id < 0 || id > 15)
    stop({"barrier-misuse", text("%s uses the named barrier %d, but a block has 16 of them, 0 to 15", who(t).c_str(), id),
          "check what was added to the number: some libraries reserve the first ones", "", place_of(t, w), {}, {}});
  if (count % 32)
    stop({"illegal-collective", text("%s names %u threads for barrier %d: the count must be a multiple of 32", who(t).c_str(), count, id),
          "the count is how many threads take part in all (arriving or waiting), not how many this call adds", "", place_of(t, w), {}, {}});
  BlockBarrier& bar = block.barriers[id];
  if (bar.arrived && bar.expected != count)
    stop({"illegal-collective",
          text("%s comes to barrier %d with a count of %u, others came with %u", who(t).c_str(), id, count, bar.expected),
          "arrive and sync of one barrier must name the same number of threads", "", place_of(t, w),
          {place_of(&block.threads[bar.who.front().first], bar.who.front().second, "the other call")}, {}});
  int p = predicate != 0;
  if (!bar.arrived) bar.accumulating = op == Reduce::all;
  if (op == Reduce::count) bar.accumulating += p;
  if (op == Reduce::all) bar.accumulating &= p;
  if (op == Reduce::any) bar.accumulating |= p;
  ++bar.arrived;
  bar.expected = count;
  bar.who.push_back({t->rank, w});
  bar.time = std::max(bar.time, t->time);
  std::uint64_t round = bar.round;
  release_to(bar.meeting, t);
  if (wait) bar.waiting.push_back(t);
  try_complete(block, id);
  if (wait && bar.round == round) block_current({what, &bar, round, w});
  return bar.reduced[round & 1];
}

void warp_sync(unsigned mask, const char* what, bool orders_memory, Where w) { meet(mask, 0, what, orders_memory, w); }

const std::uint64_t* warp_exchange(unsigned mask, std::uint64_t value, const char* what, Where w, unsigned* here) {
  Block& block = *current->block;
  unsigned warp = current->rank / 32;
  std::uint64_t round = rendezvous_of(block, warp, mask).round;
  Rendezvous& r = meet(mask, value, what, false, w);
  if (here) *here = r.came[round & 1];
  return r.values[round & 1];
}

void absent_lane(int lane, const char* what, Where w) {
  report({"illegal-collective",
          text("%s takes a value from lane %d in %s, but that lane does not take part: the value is undefined", who(current).c_str(), lane, what),
          "all lanes whose values are read must make the call: do not return early, and keep the call out of branches", "",
          place_of(current, w), {}, {}});
}

// Lanes run together if they reach the same place while no other lane of their warp can run: a lane waits here until the
// rest of its warp waits, somewhere, or has finished. Then all lanes at one line get one mask.
void settle_warp(Block& block, unsigned warp) {
  auto& waiting = block.gathering[warp];
  if (waiting.empty()) return;
  for (unsigned rank = warp * 32; rank < warp * 32 + 32 && rank < block.threads.size(); ++rank)
    if (block.threads[rank].state == State::ready && &block.threads[rank] != current) return;
  std::map<int, unsigned> masks;
  for (auto& [t, line] : waiting) masks[line] |= 1u << (t->rank % 32);
  auto released = std::move(waiting);
  waiting.clear();
  ++world.progress;
  for (auto& [t, line] : released) {
    t->together = masks[line];
    wake(t);
  }
}
unsigned active_mask(Where w) {
  Thread* t = current;
  Block& block = *t->block;
  t->together = 0;
  block.gathering[t->rank / 32].push_back({t, w.line});
  settle_warp(block, t->rank / 32);
  if (!t->together) block_current({"__activemask", nullptr, 0, w});
  return t->together;
}

void group_barrier(const void* key, unsigned size, const char* what, Where w) {
  Thread* t = current;
  GroupBarrier& b = group_barriers[key];
  b.size = size;
  b.waiting.push_back(t);
  b.time = std::max(b.time, t->time);
  release_to(b.meeting, t);
  if (b.waiting.size() < size) {
    block_current({what, &b, size, w});
    return;
  }
  Clocks c = b.meeting.freeze();
  std::vector<Thread*> waiting = std::move(b.waiting);
  std::uint64_t time = b.time;
  b = GroupBarrier{};
  ++world.progress;
  release(waiting, c, time);
}

// barrier.cluster (PTX ISA): arrive and wait apart; finished threads count as arrived.
namespace {
struct ClusterBarrier {
  unsigned arrived = 0;
  std::uint64_t round = 0;
  Meeting meeting;
  Knowledge fenced;  // what a fence before a relaxed arrival has made visible
  Clocks completed;
  std::vector<Thread*> waiting;
  std::map<Agent, std::uint64_t> came;  // in which round a thread has arrived and not yet waited
  std::uint64_t time = 0, completed_time = 0;
};
std::map<unsigned, ClusterBarrier> cluster_barriers;  // by number of the cluster in the gang

unsigned cluster_alive(unsigned cluster) {
  unsigned n = 0, size = world.config.cluster_size();
  for (unsigned b = cluster * size; b < (cluster + 1) * size; ++b) n += world.blocks[b].alive;
  return n;
}
void try_complete_cluster(unsigned cluster) {
  ClusterBarrier& b = cluster_barriers[cluster];
  if (!b.arrived || b.arrived < cluster_alive(cluster)) return;
  b.completed = b.meeting.freeze();
  b.completed.know.join(b.fenced);
  b.fenced = Knowledge{};
  b.completed_time = b.time;
  b.arrived = 0;
  ++b.round;
  ++world.progress;
  for (Thread* t : b.waiting) {
    t->time = std::max(t->time, b.time);
    wake(t);
  }
  b.waiting.clear();
}
}  // namespace

void cluster_arrive(bool releases, Where w) {
  Thread* t = current;
  unsigned cluster = t->block->rank / world.config.cluster_size();
  ClusterBarrier& b = cluster_barriers[cluster];
  auto [it, fresh] = b.came.try_emplace(t->agent, b.round);
  if (!fresh)
    stop({"barrier-misuse", text("%s arrives twice at the cluster barrier without waiting in between", who(t).c_str()),
          "every barrier.cluster.arrive is followed by one barrier.cluster.wait of the same thread", "", place_of(t, w), {}, {}});
  ++b.arrived;
  b.time = std::max(b.time, t->time);
  if (releases) release_to(b.meeting, t);
  else b.fenced.join(t->clocks.fenced);
  try_complete_cluster(cluster);
}
void cluster_wait(Where w) {
  Thread* t = current;
  unsigned cluster = t->block->rank / world.config.cluster_size();
  ClusterBarrier& b = cluster_barriers[cluster];
  auto it = b.came.find(t->agent);
  if (it == b.came.end())
    stop({"barrier-misuse", text("%s waits at the cluster barrier without having arrived", who(t).c_str()),
          "every barrier.cluster.wait needs a barrier.cluster.arrive of the same thread before it", "", place_of(t, w), {}, {}});
  std::uint64_t round = it->second;
  b.came.erase(it);
  if (b.round == round) {
    b.waiting.push_back(t);
    block_current({"cluster.sync", &b, round, w});
  }
  t->clocks.join(b.completed);
  t->time = std::max(t->time, b.completed_time);
}

void collective_call(const void* key, unsigned size, const char* what, Where w) {
  static std::map<std::pair<Agent, const void*>, unsigned> number;  // of calls that this thread has made
  static std::uint32_t gang = 0;
  if (gang != world.gang) number.clear(), gang = world.gang;
  unsigned n = number[{current->agent, key}]++;
  Collective& c = collectives[{key, n}];
  if (c.calls.empty()) c = {size, what, w, current->block, {}};
  ++c.calls[current->agent];
  if (c.calls.size() == size) collectives.erase({key, n});
}

void check_collectives() {
  for (auto& [key, c] : collectives) {
    if (c.calls.empty()) continue;
    const Thread* t = thread_of(c.calls.begin()->first);
    report({"illegal-collective",
            text("%s is a call of a whole group of %u threads, but only %zu of them made it", c.what, c.size, c.calls.size()),
            "the overload with a group splits the work over the group's threads; from one thread alone, call it without the group", "",
            place_of(t, c.where), {}, {}});
  }
  collectives.clear();
}

void reset_group_barriers() {
  group_barriers.clear();
  collectives.clear();
  cluster_barriers.clear();
}

void thread_left_barriers(Thread* t) {
  Block& block = *t->block;
  settle_warp(block, t->rank / 32);
  for (int id = 0; id < 16; ++id)
    if (block.barriers[id].arrived && !block.barriers[id].expected) try_complete(block, id);
  for (Rendezvous& r : block.rendezvous[t->rank / 32])
    if (r.here) try_complete(block, t->rank / 32, r);
  if (world.config.cluster_size() > 1) try_complete_cluster(block.rank / world.config.cluster_size());
}

// Whether a wait is for other lanes of the warp: such a group explains more than a block barrier that waits for it.
bool is_warp_wait(const Thread* t) {
  for (auto& r : t->block->rendezvous[t->rank / 32])
    if (t->wait.object == &r) return true;
  return false;
}

// Whether a wait in a barrier of a warp, the block or a cluster is only a consequence: those who are missing wait at an
// mbarrier (or for registers), as one elected lane does while its warp waits for it in __syncwarp. They would come; the mbarrier says why
// they do not. For a block barrier that alone proves nothing (a role that waits at an mbarrier may never come to it):
// some must be lanes whose warp is waiting in this way.
bool only_follows(const Thread* t) {
  auto at_mbarrier = [](const Thread& m) {
    return (m.wait.object && (is_shared(m.wait.object) || is_global(m.wait.object))) || is_register_wait(&m);
  };
  const Block& block = *t->block;
  unsigned warp = t->rank / 32;
  for (auto& r : block.rendezvous[warp]) {
    if (t->wait.object != &r) continue;
    unsigned missing = r.mask & ~r.here & lanes_alive(block, warp);
    for (unsigned lane = 0; lane < 32; ++lane)
      if (missing >> lane & 1 && !at_mbarrier(block.threads[warp * 32 + lane])) return false;
    // One elected lane, or a few, and the rest of the warp behind it. Otherwise it is a branch that lanes have left.
    return missing && __builtin_popcount(missing) * 8 <= __builtin_popcount(r.here);
  }
  auto explained = [&](const Block& b, bool& lanes) {
    for (const Thread& m : b.threads) {
      if (m.state == State::finished || m.wait.object == t->wait.object || at_mbarrier(m)) continue;
      if (!is_warp_wait(&m) || !only_follows(&m)) return false;
      lanes = true;
    }
    return true;
  };
  // Whoever is missing at the mbarrier is here: each waits for the other, and a block barrier in a role's branch is the cause.
  for (const Block& other : world.blocks) {
    unsigned here = 0;
    for (const Thread& m : other.threads) here += m.has_role && m.state != State::finished && m.wait.object == t->wait.object;
    for (const Thread& m : other.threads)
      if (here && here % 32 == 0 && m.state != State::finished && at_mbarrier(m) && !is_register_wait(&m) && mbarrier_missing(m.wait.object) == here) return false;
  }
  bool lanes = false;
  if (t->wait.object == &block.barriers[0]) return explained(block, lanes) && lanes;
  for (auto& [cluster, b] : cluster_barriers) {
    if (t->wait.object != &b) continue;
    for (const Block& other : world.blocks)
      if (!explained(other, lanes)) return false;
    return true;
  }
  return false;
}

// For the deadlock report: what a blocked thread of these kinds waits for. Empty if `w` is of another kind.
std::string describe_block_wait(const Thread* t, std::string& hint) {
  const Block& block = *t->block;
  for (int id = 0; id < 16; ++id) {
    const BlockBarrier& bar = block.barriers[id];
    if (t->wait.object != &bar) continue;
    unsigned needed = bar.expected ? bar.expected : block.alive;
    std::set<unsigned> here;
    for (auto& [rank, where] : bar.who) here.insert(rank / 32);
    if (!bar.expected)
      hint = "a block barrier inside a branch or a loop that not all threads take: every thread that is still running must reach it";
    else
      hint = "the barrier's count includes threads that never arrive: compare the count with the warps that really take part";
    return text("%u of %u threads have arrived, %u %s missing", bar.arrived, needed, needed - bar.arrived, needed - bar.arrived == 1 ? "is" : "are");
  }
  for (auto& r : block.rendezvous[t->rank / 32])
    if (t->wait.object == &r) {
      unsigned missing = r.mask & ~r.here & lanes_alive(block, t->rank / 32);
      hint = "all lanes named in the mask must make the call; the missing lanes have taken another branch";
      return text("the lanes 0x%08x of the mask 0x%08x have not come", missing, r.mask);
    }
  for (auto& [cluster, b] : cluster_barriers)
    if (t->wait.object == &b) {
      hint = "every thread of every block in the cluster must arrive, or have finished";
      return text("%u of %u threads of the cluster have arrived", b.arrived, cluster_alive(cluster));
    }
  for (auto& [key, b] : group_barriers)
    if (t->wait.object == &b) {
      hint = "every thread of the group must make the call";
      return text("%zu of %u threads have arrived", b.waiting.size(), b.size);
    }
  return "";
}

}  // namespace ws_emu
