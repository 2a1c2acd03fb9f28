// Runs the grid: gangs of blocks one after another (a gang is a block, a cluster, or a whole cooperative grid), the
// threads of a gang as fibers in an order that the seed decides.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "copies.hpp"
#include "fiber.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "world.hpp"

// What the kernel sees as threadIdx and so on; the kernel's side declares them const.
struct Builtin3 {
  unsigned x, y, z;
};
extern "C++" {
Builtin3 threadIdx, blockIdx, blockDim, gridDim;
}

namespace ws_emu {

World world;
Thread* current = nullptr;

namespace {

void* scheduler_sp;
std::vector<unsigned char*> stacks;

void switch_to(Thread* t) {
  current = t;
  ++world.switches;
  threadIdx = {t->index.x, t->index.y, t->index.z};
  blockIdx = {t->block->index.x, t->block->index.y, t->block->index.z};
  shared_slab = t->block->slab;
  ws_fiber_switch(&scheduler_sp, t->sp);
  current = nullptr;
}

void fiber_main() {
  world.entry->call(world.arguments.data());
  thread_exit();
}

unsigned char* make_stacks(unsigned n) {
  std::size_t each = kStack + 4096;
  void* p = mmap(nullptr, each * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    set_usage_error("not enough memory for so many threads at once: use a smaller grid or block");
    finish();
  }
  auto* base = static_cast<unsigned char*>(p);
  if (n <= 16384)  // a guard page below each stack; the kernel limits the number of mappings
    for (unsigned i = 0; i < n; ++i) mprotect(base + each * i, 4096, PROT_NONE);
  return base;
}

std::string waiting_place(const Thread* t, bool many) {
  std::string object = t->wait.object && (is_shared(t->wait.object) || is_global(t->wait.object)) ? " on " + describe_barrier(t->wait.object)
                                                                                                  : std::string();
  return std::string(many ? "wait in " : "waits in ") + t->wait.what + object;
}

// Nothing can run and nothing is on its way: say which warps wait where, and for whom.
[[noreturn]] void deadlock(bool spinning) {
  struct Group {
    const Thread* first;
    std::vector<const Thread*> threads;
  };
  std::vector<Group> groups;
  unsigned waiting = 0, finished = 0;
  for (Block& b : world.blocks)
    for (Thread& t : b.threads) {
      if (t.state == State::finished) {
        ++finished;
        continue;
      }
      ++waiting;
      auto same = [&](const Group& g) {
        const Wait &a = g.first->wait, &w = t.wait;
        return g.first->block == t.block && a.where.line == w.where.line && a.object == w.object && std::string(a.what) == w.what &&
               g.first->state == t.state;
      };
      auto it = std::find_if(groups.begin(), groups.end(), same);
      if (it == groups.end()) groups.push_back({&t, {&t}});
      else it->threads.push_back(&t);
    }
  auto warps = [](const Group& g) {
    std::map<unsigned, unsigned> lanes;
    for (const Thread* t : g.threads) ++lanes[t->rank / 32];
    std::string r = lanes.size() > 1 ? "warps " : "warp ";
    const char* comma = "";
    for (auto it = lanes.begin(); it != lanes.end();) {  // ranges of whole warps
      auto last = it;
      while (std::next(last) != lanes.end() && std::next(last)->first == last->first + 1 && std::next(last)->second == it->second) ++last;
      r += comma + text("%u", it->first) + (last != it ? text("-%u", last->first) : "");
      if (it->second != 32 && world.config.threads() % 32 == 0)
        r += it->second == 1 ? text(" (lane %u only)", g.threads.front()->rank % 32) : text(" (%u lanes)", it->second);
      comma = ", ";
      it = std::next(last);
    }
    return world.config.blocks() > 1 ? text("block %llu ", (unsigned long long)g.first->block->number) + r : r;
  };
  auto many = [](const Group& g) {
    return std::any_of(g.threads.begin(), g.threads.end(), [&](const Thread* t) { return t->rank / 32 != g.first->rank / 32; });
  };
  // Speak of the group that explains most: a barrier with arrivals missing, before one that merely waits behind it.
  auto rank = [](const Group& g) { return wait_priority(g.first); };
  std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) { return rank(a) > rank(b); });
  const Group& g = groups.front();
  FaultReport f;
  f.kind = "deadlock";
  std::string state = describe_wait(g.first, f.hint);
  f.message = text("%s %s for ever: %s", warps(g).c_str(), waiting_place(g.first, many(g)).c_str(), state.c_str());
  if (spinning && g.first->state == State::ready && !g.first->wait.object) {
    f.message = text("%s %s memory in an endless loop: no other thread will change what it waits for", warps(g).c_str(), many(g) ? "poll" : "polls");
    f.hint = "the thread that should set the flag waits itself, has finished, or belongs to a block that starts only when this one ends";
  }
  if (g.first->wait.object) f.object = name_of(g.first->wait.object);
  if (f.object.rfind("address", 0) == 0) f.object.clear();
  f.place = place_of(g.first, g.first->wait.where);
  for (std::size_t i = 1; i < groups.size() && i < 8; ++i) {
    std::string unused, detail = describe_wait(groups[i].first, unused);
    f.others.push_back(place_of(groups[i].first, groups[i].first->wait.where,
                                warps(groups[i]) + " " + waiting_place(groups[i].first, many(groups[i])) + (detail.empty() ? "" : ": " + detail)));
  }
  f.stack_of = g.first;
  if (finished) f.others.push_back({0, -1, -1, -1, text("%u thread%s finished", finished, finished == 1 ? " has" : "s have")});
  stop(std::move(f));
}

void run_gang(unsigned first_block, unsigned count) {
  Config& c = world.config;
  ++world.gang;
  world.copy_owner.clear();
  unsigned threads = c.threads();
  if (unsigned n = threads * count, have = unsigned(stacks.size()); have < n) {
    unsigned char* base = make_stacks(n - have);
    for (unsigned i = 0; i < n - have; ++i) stacks.push_back(base + (kStack + 4096) * i + 4096);
  }
  if (world.blocks.size() != count) world.blocks.resize(count);
  world.alive = threads * count;
  world.ready.clear();
  reset_barriers();
  for (unsigned b = 0; b < count; ++b) {
    Block& block = world.blocks[b];
    block = Block{};
    block.rank = b;
    // Blocks of a cluster are neighbours in x, then y, then z.
    unsigned clusters_x = c.grid.x / c.cluster.x, clusters_y = c.grid.y / c.cluster.y;
    unsigned n = first_block + b, cluster = n / c.cluster_size(), inside = n % c.cluster_size();
    block.index = {cluster % clusters_x * c.cluster.x + inside % c.cluster.x,
                   cluster / clusters_x % clusters_y * c.cluster.y + inside / c.cluster.x % c.cluster.y,
                   cluster / clusters_x / clusters_y * c.cluster.z + inside / c.cluster.x / c.cluster.y};
    block.number = block.index.x + std::uint64_t(c.grid.x) * (block.index.y + std::uint64_t(c.grid.y) * block.index.z);
    block.alive = threads;
    open_slab(block, b);
    block.threads.resize(threads);
    for (unsigned i = 0; i < threads; ++i) {
      Thread& t = block.threads[i];
      t.block = &block;
      t.rank = i;
      t.finished_gangs = world.finished_gangs;
      t.agent = b * threads + i;
      t.index = {i % c.block.x, i / c.block.x % c.block.y, i / c.block.x / c.block.y};
      t.stack = stacks[t.agent];
      t.sp = fiber_prepare(t.stack, kStack, fiber_main);
      t.countdown = 1 + int(world.random() % 400);
      world.ready.push_back(&t);
    }
  }
  while (world.alive) {
    if (world.ready.empty()) {
      if (!deliver_one()) deadlock(false);
      continue;
    }
    // Seed 0 keeps launch order; others draw, now and then running one thread until it cannot go on.
    std::size_t pick = c.seed ? world.random() % world.ready.size() : 0;
    Thread* t = world.ready[pick];
    if (c.seed) world.ready[pick] = world.ready.back(), world.ready.pop_back();
    else world.ready.erase(world.ready.begin());
    switch_to(t);
  }
  check_collectives();
}

}  // namespace

Thread* thread_of(Agent a) {
  unsigned threads = world.config.threads();
  std::size_t live = threads * world.blocks.size();
  if (a >= live) a = world.copy_owner[a - live];
  return &world.blocks[a / threads].threads[a % threads];
}

void block_current(const Wait& why) {
  Thread* t = current;
  t->wait = why;
  t->state = State::blocked;
  settle_warp(*t->block, t->rank / 32);
  if (t->state == State::ready) {  // it was the last lane that its gathering waited for
    auto it = std::find(world.ready.begin(), world.ready.end(), t);
    if (it != world.ready.end()) world.ready.erase(it);
    return;
  }
  std::uint64_t start = t->time;
  ws_fiber_switch(&t->sp, scheduler_sp);
  if (world.config.trace && t->rank % 32 == 0 && t->time > start)
    add_span(t, "wait", start, t->time, -1, std::string(why.what) + (why.object ? " " + describe_barrier(why.object) : ""));
}

void wake(Thread* t) {
  if (t->state != State::blocked) return;
  t->state = State::ready;
  world.ready.push_back(t);
}

void yield() { poll({"a loop", nullptr, 0, Where{"", 0}}); }

// A thread that keeps polling while nothing changes is spinning for ever.
void poll(const Wait& what) {
  Thread* t = current;
  if (!t) return;
  t->wait = what;
  t->countdown = world.config.seed ? 1 + int(world.random() % 400) : 1 << 30;
  if (t->progress_seen == world.progress) {
    if (++t->idle_spins > 2000) {
      bool all_spin = true;
      for (Thread* other : world.ready) all_spin &= other->idle_spins > 1000 && other->progress_seen == world.progress;
      if (all_spin) {
        if (!deliver_one()) deadlock(true);
        while (deliver_one()) {  // everything that is on its way: nobody does anything else meanwhile
        }
        t->idle_spins = 1900;
      }
    }
  } else {
    t->progress_seen = world.progress;
    t->idle_spins = 0;
  }
  world.ready.push_back(t);
  ws_fiber_switch(&t->sp, scheduler_sp);
}

void maybe_yield() {
  Thread* t = current;
  t->countdown = world.config.seed ? 1 + int(world.random() % 400) : 1 << 30;
  if (!world.config.seed || world.ready.empty()) return;
  world.ready.push_back(t);
  ws_fiber_switch(&t->sp, scheduler_sp);
}

void thread_exit() {
  Thread* t = current;
  if (t->guess) report_guess(t);
  t->state = State::finished;
  --world.alive;
  --t->block->alive;
  ++world.progress;
  if (world.config.cluster_size() > 1 || !t->block->remote.empty()) {
    t->block->at_exit.join(t->clocks.know);
    t->block->at_exit.learn(t->agent, t->clock);
    if (!t->block->alive) check_remote_accesses(*t->block);
  }
  if (!t->block->alive) check_registers(*t->block);
  thread_left(t);
  ws_fiber_switch(&t->sp, scheduler_sp);
  __builtin_unreachable();
}

void run_grid() {
  Config& c = world.config;
  blockDim = {c.block.x, c.block.y, c.block.z};
  gridDim = {c.grid.x, c.grid.y, c.grid.z};
  unsigned gang = c.cooperative ? c.blocks() : c.cluster_size();
  for (unsigned first = 0; first < c.blocks(); first += gang) run_gang(first, gang);
}

// griddepcontrol.wait: the launch before has finished and its writes are visible (PTX ISA, "griddepcontrol").
void grid_dependency_wait() { current->finished_gangs = world.finished_after_wait; }

unsigned thread_rank() { return current->rank; }
unsigned block_threads() { return world.config.threads(); }
unsigned cluster_rank() { return current->block->rank % world.config.cluster_size(); }
unsigned cluster_blocks() { return world.config.cluster_size(); }
bool is_cooperative() { return world.config.cooperative; }
std::uint64_t logical_time() { return current->time; }

void span(int work, int item, bool begin) {
  Thread* t = current;
  if (!world.config.trace || t->rank % 32) return;
  static const char* const names[] = {"load", "compute", "store"};
  if (begin) t->span_start = t->time;
  else add_span(t, names[work], t->span_start, t->time, item, "");
}

}  // namespace ws_emu
