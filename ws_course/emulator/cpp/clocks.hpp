// Who knows what of whom: vector clocks for the happens-before relation (Flanagan & Freund, "FastTrack", PLDI 2009).
// A thread's knowledge is an immutable vector that many threads share (the state after a barrier) plus a few newer
// entries of its own, so that a barrier of n threads costs n, not n*n.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace ws_emu {

using Clock = std::uint32_t;
using Agent = std::uint32_t;  // a thread, or the asynchronous unit that copies on its behalf
using Vector = std::vector<Clock>;

inline Clock at(const Vector& v, Agent a) { return a < v.size() ? v[a] : 0; }
inline void raise(Vector& v, Agent a, Clock c) {
  if (a >= v.size()) v.resize(a + 1, 0);
  if (v[a] < c) v[a] = c;
}
inline void raise(Vector& v, const Vector& other) {
  if (v.size() < other.size()) v.resize(other.size(), 0);
  for (std::size_t i = 0; i < other.size(); ++i) v[i] = v[i] < other[i] ? other[i] : v[i];
}

// A vector that many threads share and nobody changes. Counted by hand: there is one host thread, and the count is touched at
// every barrier.
class Frozen {
 public:
  Frozen() = default;
  explicit Frozen(const Vector& v) : block_(static_cast<Block*>(std::malloc(sizeof(Block) + v.size() * sizeof(Clock)))) {
    block_->uses = 1;
    block_->size = std::uint32_t(v.size());
    std::memcpy(data(), v.data(), v.size() * sizeof(Clock));
  }
  Frozen(const Frozen& o) : block_(o.block_) {
    if (block_) ++block_->uses;
  }
  Frozen(Frozen&& o) noexcept : block_(o.block_) { o.block_ = nullptr; }
  Frozen& operator=(Frozen o) noexcept {
    std::swap(block_, o.block_);
    return *this;
  }
  ~Frozen() {
    if (block_ && --block_->uses == 0) std::free(block_);
  }
  explicit operator bool() const { return block_; }
  bool operator==(const Frozen& o) const { return block_ == o.block_; }
  bool operator!=(const Frozen& o) const { return block_ != o.block_; }
  bool operator<(const Frozen& o) const { return block_ < o.block_; }
  Clock of(Agent a) const { return block_ && a < block_->size ? data()[a] : 0; }
  std::size_t size() const { return block_ ? block_->size : 0; }
  Vector copy() const { return block_ ? Vector(data(), data() + block_->size) : Vector{}; }
  void raise(Vector& v) const {
    if (v.size() < size()) v.resize(size(), 0);
    for (std::size_t i = 0; i < size(); ++i) v[i] = v[i] < data()[i] ? data()[i] : v[i];
  }

 private:
  struct Block {
    std::uint32_t uses, size;
  };
  Clock* data() const { return reinterpret_cast<Clock*>(block_ + 1); }
  Block* block_ = nullptr;
};

struct Knowledge {
  struct Entry {
    Agent agent;
    Clock clock;
  };
  Frozen base;
  std::vector<Entry> newer;
  std::shared_ptr<const std::map<std::uint32_t, Vector>> foreign;  // other gangs of blocks, by number

  Clock of(Agent a) const {
    Clock c = base.of(a);
    for (const Entry& e : newer)
      if (e.agent == a && e.clock > c) c = e.clock;
    return c;
  }
  void learn(Agent a, Clock c) {
    if (of(a) >= c) return;
    for (Entry& e : newer)
      if (e.agent == a) {
        e.clock = c;
        return;
      }
    newer.push_back({a, c});
    if (newer.size() > 24) flatten();
  }
  void flatten() {
    Vector v = dense();
    base = Frozen(v);
    newer.clear();
  }
  void join(const Knowledge& k) {
    if (k.base && k.base != base) {
      bool less = true, more = true;  // than k.base
      if (base) {
        std::size_t n = base.size() < k.base.size() ? k.base.size() : base.size();
        for (std::size_t i = 0; i < n && (less || more); ++i) {
          Clock mine = base.of(Agent(i)), theirs = k.base.of(Agent(i));
          less &= mine <= theirs;
          more &= mine >= theirs;
        }
      }
      if (!base || less) {
        base = k.base;
      } else if (!more) {
        Vector v = base.copy();
        k.base.raise(v);
        base = Frozen(v);
      }
    }
    for (const Entry& e : k.newer) learn(e.agent, e.clock);
    join_foreign(k.foreign);
  }
  void join_foreign(const std::shared_ptr<const std::map<std::uint32_t, Vector>>& f) {
    if (!f || f == foreign) return;
    if (!foreign) {
      foreign = f;
      return;
    }
    auto m = std::make_shared<std::map<std::uint32_t, Vector>>(*foreign);
    for (const auto& [gang, v] : *f) raise((*m)[gang], v);
    foreign = std::move(m);
  }
  Vector dense() const {
    Vector v = base.copy();
    for (const Entry& e : newer) raise(v, e.agent, e.clock);
    return v;
  }
};

// Gathers the knowledge of everybody who arrives at a barrier. Adding a thread costs O(1) while all share one base.
class Gathering {
 public:
  void add(const Knowledge& k, Agent self, Clock clock) {
    if (k.base && k.base != last_) {
      last_ = k.base;
      if (merged_.insert(k.base).second) k.base.raise(sum_);
    }
    for (const Knowledge::Entry& e : k.newer) raise(sum_, e.agent, e.clock);
    raise(sum_, self, clock);
    foreign_.join_foreign(k.foreign);
  }
  Knowledge freeze() {
    Knowledge k;
    k.base = Frozen(sum_);
    k.foreign = foreign_.foreign;
    sum_.clear();
    last_ = Frozen{};
    merged_.clear();
    foreign_.foreign.reset();
    return k;
  }

 private:
  Vector sum_;
  Frozen last_;
  std::set<Frozen> merged_;  // bases that are part of the sum already
  Knowledge foreign_;
};

// What a thread hands on when it synchronises. `proxied`: the generic writes that a proxy fence has made visible to the
// asynchronous proxy; `fenced`: those that a __threadfence has made visible to the device, which a relaxed atomic publishes.
struct Clocks {
  Knowledge know, proxied, fenced;
  // For a thread that has handed in all it knew and learned nothing since.
  void adopt(const Clocks& c) {
    know.base = c.know.base;
    know.newer.clear();
    know.foreign = c.know.foreign;
    if (c.proxied.base || !c.proxied.newer.empty()) proxied = c.proxied;
    if (c.fenced.base || !c.fenced.newer.empty()) fenced = c.fenced;
  }
  void join(const Clocks& c) {
    know.join(c.know);
    if (c.proxied.base || !c.proxied.newer.empty()) proxied.join(c.proxied);
    if (c.fenced.base || !c.fenced.newer.empty()) fenced.join(c.fenced);
  }
};

class Meeting {  // a Gathering of all three
 public:
  void add(const Clocks& c, Agent self, Clock clock) {
    know_.add(c.know, self, clock);
    side(c.proxied, proxied_);
    side(c.fenced, fenced_);
  }
  Clocks freeze() {
    Clocks c;
    c.know = know_.freeze();
    c.proxied = proxied_;
    c.fenced = fenced_;
    proxied_ = fenced_ = Knowledge{};
    return c;
  }

 private:
  static void side(const Knowledge& from, Knowledge& to) {
    if (from.base || !from.newer.empty()) to.join(from);
  }
  Gathering know_;
  Knowledge proxied_, fenced_;
};

}  // namespace ws_emu
