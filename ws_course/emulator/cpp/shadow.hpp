// The shadow of device memory: one cell for every 4 bytes, and the quick path of an access, which most accesses take.
#pragma once
#include "memory.hpp"
#include "report.hpp"
#include "world.hpp"

namespace ws_emu {

constexpr std::size_t kPage = 4096;

// The last access of one kind: who, when, where. `gang` 0 means none.
struct Record {
  std::uint32_t gang;
  std::uint32_t agent : 24, mask : 4, atomic : 1, write : 1, unused : 2;
  Clock clock;
  SiteId site;
};

struct Cell {
  Record last_write, last_read;
  std::uint32_t more;         // index of further records, 0: none
  std::uint8_t initialised;   // one bit per byte
};

// Records that do not fit a cell: several concurrent readers, writers of different bytes. A cell keeps its list for ever.
class RecordList {  // a vector whose push is inlined: one happens at most reads of shared memory
 public:
  void push_back(const Record& r) {
    if (count_ == room_) grow();
    at_[count_++] = r;
  }
  Record* begin() { return at_; }
  Record* end() { return at_ + count_; }
  std::size_t size() const { return count_; }
  void clear() { count_ = 0; }
  void cut(Record* from) { count_ = std::uint32_t(from - at_); }

 private:
  __attribute__((noinline)) void grow() {
    room_ = room_ ? 2 * room_ : 16;
    at_ = static_cast<Record*>(std::realloc(at_, room_ * sizeof(Record)));  // kept as long as its cell: never freed
  }
  Record* at_ = nullptr;
  std::uint32_t count_ = 0, room_ = 0;
};
extern std::vector<RecordList> overflow;
inline RecordList& more_of(Cell& c) {
  if (!c.more) {
    c.more = std::uint32_t(overflow.size());
    overflow.emplace_back();
  }
  return overflow[c.more];
}

struct Variable {
  std::size_t offset, bytes;
  std::string name;
  Shape shape;
};

struct Member {
  const unsigned char* at;
  std::size_t bytes;
  std::string name;
  Shape shape;
};

struct SharedArena {
  unsigned char* base = nullptr;
  Cell* cells = nullptr;
  std::size_t bytes = 0;
  std::vector<Variable> variables;
  std::vector<std::uint16_t> owner = std::vector<std::uint16_t>(kSlab / 4, 0);  // variable number + 1, same in every slab
  std::vector<Member> members;  // offsets relative to a slab, in `at`
  std::size_t next = 1024, counted = 0, dynamic = 0, dynamic_offset = 0;
};
extern SharedArena shared;

struct Buffer {
  std::size_t offset, bytes, element;
  std::string name;
};

struct GlobalArena {
  unsigned char* base = nullptr;
  Cell* cells = nullptr;
  std::size_t bytes = 0;
  std::vector<Buffer> buffers;
  std::vector<std::uint16_t> owner;  // per page: buffer number + 1
};
extern GlobalArena global;

// The __device__ variables of the loaded kernel, in its own data segment.
struct DeviceArena {
  unsigned char* base = nullptr;
  Cell* cells = nullptr;
  std::size_t bytes = 0;
  std::vector<Variable> variables;  // by offset
};
extern DeviceArena device;


// Whether the access of a record is ordered before what `t` does now. A thread's own copies are not until it has waited.
inline bool known_lately(const Record& r, const Thread* t) {
  for (const Knowledge::Entry& e : t->clocks.know.newer)
    if (e.agent == r.agent && e.clock >= r.clock) return true;
  return false;
}
__attribute__((always_inline)) inline bool known(const Record& r, const Thread* t) {
  return r.agent == t->agent || t->clocks.know.base.of(r.agent) >= r.clock || known_lately(r, t);
}

void remember_reader(Cell& c, const Record& r);  // in addition to the last one

enum class Quick { done, untracked, look };  // look: check_access must decide

// Checks and records a plain access of whole cells that needs no thought.
template <unsigned Bytes, bool Write>
inline Quick quick_access(Thread* t, const void* p, SiteId site) {
  static_assert(Bytes % 4 == 0);
  auto a = reinterpret_cast<std::uintptr_t>(p);
  if ((a & 3) || t->guess) return Quick::look;
  std::size_t offset = a - reinterpret_cast<std::uintptr_t>(shared.base);
  Cell* cell;
  const bool in_shared = offset < shared.bytes;
  if (in_shared) {
    std::size_t in_slab = offset & (kSlab - 1);
    if (!shared.owner[in_slab / 4] || !shared.owner[(in_slab + Bytes - 1) / 4]) return Quick::look;
    if (offset / kSlab != t->block->rank) return Quick::look;  // another block's
    cell = shared.cells + offset / 4;
  } else {
    offset = a - reinterpret_cast<std::uintptr_t>(global.base);
    if (offset >= global.bytes)  // __device__ variables are rare; a fiber's stack and constants need no check
      return a - reinterpret_cast<std::uintptr_t>(device.base) < device.bytes ? Quick::look : Quick::untracked;
    std::uint16_t id = global.owner[offset / kPage];
    if (!id || offset + Bytes > global.buffers[id - 1].offset + global.buffers[id - 1].bytes) return Quick::look;
    cell = global.cells + offset / 4;
  }
  const std::uint32_t gang = world.gang;
  // First look at all cells, then change them: an access that needs thought is left whole to check_access.
  for (unsigned i = 0; i < Bytes / 4; ++i) {
    const Cell& c = cell[i];
    const Record& w = c.last_write;
    if (w.gang ? w.gang != gang || w.mask != 15 || !known(w, t) : in_shared && !Write) return Quick::look;
    if constexpr (Write) {
      const Record& r = c.last_read;
      if (r.gang && (r.gang != gang || !known(r, t))) return Quick::look;
      if (c.more)
        for (const Record& m : overflow[c.more])
          if (m.gang != gang || !known(m, t)) return Quick::look;
    }
  }
  const Record now{gang, t->agent, 15, 0, Write, 0, t->clock, site};
  for (unsigned i = 0; i < Bytes / 4; ++i) {
    Cell& c = cell[i];
    if constexpr (Write) {
      c.last_write = now;
      c.last_read.gang = 0;
      c.initialised = 15;
      if (c.more) overflow[c.more].clear();
    } else {
      const Record& r = c.last_read;
      if (r.gang && r.agent != t->agent && (r.gang != gang || !known(r, t))) {
        auto& more = more_of(c);
        if (r.gang == gang && more.size() < 60) more.push_back(r);
        else remember_reader(c, r);
      }
      c.last_read = now;
    }
  }
  t->time += in_shared ? 1 : 4;
  if constexpr (Write) ++world.progress;
  return Quick::done;
}

}  // namespace ws_emu
