#include "shadow.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace ws_emu {

unsigned char* shared_slab;

std::vector<RecordList> overflow(1);
SharedArena shared;
DeviceArena device;
GlobalArena global;

// Keeps one record per reader, and one of any earlier gang: that is enough to find a later write in conflict.
void remember_reader(Cell& c, const Record& r) {
  auto& more = more_of(c);
  if (r.gang != world.gang)
    more.cut(std::remove_if(more.begin(), more.end(), [](const Record& m) { return m.gang != world.gang && !m.write; }));
  more.push_back(r);
  std::size_t n = more.size();
  if (n < 64 || (n & (n - 1))) return;
  std::sort(more.begin(), more.end(), [](const Record& a, const Record& b) {
    return a.agent != b.agent ? a.agent < b.agent : a.clock > b.clock;
  });
  more.cut(std::unique(more.begin(), more.end(), [](const Record& a, const Record& b) {
    return a.gang == b.gang && a.agent == b.agent && a.mask == b.mask && a.write == b.write;
  }));
}

namespace {

constexpr std::size_t kGuard = std::size_t(4) << 30;  // address space around the arguments that nothing else may use
constexpr unsigned kRedZone = 32;  // between shared variables, so that one index too far lands in no variable

void* reserve(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

std::string indexed(const std::string& name, const Shape& s, std::size_t byte) {
  std::size_t flat = s.element ? byte / s.element : 0;
  std::string r = name;
  for (int d = 0; d < s.rank && d < 4; ++d) {
    std::size_t below = 1;
    for (int e = d + 1; e < s.rank && e < 4; ++e) below *= s.extent[e] ? s.extent[e] : 1;
    r += text("[%zu]", flat / below);
    flat %= below;
  }
  return r;
}

std::uint16_t add_variable(std::size_t offset, std::size_t bytes, const char* name, Shape shape) {
  shared.variables.push_back({offset, bytes, name, shape});
  auto id = std::uint16_t(shared.variables.size());
  for (std::size_t o = offset / 4; o < (offset + bytes + 3) / 4; ++o) shared.owner[o] = id;
  return id;
}

[[noreturn]] void too_much_shared(std::size_t bytes, const char* name, Where w) {
  stop({"launch-error",
        text("the block needs %zu bytes of shared memory once `%s` is counted; a block can have at most %zu (227 KiB)", bytes, name,
             kSharedLimit),
        "fewer stages or a smaller tile", name, place_of(current, w), {}, {}});
}

bool happened_before(const Record& r, const Thread* t) {
  if (r.gang == world.gang) return known(r, t);
  if (r.gang <= t->finished_gangs) return true;
  if (!t->clocks.know.foreign) return false;
  auto it = t->clocks.know.foreign->find(r.gang);
  return it != t->clocks.know.foreign->end() && r.clock <= at(it->second, r.agent);
}

// Names the thread of a record; of finished gangs only the number is left.
std::string actor(const Record& r, Place& place) {
  unsigned threads = world.config.threads();
  bool copy = r.agent >= threads * world.blocks.size();
  Agent a = copy && r.gang == world.gang ? world.copy_owner[r.agent - threads * world.blocks.size()] : r.agent;
  place.site = r.site;
  if (r.gang == world.gang) {
    const Thread* t = thread_of(a);
    place.block = long(t->block->number);
    place.warp = int(t->rank / 32);
    place.lane = int(t->rank % 32);
  } else if (!copy && r.gang > world.finished_after_wait) {
    place.block = long(r.gang - 1 - world.finished_after_wait) * long(world.config.cluster_size()) + long(a / threads);
    place.warp = int(a % threads / 32);
    place.lane = int(a % 32);
  }
  return copy ? "the asynchronous copy" : "";
}

std::map<const Thread*, FaultReport> guesses;

void race(Thread* t, const void* p, AccessKind kind, SiteId site, const Record& r) {
  Place other;
  std::string agent = actor(r, other);
  bool copy = !agent.empty();
  const char* theirs = r.write ? "wrote" : "read";
  other.what = copy ? text("asynchronous copy that %s it", r.write ? "writes" : "reads") : text("%s it", theirs);
  const std::string object = name_of(p);
  // In a cluster the memory may be another block's: then say whose.
  std::string named = object;
  if (is_shared(p)) {
    const Block& owner = world.blocks[std::size_t(static_cast<const unsigned char*>(p) - shared.base) / kSlab];
    if (&owner != t->block) named += text(" of block %llu", (unsigned long long)owner.number);
  }
  const char* mine = kind.write ? "writes" : "reads";
  std::string message, hint;
  bool before = r.gang <= world.finished_after_wait;  // the kernel launched before this one
  bool same_block = other.block == long(t->block->number);
  const bool own = copy && other.block == long(t->block->number) && other.warp == int(t->rank / 32) && other.lane == int(t->rank % 32);
  const char* doing = r.write ? "writing" : "reading";
  const std::string them = (same_block ? "" : text("block %ld ", other.block)) + text("warp %d lane %d", other.warp, other.lane);
  if (copy && !kind.copier && own) {
    message = text("%s %s %s while the asynchronous copy that this thread started may still be %s it: the thread has not waited for it", who(t).c_str(),
                   mine, named.c_str(), doing);
    hint = "program order does not cover an asynchronous copy: wait for it (consumer_wait, wait_prior), even in the thread that started it";
  } else if (copy && !kind.copier) {
    message = text("%s %s %s while the asynchronous copy that %s started may still be %s it", who(t).c_str(), mine, named.c_str(),
                   them.c_str(), doing);
    hint = r.write ? "the thread that started the copy waits for it, and then a barrier tells the others; a barrier alone finishes no copy"
                   : "wait until the copy has read its source before you write there again";
  } else if (copy) {
    message = text("the asynchronous copy that %s starts %s %s, while an earlier copy that %s it has not been waited for", who(t).c_str(),
                   kind.write ? "writes" : "reads", named.c_str(), r.write ? "writes" : "reads");
    hint = "a slot may be used again when everybody has waited for the copy before";
  } else if (kind.copier) {
    message = text("the asynchronous copy that %s starts %s %s, which %s %s, and nothing orders the two", who(t).c_str(),
                   kind.write ? "overwrites" : "reads", named.c_str(), them.c_str(), theirs);
    hint = kind.write && !r.write ? "the slot is refilled before its readers have released it: wait for them first"
                                  : "publish the data with a barrier before the copy starts";
  } else if (kind.barrier) {
    message = text("%s uses the barrier %s, but nothing orders this after its initialisation", who(t).c_str(), object.c_str());
    hint = "after one thread has initialised the barriers, a __syncthreads() (cluster: fence and cluster barrier) must come before anybody "
           "uses them";
  } else {
    message = text("%s %s %s, and %s %s it: nothing orders the two accesses", who(t).c_str(), mine, named.c_str(),
                   same_block && other.warp == int(t->rank / 32) ? text("lane %d of the same warp", other.lane).c_str()
                   : before                                      ? "the kernel launched before"
                   : same_block || is_shared(p)                  ? them.c_str()
                                                                 : text("block %ld", other.block).c_str(),
                   theirs);
    hint = before ? "a dependent launch may start before the first kernel has finished: wait (cudaGridDependencySynchronize, "
                    "griddepcontrol.wait) before touching what it writes"
           : !same_block && is_global(p) ? "blocks run in any order: give each its own elements, or use atomics with fences"
           : kind.write && !r.write    ? "a barrier is missing between the last read of the old values and this write"
           : !kind.write               ? "a barrier is missing between writing the value and reading it here"
                                       : "two threads write the same place; only one should, or a barrier is missing";
  }
  FaultReport fault{"race", message, hint, object, place_of(t, site, kind.copier ? "asynchronous copy" : ""), {other}, {}};
  // A plain read beside an atomic write may be the first guess of a compare-and-swap loop: its thread's next access tells.
  const bool mine_guesses = r.atomic && r.write && !kind.write && !kind.copier && !kind.barrier && !kind.atomic;
  const bool theirs_guesses = kind.atomic && kind.write && !r.write && !r.atomic && !copy && r.gang == world.gang;
  if (mine_guesses || theirs_guesses) {
    Thread* reader = mine_guesses ? t : thread_of(r.agent);
    if (std::size_t(static_cast<const char*>(p) - static_cast<const char*>(reader->guess)) < 8) return;  // its other half
    if (!reader->guess && reader->state != State::finished) {
      guesses[reader] = std::move(fault);
      reader->guess = p;
      return;
    }
  }
  report(std::move(fault));
}

void missing_fence(Thread* t, const void* p, SiteId site, const Record& w) {
  Place other;
  actor(w, other);
  other.what = "wrote it with an ordinary store";
  std::string object = name_of(p);
  report({"missing-proxy-fence",
          text("the asynchronous copy that %s starts reads %s, which was written by ordinary stores with no fence.proxy.async in between", who(t).c_str(),
               object.c_str()),
          "a barrier orders threads, not the copy engine: each thread that wrote executes fence.proxy.async before the barrier", object,
          place_of(t, site, "asynchronous copy"), {other}, {}});
}

[[noreturn]] void out_of_bounds(Thread* t, std::size_t bytes, bool write, SiteId site, const std::string& where) {
  stop({"out-of-bounds", text("%s %s %zu bytes %s", who(t).c_str(), write ? "writes" : "reads", bytes, where.c_str()),
        "check the index arithmetic and the guard for the last, partial tile", "", place_of(t, site), {}, {}});
}

// One access to one 4-byte cell. `mask`: which of its bytes.
inline void check_cell(Cell& c, Thread* t, Agent self, Clock clock, unsigned mask, const void* p, AccessKind kind, SiteId site) {
  const Record now{world.gang, self, mask, kind.atomic, kind.write, 0, clock, site};
  const Record w = c.last_write;
  bool reported = false;
  if (w.gang && (w.mask & mask) && !(kind.atomic && w.atomic) && !happened_before(w, t)) race(t, p, kind, site, w), reported = true;
  if (!kind.write) {
    if (kind.barrier) return;
    if (kind.async_proxy && !reported && w.gang == world.gang && (w.mask & mask) && w.agent < world.config.threads() * world.blocks.size() &&
        t->clocks.proxied.of(w.agent) < w.clock)
      missing_fence(t, p, site, w);
    const Record r = c.last_read;
    if (r.gang && !(r.gang == world.gang && r.agent == self && r.mask == mask)) {
      if (!happened_before(r, t)) remember_reader(c, r);
    }
    c.last_read = now;
    return;
  }
  const Record r = c.last_read;
  if (!reported && r.gang && (r.mask & mask) && !(kind.atomic && r.atomic) && !happened_before(r, t))
    race(t, p, kind, site, r), reported = true;
  if (c.more) {
    auto& more = overflow[c.more];
    for (const Record& m : more) {
      if (reported) break;
      if ((m.mask & mask) && !(kind.atomic && m.atomic) && !happened_before(m, t)) race(t, p, kind, site, m), reported = true;
    }
    if (mask == 15) more.clear();
  }
  if (w.gang && !(w.mask == (w.mask & mask)) && !(w.gang == world.gang && w.agent == self)) more_of(c).push_back(w);
  if (mask == 15 || (r.mask & ~mask) == 0) c.last_read.gang = 0;
  c.last_write = now;
  c.initialised |= std::uint8_t(mask);
}

}  // namespace

// ---- shared ------------------------------------------------------------------------------------------------------
void make_shared_arena(unsigned live_blocks) {
  shared.bytes = kSlab * live_blocks;
  shared.base = static_cast<unsigned char*>(reserve(shared.bytes));
  shared.cells = static_cast<Cell*>(reserve(shared.bytes / 4 * sizeof(Cell)));
  if (!shared.base || !shared.cells) {
    set_usage_error("not enough memory for the shared memory of so many blocks at once: use a smaller grid");
    finish();
  }
}

void open_slab(Block& b, unsigned slot) {
  b.slab = shared.base + kSlab * slot;
  std::size_t used = std::max(shared.next, shared.dynamic_offset + shared.dynamic) + 64;
  if (used > kSlab) used = kSlab;
  std::memset(b.slab, 0xff, used);  // NaN for floats, -1 for integers
  for (Cell *c = shared.cells + kSlab / 4 * slot, *end = c + used / 4; c < end; ++c) {
    c->last_write.gang = c->last_read.gang = 0;
    c->initialised = 0;
    if (c->more) overflow[c->more].clear();
  }
}

// A library keeps the places of its shared variables in static storage: they stay what they are for all its launches.
void begin_launch(std::size_t dynamic_bytes, bool new_library) {
  if (new_library) shared.counted = 0;
  for (std::size_t o = shared.dynamic_offset / 4; shared.dynamic_offset && o < kSlab / 4; ++o) shared.owner[o] = 0;
  shared.dynamic = dynamic_bytes;
  shared.dynamic_offset = 0;
}

unsigned reserve_shared(std::size_t bytes, std::size_t align, const char* name, Shape shape, Where w) {
  if (align < 16) align = 16;
  std::size_t offset = (shared.next + align - 1) / align * align;
  shared.counted += bytes;
  if (shared.counted > kSharedStatic)
    stop({"launch-error",
          text("static shared memory adds up to %zu bytes once `%s` is counted; a kernel may declare at most 48 KiB statically", shared.counted,
               name),
          "declare it as extern __shared__ and pass the size at launch (smem=...), which allows up to 227 KiB", name,
          place_of(current, w), {}, {}});
  if (offset + bytes + kRedZone + shared.dynamic + 2048 > kSlab || shared.counted + shared.dynamic > kSharedLimit)
    too_much_shared(shared.counted + shared.dynamic, name, w);
  shared.next = offset + bytes + kRedZone;
  add_variable(offset, bytes, name, shape);
  std::memset(shared_slab + offset, 0xff, bytes);
  return unsigned(offset);
}

void* dynamic_shared(const char* name, Shape shape) {
  if (!shared.dynamic_offset) {
    // The dynamic part lies at the slab's far end, so that statics found later do not move it.
    shared.dynamic_offset = (kSlab - shared.dynamic - kRedZone) / 1024 * 1024;
    if (shape.rank && !shape.extent[0] && shape.element) shape.extent[0] = shared.dynamic / shape.element;
    if (shared.dynamic) add_variable(shared.dynamic_offset, shared.dynamic, name, shape);
    for (Block& b : world.blocks)
      if (b.slab) std::memset(b.slab + shared.dynamic_offset, 0xff, shared.dynamic);
  }
  return shared_slab + shared.dynamic_offset;
}

void name_member(const void* at, std::size_t bytes, const char* name, Shape shape) {
  auto* relative = reinterpret_cast<const unsigned char*>((static_cast<const unsigned char*>(at) - shared.base) % kSlab);
  for (const Member& m : shared.members)
    if (m.at == relative && m.name == name) return;
  if (is_shared(at)) shared.members.push_back({relative, bytes, name, shape});
}

bool is_shared(const void* p) { return std::size_t(static_cast<const unsigned char*>(p) - shared.base) < shared.bytes; }
unsigned cluster_owner(const void* p) {
  return unsigned(std::size_t(static_cast<const unsigned char*>(p) - shared.base) / kSlab) % world.config.cluster_size();
}
// Offset 0 is left out so that no variable has the address 0.
std::size_t shared_window(const void* p) { return std::size_t(static_cast<const unsigned char*>(p) - shared.base) + 1024; }
void* from_window(std::size_t address) { return shared.base + (address - 1024); }

// ---- global ------------------------------------------------------------------------------------------------------
void map_global(const char* path, std::size_t bytes) {
  if (!bytes) return;
  int fd = open(path, O_RDWR);
  auto* guarded = static_cast<unsigned char*>(mmap(nullptr, bytes + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  void* p = fd < 0 || guarded == MAP_FAILED
                ? MAP_FAILED
                : mmap(guarded + kGuard, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  if (p == MAP_FAILED) {
    set_usage_error("the kernel's arguments could not be mapped into the emulator");
    finish();
  }
  global.base = static_cast<unsigned char*>(p);
  global.bytes = bytes;
  global.cells = static_cast<Cell*>(reserve(bytes / 4 * sizeof(Cell)));
  global.owner.assign(bytes / kPage + 1, 0);
}
unsigned char* global_base() { return global.base; }
void add_global_buffer(std::size_t offset, std::size_t bytes, const std::string& name, std::size_t element) {
  global.buffers.push_back({offset, bytes, element, name});
  for (std::size_t page = offset / kPage; page < (offset + bytes + kPage - 1) / kPage; ++page)
    global.owner[page] = std::uint16_t(global.buffers.size());
}
bool known_buffer(std::size_t offset) {
  return std::any_of(global.buffers.begin(), global.buffers.end(), [&](const Buffer& b) { return b.offset == offset; });
}
bool is_global(const void* p) {
  auto* a = static_cast<const unsigned char*>(p);
  return std::size_t(a - global.base) < global.bytes || std::size_t(a - device.base) < device.bytes;
}

// ---- __device__ variables --------------------------------------------------------------------------------------------
namespace {
struct Announced {
  unsigned char* at;
  std::size_t bytes;
  std::string name;
  Shape shape;
};
std::vector<Announced> announced;

const Variable* device_variable(std::size_t offset) {
  for (const Variable& v : device.variables)
    if (offset >= v.offset && offset < v.offset + v.bytes) return &v;
  return nullptr;
}
}  // namespace

DeviceVariable::DeviceVariable(const volatile void* at, std::size_t bytes, const char* name, Shape shape) {
  announced.push_back({static_cast<unsigned char*>(const_cast<void*>(at)), bytes, name, shape});
}

void open_device_variables() {
  device = DeviceArena{};
  if (announced.empty()) return;
  auto low = reinterpret_cast<std::uintptr_t>(announced[0].at), high = low;
  for (const Announced& v : announced) {
    low = std::min(low, reinterpret_cast<std::uintptr_t>(v.at));
    high = std::max(high, reinterpret_cast<std::uintptr_t>(v.at) + v.bytes);
  }
  low &= ~std::uintptr_t(15);
  device.base = reinterpret_cast<unsigned char*>(low);
  device.bytes = high - low;
  device.cells = static_cast<Cell*>(reserve((device.bytes / 4 + 1) * sizeof(Cell)));
  for (const Announced& v : announced)
    device.variables.push_back({reinterpret_cast<std::uintptr_t>(v.at) - low, v.bytes, v.name, v.shape});
  announced.clear();
}

// ---- names -------------------------------------------------------------------------------------------------------
std::string variable_of(const void* p) {
  std::string n = name_of(p);
  return n.substr(0, n.find('['));
}

bool guarded(const void* p, std::string& where) {
  auto offset = reinterpret_cast<std::intptr_t>(p) - reinterpret_cast<std::intptr_t>(global.base);
  if (!global.base || offset < -std::ptrdiff_t(kGuard) || offset >= std::ptrdiff_t(global.bytes + kGuard)) return false;
  const Buffer* best = nullptr;
  for (const Buffer& b : global.buffers)
    if (!best || (offset > 0 && b.offset > best->offset)) best = &b;
  if (!best) return false;
  auto index = (offset - std::ptrdiff_t(best->offset)) / std::ptrdiff_t(best->element);
  where = text("far outside the arguments: %s[%td] would lie there, and %s has %zu elements", best->name.c_str(), index, best->name.c_str(),
               best->bytes / best->element);
  return true;
}

std::string name_of(const void* p) {
  auto* a = static_cast<const unsigned char*>(p);
  if (is_shared(p)) {
    std::size_t offset = std::size_t(a - shared.base) % kSlab;
    for (const Member& m : shared.members) {
      auto start = reinterpret_cast<std::size_t>(m.at);
      if (offset >= start && offset < start + m.bytes) return indexed(m.name, m.shape, offset - start);
    }
    if (auto id = shared.owner[offset / 4]) {
      const Variable& v = shared.variables[id - 1];
      return indexed(v.name, v.shape, offset - v.offset);
    }
    return text("shared memory at offset %zu", offset);
  }
  if (std::size_t offset = std::size_t(a - global.base); offset < global.bytes) {
    for (const Buffer& b : global.buffers)
      if (offset >= b.offset && offset < b.offset + b.bytes) return b.name + text("[%zu]", (offset - b.offset) / b.element);
    return "global memory";
  }
  if (std::size_t offset = std::size_t(a - device.base); offset < device.bytes)
    if (const Variable* v = device_variable(offset)) return indexed(v->name, v->shape, offset - v->offset);
  return text("address %p", p);
}

void poison(void* p, std::size_t bytes) { std::memset(p, 0xff, bytes); }

// ---- checks ------------------------------------------------------------------------------------------------------
namespace {
[[noreturn]] __attribute__((cold, noinline)) void shared_out_of_bounds(Thread* t, const void* p, std::size_t bytes, bool write,
                                                                       SiteId site) {
  std::size_t offset = std::size_t(static_cast<const unsigned char*>(p) - shared.base) % kSlab;
  const Variable* near = nullptr;
  for (const Variable& v : shared.variables)
    if (v.offset <= offset && (!near || v.offset > near->offset)) near = &v;
  for (const Variable& v : shared.variables)
    if (!near && v.offset > offset && v.offset - offset <= 1024 && v.shape.element)
      out_of_bounds(t, bytes, write, site,
                    text("at %s[-%zu], before the start of the shared array", v.name.c_str(), (v.offset - offset + v.shape.element - 1) / v.shape.element));
  if (!near || (shared.dynamic && offset >= shared.dynamic_offset))
    out_of_bounds(t, bytes, write, site,
                  shared.dynamic ? text("at byte %zu of dynamic shared memory, but the launch gave %zu bytes (smem=%zu)", offset - shared.dynamic_offset,
                                        shared.dynamic, shared.dynamic)
                                 : "of dynamic shared memory, but the launch gave none (smem=0)");
  Shape flat{near->shape.element, 1, {}};
  out_of_bounds(t, bytes, write, site,
                text("at %s, but `%s` has %zu elements", indexed(near->name, flat, offset - near->offset).c_str(), near->name.c_str(),
                     near->bytes / std::max<std::size_t>(near->shape.element, 1)));
}
[[noreturn]] __attribute__((cold, noinline)) void global_out_of_bounds(Thread* t, const void* p, std::size_t bytes, bool write,
                                                                       SiteId site) {
  auto offset = std::ptrdiff_t(static_cast<const unsigned char*>(p) - global.base);
  const Buffer* best = nullptr;
  auto distance = [&](const Buffer& b) {
    auto start = std::ptrdiff_t(b.offset), end = std::ptrdiff_t(b.offset + b.bytes);
    return offset < start ? start - offset : offset >= end ? offset - end : 0;
  };
  for (const Buffer& b : global.buffers)
    if (!best || distance(b) < distance(*best)) best = &b;
  if (!best) out_of_bounds(t, bytes, write, site, "of global memory that belongs to no argument");
  long index = long((offset - std::ptrdiff_t(best->offset)) / std::ptrdiff_t(best->element));
  if (offset < std::ptrdiff_t(best->offset)) index = -long((best->offset - offset + best->element - 1) / best->element);
  out_of_bounds(t, bytes, write, site,
                text("at %s[%ld], but %s has %zu elements", best->name.c_str(), index, best->name.c_str(), best->bytes / best->element));
}
}  // namespace

void forgive_guess(Thread* t, const void* at) {
  if (std::size_t(static_cast<const char*>(t->guess) - static_cast<const char*>(at)) >= 8) return;
  t->guess = nullptr;
  guesses.erase(t);
}
void report_guess(Thread* t) {
  t->guess = nullptr;
  auto it = guesses.find(t);
  if (it == guesses.end()) return;
  FaultReport f = std::move(it->second);
  guesses.erase(it);
  report(std::move(f));
}

void misaligned(Thread* t, const void* p, std::size_t bytes, bool write, SiteId site) {
  if (!is_shared(p) && !is_global(p)) return;
  stop({"out-of-bounds",
        text("%s %s %zu bytes at %s, whose address is not a multiple of %zu (misaligned address)", who(t).c_str(), write ? "writes" : "reads", bytes,
             name_of(p).c_str(), bytes),
        "vector types such as float4 need aligned addresses: align the array (alignas(16)) and keep offsets multiples of the vector", name_of(p),
        place_of(t, site), {}, {}});
}

namespace {
const char* const kStay = "end the kernel with a cluster barrier, so that no block leaves while another may still use its shared memory";

bool check_device_variable(Thread* t, const void* p, std::size_t bytes, AccessKind kind, SiteId site);
void check_cells(Cell* cell, std::size_t offset, Thread* t, const void* p, std::size_t bytes, AccessKind kind, SiteId site, bool in_shared);

// Distributed shared memory lives as long as its block: the access must be ordered before the block's end. An asynchronous
// write is over when it has landed, and the owner may know that from its own barrier.
void note_remote(Block& owner, Thread* t, const void* p, AccessKind kind, SiteId site) {
  if (!owner.alive)
    stop({"dsmem-after-exit",
          text("%s accesses %s of block %llu, but that block has finished and its shared memory is gone", who(t).c_str(), name_of(p).c_str(),
               (unsigned long long)owner.number),
          kStay, name_of(p), place_of(t, site), {}, {}});
  if (kind.will_be_told) return;
  owner.remote[kind.copier ? kind.copier : t->agent] = {kind.copier ? kind.copy_clock : t->clock, site};
}
}  // namespace

void check_remote_accesses(Block& b) {
  for (auto& [agent, r] : b.remote) {
    if (b.at_exit.of(agent) >= r.clock) continue;
    const Thread* t = thread_of(agent);
    bool own = t->block == &b;  // the source of a copy that this block started
    report({"dsmem-after-exit",
            own ? text("the asynchronous copy that %s starts may still be reading its block's shared memory when the block has finished", who(t).c_str())
                : text("%s accesses the shared memory of block %llu, and nothing keeps that block from finishing first", who(t).c_str(),
                       (unsigned long long)b.number),
            own ? "wait before the end until the copy has read its source (cp.async.bulk.wait_group.read; to another block: until that says it has the data)"
                : kStay,
            "", place_of(t, r.site), {}, {}});
    return;
  }
}

bool check_access(Thread* t, const void* p, std::size_t bytes, AccessKind kind, SiteId site) {
  if (t->guess) report_guess(t);
  auto a = reinterpret_cast<std::uintptr_t>(p);
  std::size_t offset = a - reinterpret_cast<std::uintptr_t>(shared.base);
  Cell* cell;
  bool in_shared = offset < shared.bytes;
  if (in_shared) {
    std::size_t in_slab = offset % kSlab;
    if (!shared.owner[in_slab / 4] || !shared.owner[(in_slab + bytes - 1) / 4]) shared_out_of_bounds(t, p, bytes, kind.write, site);
    if (offset / kSlab != t->block->rank || (kind.async_proxy && !kind.write)) note_remote(world.blocks[offset / kSlab], t, p, kind, site);
    cell = shared.cells + offset / 4;
    t->time += 1;
  } else {
    offset = a - reinterpret_cast<std::uintptr_t>(global.base);
    if (offset >= global.bytes) return check_device_variable(t, p, bytes, kind, site);
    std::uint16_t id = global.owner[offset / kPage];
    if (!id || offset + bytes > global.buffers[id - 1].offset + global.buffers[id - 1].bytes)
      global_out_of_bounds(t, p, bytes, kind.write, site);
    cell = global.cells + offset / 4;
    t->time += 4;
  }
  if (kind.write) ++world.progress;
  check_cells(cell, offset, t, p, bytes, kind, site, in_shared);
  return true;
}

namespace {

bool check_device_variable(Thread* t, const void* p, std::size_t bytes, AccessKind kind, SiteId site) {
  std::size_t offset = std::size_t(static_cast<const unsigned char*>(p) - device.base);
  if (offset >= device.bytes) return false;
  const Variable* v = device_variable(offset);
  if (!v) return false;
  if (offset + bytes > v->offset + v->bytes)
    out_of_bounds(t, bytes, kind.write, site, text("across the end of `%s`", v->name.c_str()));
  t->time += 4;
  if (kind.write) ++world.progress;
  check_cells(device.cells + offset / 4, offset, t, p, bytes, kind, site, false);
  return true;
}

void check_cells(Cell* cell, std::size_t offset, Thread* t, const void* p, std::size_t bytes, AccessKind kind, SiteId site, bool in_shared) {
  Agent self = t->agent;
  Clock clock = t->clock;
  if (kind.copier) {
    self = kind.copier;
    clock = kind.copy_clock;
  }
  std::size_t done = 0;
  while (done < bytes) {
    unsigned first = unsigned((offset + done) & 3), n = unsigned(std::min<std::size_t>(4 - first, bytes - done));
    unsigned mask = ((1u << n) - 1) << first;
    if (in_shared && (!kind.write || kind.needs_value) && (cell->initialised & mask) != mask && !kind.barrier) {
      std::string object = name_of(static_cast<const char*>(p) + done);
      report({"uninitialised-read",
              text("%s reads %s, which nothing has written in this block", who(t).c_str(), object.c_str()),
              "shared memory starts with whatever the last block left: load it (and wait for the load) first", object, place_of(t, site), {}, {}});
      cell->initialised |= std::uint8_t(mask);
    }
    check_cell(*cell, t, self, clock, mask, static_cast<const char*>(p) + done, kind, site);
    done += n;
    ++cell;
  }
}

}  // namespace

}  // namespace ws_emu
