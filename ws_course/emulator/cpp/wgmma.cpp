// Warpgroup matrix multiply (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"): 128 threads
// meet, the tensor core reads its operands from shared memory as an agent of its own, and the accumulators hold poison until
// the group of instructions has been waited for.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>

#include "copies.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "world.hpp"

namespace ws_emu {
namespace {

constexpr unsigned kThreads = 128, kRows = 64;
const char kOperands = 0;  // its address names the tensor core's reads of a warpgroup

struct InFlight {  // one instruction of one thread
  std::vector<float*> registers;
  std::vector<float> values;
};
struct ThreadQueue {
  std::vector<InFlight> open;
  std::deque<std::vector<InFlight>> groups;
  std::deque<Clock> clocks;  // of the reads that belong to each group
};
std::map<Agent, ThreadQueue> accumulators;

struct Call {
  float** d = nullptr;
  const unsigned* a = nullptr;  // operand A in registers
};
struct Warpgroup {
  unsigned arrived = 0;
  std::vector<Thread*> waiting;
  Call calls[kThreads];
  Clock clock = 0;  // of the instruction that was carried out last
};
std::map<std::pair<const Block*, unsigned>, Warpgroup> warpgroups;

// A shared-memory matrix descriptor (PTX ISA, "Matrix descriptor").
struct Descriptor {
  std::size_t start, leading, stride;
  unsigned swizzle;  // bytes of a row: 0, 32, 64, 128
  explicit Descriptor(std::uint64_t bits)
      : start(std::size_t(bits & 0x3fff) << 4), leading(std::size_t(bits >> 16 & 0x3fff) << 4), stride(std::size_t(bits >> 32 & 0x3fff) << 4),
        swizzle(0) {
    static const unsigned rows[4] = {0, 128, 64, 32};
    swizzle = rows[bits >> 62];
  }
  // Offset in the window of element (mn, k); `major_k`: k runs fastest in memory.
  std::size_t offset(unsigned mn, unsigned k, unsigned size, bool major_k) const {
    std::size_t o;
    if (major_k) {
      std::size_t kb = std::size_t(k) * size;
      o = swizzle ? mn / 8 * stride + mn % 8 * swizzle + kb : mn / 8 * stride + mn % 8 * 16 + kb / 16 * leading + kb % 16;
    } else {
      std::size_t unit = mn / 8, in = std::size_t(mn % 8) * size, per = swizzle / 16;
      o = swizzle ? unit % per * 16 + unit / per * leading + k % 8 * swizzle + k / 8 * stride + in : unit * stride + k % 8 * 16 + k / 8 * leading + in;
    }
    std::size_t at = start + o;
    unsigned mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
    return at ^ ((at >> 7 & mask) << 4);
  }
};

float decode(const void* p, WgmmaType type) {
  std::uint32_t bits = 0;
  if (type == WgmmaType::tf32) {
    std::memcpy(&bits, p, 4);
    bits &= 0xffffe000u;
  } else {
    std::uint16_t h;
    std::memcpy(&h, p, 2);
    if (type == WgmmaType::f16) {
      int exponent = h >> 10 & 31, mantissa = h & 1023;
      float v = exponent == 31 ? (mantissa ? NAN : INFINITY) : exponent ? std::ldexp(float(mantissa | 1024), exponent - 25) : std::ldexp(float(mantissa), -24);
      return h >> 15 ? -v : v;
    }
    bits = std::uint32_t(h) << 16;
  }
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

// Reads a matrix of mn x k elements through its descriptor, checked as the tensor core's access.
void fetch(Thread* leader, Thread::Copier& unit, std::uint64_t bits, unsigned mn, unsigned k, WgmmaType type, bool major_k, std::vector<float>& out,
           Where w) {
  Descriptor d(bits);
  unsigned size = type == WgmmaType::tf32 ? 4 : 2;
  unsigned char* slab = leader->block->slab;
  std::size_t window = shared_window(slab);
  auto at = [&](unsigned i, unsigned j) { return slab + ((d.offset(i, j, size, major_k) - window) & 0x3ffff); };
  out.resize(std::size_t(mn) * k);
  AccessKind kind;
  kind.async_proxy = true;
  kind.copier = unit.agent;
  kind.copy_clock = unit.clock;
  unsigned step_k = major_k ? 16 / size : 1, step_mn = major_k ? 1 : 16 / size;
  for (unsigned i = 0; i < mn; i += step_mn)
    for (unsigned j = 0; j < k; j += step_k) check_access(leader, at(i, j), 16, kind, site_of(w));
  for (unsigned i = 0; i < mn; ++i)
    for (unsigned j = 0; j < k; ++j) out[std::size_t(i) * k + j] = decode(at(i, j), type);
}

// Where thread `t` of the warpgroup keeps accumulator register r (PTX ISA, the figures of matrix fragments for wgmma).
void position(unsigned t, unsigned r, unsigned& row, unsigned& column) {
  unsigned warp = t / 32, lane = t % 32;
  row = warp * 16 + lane / 4 + (r & 2 ? 8 : 0);
  column = r / 4 * 8 + lane % 4 * 2 + (r & 1);
}

// The accumulators as the instruction sees them: from an instruction in flight, else from the registers.
void current_values(ThreadQueue& q, float** d, unsigned count, std::vector<float>& out) {
  auto find = [&](std::vector<InFlight>& list) -> InFlight* {
    for (auto it = list.rbegin(); it != list.rend(); ++it)
      if (it->registers[0] == d[0]) return &*it;
    return nullptr;
  };
  InFlight* f = find(q.open);
  for (auto g = q.groups.rbegin(); !f && g != q.groups.rend(); ++g) f = find(*g);
  out.resize(count);
  for (unsigned r = 0; r < count; ++r) out[r] = f ? f->values[r] : *d[r];
}

Warpgroup& meet(const char* what, Where w, bool& last) {
  Thread* t = current;
  if (world.config.threads() < kThreads || world.config.threads() % kThreads)
    stop({"illegal-collective", text("%s in a block of %u threads: it needs whole warpgroups of 128", what, world.config.threads()), "", "",
          place_of(t, w), {}, {}});
  Warpgroup& g = warpgroups[{t->block, t->rank / kThreads}];
  ++g.arrived;
  last = g.arrived == kThreads;
  if (!last) {
    g.waiting.push_back(t);
    block_current({what, &g, 0, w});
  }
  return g;
}
void leave(Warpgroup& g) {
  g.arrived = 0;
  ++world.progress;
  for (Thread* t : g.waiting) wake(t);
  g.waiting.clear();
}

}  // namespace

void wgmma(float** d, const unsigned* a_registers, std::uint64_t a, std::uint64_t b, const WgmmaShape& s, Where w) {
  Thread* t = current;
  unsigned count = s.n / 2;
  Warpgroup& g = warpgroups[{t->block, t->rank / kThreads}];
  g.calls[t->rank % kThreads] = {d, a_registers};
  bool last = false;
  meet("wgmma.mma_async", w, last);
  if (!last) return;
  Thread* leader = &t->block->threads[t->rank / kThreads * kThreads];
  Thread::Copier& unit = copier_of(leader, &kOperands);
  std::vector<float> ma, mb;
  if (a_registers) {
    ma.assign(std::size_t(kRows) * s.k, 0);
    for (unsigned i = 0; i < kThreads; ++i)
      for (unsigned r = 0; r < 4; ++r)
        for (unsigned h = 0; h < 2; ++h) {
          unsigned row = i / 32 * 16 + i % 32 / 4 + (r & 1 ? 8 : 0), k = i % 4 * 2 + h + (r & 2 ? 8 : 0);
          std::uint16_t half = std::uint16_t(g.calls[i].a[r] >> (16 * h));
          ma[std::size_t(row) * s.k + k] = decode(&half, s.type);
        }
  } else {
    fetch(leader, unit, a, kRows, s.k, s.type, !s.transpose_a, ma, w);
  }
  fetch(leader, unit, b, s.n, s.k, s.type, !s.transpose_b, mb, w);
  g.clock = unit.clock++;
  std::vector<float> product(std::size_t(kRows) * s.n);
  for (unsigned i = 0; i < kRows; ++i)
    for (unsigned j = 0; j < s.n; ++j) {
      const float *x = &ma[std::size_t(i) * s.k], *y = &mb[std::size_t(j) * s.k];
      float sum = 0;
      for (unsigned k = 0; k < s.k; ++k) sum += x[k] * y[k];
      product[std::size_t(i) * s.n + j] = sum;
    }
  float sign = float(s.scale_a) * float(s.scale_b);
  for (unsigned i = 0; i < kThreads; ++i) {
    Thread& member = leader[i];
    ThreadQueue& q = accumulators[member.agent];
    InFlight f;
    f.registers.assign(g.calls[i].d, g.calls[i].d + count);
    if (s.accumulate) current_values(q, g.calls[i].d, count, f.values);
    else f.values.assign(count, 0.f);
    for (unsigned r = 0; r < count; ++r) {
      unsigned row, column;
      position(i, r, row, column);
      f.values[r] += sign * product[std::size_t(row) * s.n + column];
      *f.registers[r] = NAN;
    }
    q.open.push_back(std::move(f));
  }
  leave(g);
}

void wgmma_commit(Where) {
  ThreadQueue& q = accumulators[current->agent];
  q.groups.push_back(std::move(q.open));
  q.open.clear();
  q.clocks.push_back(warpgroups[{current->block, current->rank / kThreads}].clock);
}

void wgmma_wait(int allowed, Where) {
  Thread* t = current;
  ThreadQueue& q = accumulators[t->agent];
  Thread* leader = &t->block->threads[t->rank / kThreads * kThreads];
  while (long(q.groups.size()) > allowed) {
    for (InFlight& f : q.groups.front()) {
      // A later instruction on the same registers is still in flight: they stay poisoned.
      bool later = false;
      for (std::size_t g = 1; g < q.groups.size(); ++g)
        for (InFlight& o : q.groups[g]) later |= o.registers[0] == f.registers[0];
      for (InFlight& o : q.open) later |= o.registers[0] == f.registers[0];
      if (!later)
        for (std::size_t r = 0; r < f.values.size(); ++r) *f.registers[r] = f.values[r];
    }
    t->clocks.know.learn(copier_of(leader, &kOperands).agent, q.clocks.front());
    q.groups.pop_front();
    q.clocks.pop_front();
  }
}

void reset_wgmma() {
  accumulators.clear();
  warpgroups.clear();
}
std::string describe_warpgroup_wait(const Thread* t, std::string& hint) {
  for (auto& [key, g] : warpgroups)
    if (t->wait.object == &g) {
      hint = "wgmma is one instruction of four neighbouring warps: all 128 threads of the warpgroup must execute it";
      return text("%u of 128 threads of the warpgroup have come", g.arrived);
    }
  return "";
}

}  // namespace ws_emu
