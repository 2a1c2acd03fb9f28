// mbarriers: phases, pending arrivals and pending transaction bytes (PTX ISA, "Parallel Synchronization and Communication
// Instructions: mbarrier"). Kept in a table by address; the object in memory holds nothing but poison.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "copies.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "world.hpp"

namespace ws_emu {
namespace {

struct MBarrier {
  std::uint32_t expected = 0, next_expected = 0;
  std::int64_t pending = 0, bytes = 0;
  std::uint64_t phase = 0;
  Meeting meeting;
  Clocks completed;
  std::uint64_t time = 0, completed_time = 0;
  std::vector<Thread*> waiting;
  std::vector<std::pair<const Thread*, Where>> arrivals;  // of this phase
  const char* what = "";
  const char* role = nullptr;  // of a pipeline's stage: "full" or "empty"
  int stage = 0;
  const void* owner = nullptr;
  bool unified = false;
  bool passed_first = false;  // somebody has passed a wait for the phase before the first, as a producer does
  std::vector<bool> ever;  // which threads have arrived in any phase
  Where where{"", 0};
};

std::unordered_map<const void*, MBarrier> table;
std::unordered_map<const void*, std::vector<Thread*>> too_early;  // used before the initialisation

std::string barrier_name(const void* bar, const MBarrier* b) {
  if (b && b->role) {
    std::string pipe = b->owner ? variable_of(b->owner) : "";
    return text("stage %d of the pipeline `%s` (%s)", b->stage, pipe.c_str(), b->role);
  }
  return "`" + name_of(bar) + "`";
}

// Finds the barrier; a thread that comes before the initialisation waits for it and is reported when it happens.
MBarrier& find(void* bar, const char* what, Where w, bool will_be_told = false) {
  auto it = table.find(bar);
  if (it == table.end()) {
    too_early[bar].push_back(current);
    block_current({what, bar, 0, w});
    it = table.find(bar);
  }
  AccessKind kind;
  kind.barrier = true;
  kind.will_be_told = will_be_told;
  check_access(current, bar, 8, kind, site_of(w));
  return it->second;
}

void complete_if_due(MBarrier& b) {
  if (b.pending || b.bytes) return;
  ++b.phase;
  b.expected = b.next_expected;
  b.pending = b.expected;
  b.completed = b.meeting.freeze();
  b.completed_time = b.time;
  b.arrivals.clear();
  ++world.progress;
  std::vector<Thread*> waiting = std::move(b.waiting);
  b.waiting.clear();
  for (Thread* t : waiting) {
    t->time = std::max(t->time, b.time);
    wake(t);
  }
}

void acquire(Thread* t, const MBarrier& b) {
  t->has_role = true;
  t->clocks.join(b.completed);
  t->time = std::max(t->time, b.completed_time);
}

}  // namespace

void mbar_init(void* bar, std::uint32_t expected, const char* what, Where w) {
  Thread* t = current;
  if (expected == 0 || expected > (1u << 20) - 1)
    stop({"barrier-misuse", text("%s initialises %s with a count of %u: it must be 1 to 1048575", who(t).c_str(), name_of(bar).c_str(), expected),
          "the count is the number of arrivals that complete a phase", name_of(bar), place_of(t, w), {}, {}});
  AccessKind kind;
  kind.write = true;
  check_access(t, bar, 8, kind, site_of(w));
  MBarrier& b = table[bar];
  b = MBarrier{};
  b.expected = b.next_expected = expected;
  b.pending = expected;
  b.what = what;
  b.where = w;
  auto it = too_early.find(bar);
  if (it == too_early.end()) return;
  for (Thread* early : it->second) wake(early);
  too_early.erase(it);
}

void mbar_inval(void* bar, Where w) {
  find(bar, "mbarrier.inval", w);
  AccessKind kind;
  kind.write = true;
  check_access(current, bar, 8, kind, site_of(w));
  table.erase(bar);
}

void mbar_label(void* bar, const char* role, int stage, const void* owner, bool unified) {
  MBarrier& b = table[bar];
  b.role = role;
  b.stage = stage;
  b.owner = owner;
  b.unified = unified;
}

std::uint64_t mbar_arrive(void* bar, std::uint32_t count, const char* what, Where w, bool drop, bool release) {
  Thread* t = current;
  MBarrier& b = find(bar, what, w);
  if (count > b.pending)
    stop({"barrier-misuse",
          text("%s arrives %u times on %s, but only %lld of %u arrivals are pending in this phase", who(t).c_str(), count,
               barrier_name(bar, &b).c_str(), (long long)b.pending, b.expected),
          "the count given at initialisation is smaller than the number of arrivals per phase", name_of(bar), place_of(t, w),
          {place_of(nullptr, b.where, "initialised here")}, {}});
  std::uint64_t token = b.phase;
  if (release) release_to(b.meeting, t);
  b.time = std::max(b.time, t->time);
  b.arrivals.push_back({t, w});
  if (t->agent >= b.ever.size()) b.ever.resize(t->agent + 1);
  b.ever[t->agent] = true;
  b.pending -= count;
  if (drop) b.next_expected -= count;
  complete_if_due(b);
  if (--t->countdown <= 0) maybe_yield();
  return token;
}

// An arrival by the asynchronous unit, once the copies up to `clock` are done.
void mbar_async_arrive(void* bar, Agent copier, Clock clock, std::uint64_t time) {
  auto it = table.find(bar);
  if (it == table.end()) return;
  MBarrier& b = it->second;
  b.meeting.add(Clocks{}, copier, clock);
  b.time = std::max(b.time, time);
  b.pending -= 1;
  complete_if_due(b);
}
void mbar_touch(void* bar, const char* what, Where w) { find(bar, what, w, true); }
void mbar_async_complete(void* bar, std::int64_t bytes, Agent copier, Clock clock, std::uint64_t time) {
  auto it = table.find(bar);
  if (it == table.end()) return;
  MBarrier& b = it->second;
  b.meeting.add(Clocks{}, copier, clock);
  b.time = std::max(b.time, time);
  b.bytes -= bytes;
  complete_if_due(b);
}
void mbar_add_pending(void* bar, Where w) { ++find(bar, "cp.async.mbarrier.arrive", w).pending; }

void mbar_expect_tx(void* bar, std::int64_t bytes, Where w) { find(bar, "mbarrier.expect_tx", w).bytes += bytes; }
void mbar_complete_tx(void* bar, std::int64_t bytes, Where w) {
  MBarrier& b = find(bar, "mbarrier.complete_tx", w);
  b.bytes -= bytes;
  complete_if_due(b);
}

bool mbar_test(void* bar, std::uint64_t token, const char* what, Where w) {
  MBarrier& b = find(bar, what, w);
  bool done = b.phase > token;
  if (done) acquire(current, b);
  else poll({what, bar, token, w});
  return done;
}
static void passed(MBarrier& b) {
  b.passed_first |= b.phase == 0;
  acquire(current, b);
}
bool mbar_test_parity(void* bar, unsigned parity, const char* what, Where w) {
  MBarrier& b = find(bar, what, w);
  bool done = (b.phase & 1) != (parity & 1);
  if (done) passed(b);
  else poll({what, bar, b.phase, w});
  return done;
}

void mbar_wait(void* bar, std::uint64_t token, const char* what, Where w) {
  MBarrier& b = find(bar, what, w);
  while (b.phase <= token) {
    b.waiting.push_back(current);
    block_current({what, bar, token, w});
  }
  acquire(current, b);
}
void mbar_wait_parity(void* bar, unsigned parity, const char* what, Where w) {
  MBarrier& b = find(bar, what, w);
  while ((b.phase & 1) == (parity & 1)) {
    b.waiting.push_back(current);
    block_current({what, bar, b.phase, w});
  }
  passed(b);
}

void reset_mbarriers() {
  for (auto it = table.begin(); it != table.end();) it = is_shared(it->first) ? table.erase(it) : std::next(it);
  too_early.clear();
}

std::string describe_barrier(const void* object) {
  auto it = table.find(object);
  if (it == table.end() && !too_early.count(object)) return "";
  return barrier_name(object, it == table.end() ? nullptr : &it->second);
}

namespace {

// What has become of the threads that arrived at this barrier, or at the same one of another stage, in earlier phases.
enum class Arrivers { none, finished, alive };
Arrivers arrivers_of(const MBarrier& b, const void* owner) {
  bool any = false;
  for (auto& [address, other] : table) {
    if (&other != &b && (!owner || other.owner != owner || std::string(other.role) != b.role)) continue;
    for (Agent a = 0; a < other.ever.size(); ++a) {
      if (!other.ever[a]) continue;
      any = true;
      if (thread_of(a)->state != State::finished) return Arrivers::alive;
    }
  }
  return any ? Arrivers::finished : Arrivers::none;
}

const char* mbarrier_hint(const MBarrier& b, long long arrived) {
  if (b.bytes) return "the bytes announced with expect_tx must equal the bytes that the copies of this phase really move";
  if (b.owner && b.unified && arrived > 0)
    return "all four calls of a unified pipeline are calls of the whole group: inside `if (role)` the other threads never arrive. For roles, make a "
           "partitioned pipeline (with a producer count or pipeline_role)";
  if (arrived > 0) return "the count given at initialisation (for a pipeline: the threads of the role) includes threads that do not arrive in every round";
  Arrivers who = arrivers_of(b, b.owner);
  if (who == Arrivers::finished)
    return "the threads that arrive here have finished: the loops of both sides must run the same number of rounds";
  bool full = b.role && std::string(b.role) == "full";
  if (full)
    return who == Arrivers::none ? "nobody has committed this stage: every producer_acquire needs its producer_commit, in every round"
                                 : "the producers wait themselves, or leave out a producer_commit in some round";
  if (b.role && b.unified)
    return "the slot is still occupied: its consumer_release comes later, in a thread that waits itself, or never. Give the pipeline as many stages as "
           "acquires may be outstanding";
  if (b.role)
    return "the slot is still occupied: every consumer_wait needs its consumer_release, in every round";
  if (b.phase == 0 && b.passed_first)
    return "if this barrier says that a slot is empty: the first round passed, since slots start empty, and nobody has released the slot since: "
           "every wait for a full slot needs its arrival at empty, in every round";
  if (b.phase == 0)
    return "if this barrier says that a slot is empty: slots start empty, so the producer's first wait must use parity 1 (the phase before the "
           "first counts as complete); otherwise nobody arrives for the first time";
  return "an arrival is missing in some round, or the waiter is one phase ahead: count arrivals per phase against the count given at initialisation";
}

}  // namespace

// How many arrivals the phase still needs if nobody has come in it, else 0.
unsigned mbarrier_missing(const void* bar) {
  auto it = table.find(bar);
  return it == table.end() || it->second.pending < it->second.expected ? 0 : it->second.pending;
}

// How much a wait at this barrier explains of a deadlock: a barrier that some have reached and others not, most.
int mbarrier_priority(const void* bar) {
  auto it = table.find(bar);
  if (it == table.end()) return 12;  // never initialised: no arrival can ever help
  const MBarrier& b = it->second;
  bool some = b.pending < b.expected, full = b.role && std::string(b.role) == "full";
  // Those who arrived here before have finished: no help can come. Elsewhere they only wait themselves.
  if (!some && !b.bytes && arrivers_of(b, b.owner) == Arrivers::finished) return 6;
  if (b.bytes < 0) return 9;  // more bytes have landed than were announced
  // A slot that was filled once and not released waits behind a barrier that nobody has ever passed.
  bool never = !b.owner && b.phase == 0 && !b.passed_first;
  return some && b.unified ? 10 : some ? 8 : b.bytes ? 7 : full || never ? 5 : 4;
}

// A barrier made by hand at which more threads arrive than it counts: its phases run ahead of the rounds, and what shows
// is a race or a hang somewhere else. Empty if there is none.
std::string overcounted_barrier() {
  const void* found = nullptr;
  for (auto& [bar, b] : table)
    if (!b.owner && std::count(b.ever.begin(), b.ever.end(), true) > long(b.expected) && (!found || bar < found)) found = bar;
  if (!found) return "";
  const MBarrier& b = table.at(found);
  return text("more than %u threads arrive at %s, which counts %u: its phases run ahead of the rounds", b.expected, barrier_name(found, &b).c_str(),
              b.expected);
}

std::string describe_mbarrier_wait(const Thread* t, std::string& hint) {
  const void* bar = t->wait.object;
  auto it = table.find(bar);
  if (it == table.end()) {
    if (!too_early.count(bar)) return "";
    hint = "one thread initialises the barriers, then a block barrier, then everybody may use them";
    return "nobody has initialised it";
  }
  const MBarrier& b = it->second;
  auto arrived = (long long)b.expected - (long long)b.pending;
  std::string r = text("%lld of %u arrivals of phase %llu have come, %lld %s missing", arrived, b.expected, (unsigned long long)b.phase,
                       (long long)b.pending, b.pending == 1 ? "is" : "are");
  if (b.bytes > 0) r += text(", and %lld announced bytes have not landed", (long long)b.bytes);
  if (b.bytes < 0) r += text(", and %lld bytes more have landed than were announced", (long long)-b.bytes);
  std::map<unsigned, unsigned> warps;
  for (auto& [who_came, where] : b.arrivals) ++warps[who_came->rank / 32];
  if (!warps.empty()) {
    r += warps.size() > 1 ? " (came: warps" : " (came: warp";
    const char* comma = " ";
    for (auto& [warp, n] : warps) r += text("%s%u", comma, warp), comma = ", ";
    r += ")";
  }
  hint = mbarrier_hint(b, arrived);
  return r;
}

}  // namespace ws_emu
