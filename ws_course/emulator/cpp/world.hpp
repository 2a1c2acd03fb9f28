// The state of one launch: threads, warps, blocks and the gang of blocks that live together.
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "clocks.hpp"
#include "ws_emu/api.h"

namespace ws_emu {

struct Vec3 {
  unsigned x, y, z;
};

struct Block;

enum class State : std::uint8_t { ready, blocked, finished };

// Why a thread does not run, for the deadlock report.
struct Wait {
  const char* what = "";      // the call: "__syncthreads", "consumer_wait"
  const void* object = nullptr;  // the barrier's address or key
  std::uint64_t phase = 0;
  Where where{"", 0};
};

struct Thread {
  void* sp = nullptr;
  unsigned char* stack = nullptr;
  Block* block = nullptr;
  Agent agent = 0;  // index in the gang
  unsigned rank = 0;  // in the block
  std::uint32_t finished_gangs = 0;  // all that their threads did happened before
  Vec3 index{};
  State state = State::ready;
  Wait wait;
  Clock clock = 1;
  Clocks clocks;
  Knowledge observed;  // what relaxed loads saw, acquired by the next __threadfence
  std::uint64_t time = 0;  // logical clock: one tick per memory access, raised by waits
  int countdown = 0;       // accesses until the next involuntary switch
  std::uint64_t idle_spins = 0;
  std::uint64_t progress_seen = 0;
  struct Copier {  // one asynchronous unit per thing that is waited for: the thread's cp.async groups, each mbarrier
    const void* waited_on;
    Agent agent;
    Clock clock;
  };
  const void* guess = nullptr;  // a plain read of an atomic: no fault if a compare-and-swap there follows at once
  std::vector<Copier> copiers;
  std::vector<std::uint32_t> open_copies;         // cp.async not yet committed
  std::vector<std::vector<std::uint32_t>> groups;  // committed groups, oldest first
  unsigned together = 0;  // the mask that the last gathering found
  bool has_role = false;  // it has passed a wait at an mbarrier
  std::uint64_t span_start = 0;
};

struct Rendezvous {  // of some lanes of one warp
  unsigned mask = 0;
  unsigned here = 0;
  bool orders_memory = false;
  std::uint64_t round = 0;
  const char* what = "";
  Where where{"", 0};
  std::uint64_t values[2][32] = {};  // of this round and the one before
  unsigned came[2] = {};
  std::vector<Thread*> waiting;
  Meeting meeting;
};

struct BlockBarrier {  // one of the 16 named barriers
  unsigned arrived = 0, expected = 0;
  std::uint64_t round = 0;
  int reduced[2] = {};
  int accumulating = 0;
  std::vector<Thread*> waiting;
  std::vector<std::pair<unsigned, Where>> who;  // rank and call site of this round
  Meeting meeting;
  std::uint64_t time = 0;
};

struct Remote {  // the latest access of another block's thread to this block's shared memory
  Clock clock;
  std::uint32_t site;
};

struct Block {
  unsigned rank = 0;  // in the gang
  std::uint64_t number = 0;  // in the grid
  Vec3 index{};
  unsigned char* slab = nullptr;
  std::vector<Thread> threads;
  unsigned alive = 0;
  std::map<Agent, Remote> remote;
  Knowledge at_exit;  // what the finished threads knew: the block's memory lives until all of this has happened
  BlockBarrier barriers[16];
  std::list<Rendezvous> rendezvous[32];  // per warp, one for each mask in use
  std::vector<std::pair<Thread*, int>> gathering[32];  // per warp: lanes that wait to learn who runs with them, and where
};

struct Config {
  Vec3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::size_t dynamic = 0;
  bool cooperative = false, trace = false;
  unsigned seed = 1;
  unsigned blocks() const { return grid.x * grid.y * grid.z; }
  unsigned threads() const { return block.x * block.y * block.z; }
  unsigned cluster_size() const { return cluster.x * cluster.y * cluster.z; }
};

// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016): a draw at every switch.
class Random {
 public:
  void seed(std::uint64_t s) { state_ = s * 0x9e3779b97f4a7c15u + 1; }
  std::uint32_t operator()() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return std::uint32_t((state_ * 0x2545f4914f6cdd1du) >> 32);
  }

 private:
  std::uint64_t state_ = 1;
};

struct World {
  Config config;
  std::uint32_t gang = 0;  // number of the gang that lives now, from 1
  std::vector<Block> blocks;
  std::vector<Thread*> ready;
  std::vector<Agent> copy_owner;  // of agents beyond the threads
  // Gangs up to this number have finished before this launch's threads start; a dependent launch that overlaps the one
  // before it learns of that one's end only when it waits for it.
  std::uint32_t finished_gangs = 0, finished_after_wait = 0;
  unsigned alive = 0;
  std::uint64_t progress = 0;  // grows with everything that could let a spinning thread go on
  std::uint64_t switches = 0;
  Random random;
  const Entry* entry = nullptr;
  std::vector<void*> arguments;
};

constexpr std::size_t kStack = 64u << 10;  // of a fiber

extern World world;
extern Thread* current;

// Scheduling (scheduler.cpp).
void run_grid();
void block_current(const Wait& why);  // returns when somebody wakes the thread
void wake(Thread* t);
void maybe_yield();
void relaxed_access(const void* p, bool write);  // what a relaxed atomic publishes or learns (atomics.cpp)
void poll(const Wait& what);  // gives the others a turn, in a loop that looks at something again and again

// Everything the thread did so far happens before whatever the meeting releases; what it does next does not.
inline void release_to(Meeting& m, Thread* t) { m.add(t->clocks, t->agent, t->clock++); }
inline Thread::Copier& copier_of(Thread* t, const void* waited_on) {
  for (Thread::Copier& c : t->copiers)
    if (c.waited_on == waited_on) return c;
  t->copiers.push_back({waited_on, Agent(world.blocks.size() * world.config.threads() + world.copy_owner.size()), 1});
  world.copy_owner.push_back(t->agent);
  return t->copiers.back();
}
Thread* thread_of(Agent a);  // the thread, or the owner of the copy agent

}  // namespace ws_emu
