// Marks what a warp is doing, for timelines. On a GPU built without WS_TRACE every call is empty and costs nothing; the
// emulator has its own version of this header that records the spans.
#pragma once

namespace ws {

enum class Work { load, compute, store };

#ifndef WS_TRACE

// One span of work, from construction to the end of the scope. `item` is the tile (or stage use) it belongs to.
struct Span {
  __device__ __forceinline__ Span(Work, int) {}
};

#else

// What the host writes before a launch and reads after it; ws_course/runtime/spans.py knows the same layouts.
namespace trace {

// The host's wishes: where to write, how many blocks and events a warp, and which items.
struct Control {
  unsigned long long place;  // device address of blocks x warps records: a Head and `events` Events each; 0: record none
  unsigned blocks, events;   // the first blocks of the grid, the first events of a warp
  int first, last;           // events of the items from first to last - 1
};

struct Head {
  unsigned seen;  // all spans of the warp
  unsigned kept;  // those of the wanted items, also where there was no room for them
  unsigned sm, unused;
};

struct Event {
  unsigned long long start, end;  // clock64: cycles, a clock of its own on each SM
  unsigned long long ns;          // globaltimer just after the end: coarse, the same on all SMs
  unsigned number;                // of the span among all spans of the warp
  int what;                       // 4 * item + work
};

extern "C" __constant__ Control ws_trace = {};

// Memory must not move across the two ends of a span.
__device__ __forceinline__ unsigned long long clock() {
  unsigned long long cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

__device__ __forceinline__ unsigned long long globaltimer() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ __forceinline__ unsigned sm() {
  unsigned number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

__device__ __forceinline__ bool first_active_lane() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane == unsigned(__ffs(__activemask())) - 1;
}

// Each warp owns its record, so no access is atomic. Plain accesses, which the first-level cache serves: volatile ones
// would wait for the second level.
__device__ __forceinline__ void write(unsigned long long start, unsigned long long end, Work work, int item) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (ws_trace.place == 0 || block >= ws_trace.blocks) return;
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
  const unsigned long long bytes = sizeof(Head) + ws_trace.events * sizeof(Event);
  const unsigned long long head = ws_trace.place + (block * warps + thread / 32) * bytes;
  unsigned seen, kept;
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(seen), "=r"(kept) : "l"(head));
  const bool wanted = item >= ws_trace.first && item < ws_trace.last;
  if (wanted && kept < ws_trace.events) {
    const unsigned long long event = head + sizeof(Head) + kept * sizeof(Event);
    const unsigned long long name = (unsigned long long)(unsigned(4 * item + int(work))) << 32 | seen;
    asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(event), "l"(start), "l"(end));
    asm volatile("st.global.v2.u64 [%0 + 16], {%1, %2};" ::"l"(event), "l"(globaltimer()), "l"(name));
  }
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(head), "r"(seen + 1), "r"(kept + wanted));
  if (seen == 0) asm volatile("st.global.u32 [%0 + 8], %1;" ::"l"(head), "r"(sm()));
}

}  // namespace trace

// As above. All lanes read the clock, the first active one writes: a role is a warp or one elected thread.
struct Span {
  __device__ __forceinline__ Span(Work work, int item) : work_(work), item_(item), start_(trace::clock()) {}
  __device__ __forceinline__ ~Span() {
    const unsigned long long end = trace::clock();
    if (trace::first_active_lane()) trace::write(start_, end, work_, item_);
  }
  Span(const Span&) = delete;

 private:
  Work work_;
  int item_;
  unsigned long long start_;
};

#endif

}  // namespace ws
