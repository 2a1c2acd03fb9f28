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
  unsigned seen;     // all spans of the warp
  unsigned kept;     // those of the wanted items, also where there was no room for them
  unsigned sm;
  unsigned speaker;  // 1 + the lane that writes for the warp: the first one that marked a span
};

struct Event {
  unsigned long long start, end;  // clock64: cycles, a clock of its own on each SM
  unsigned long long ns;          // globaltimer at the end: coarse, the same on all SMs
  unsigned number;                // of the span among all spans of the warp
  int what;                       // 4 * item + work
};

extern "C" __constant__ Control ws_trace = {};

// Memory must not move across the two ends of a span.
__device__ __forceinline__ unsigned long long cycles() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}

__device__ __forceinline__ unsigned long long globaltimer() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ __forceinline__ unsigned lane() {
  unsigned number;
  asm("mov.u32 %0, %%laneid;" : "=r"(number));
  return number;
}

__device__ __forceinline__ bool first_active_lane() { return lane() + 1 == unsigned(__ffs(__activemask())); }

__device__ __forceinline__ unsigned this_sm() {
  unsigned number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

// Begins an event and returns its address, or 0: this lane does not speak for its warp, or nobody wants this span.
// Each record has one writer, so only becoming that is atomic. The other accesses are plain ones, which the first-level
// cache serves: volatile ones would wait for the second level.
__device__ __forceinline__ unsigned long long begin(Work work, int item) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (ws_trace.place == 0 || block >= ws_trace.blocks) return 0;
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
  const unsigned long long bytes = sizeof(Head) + ws_trace.events * sizeof(Event);
  const unsigned long long head = ws_trace.place + (block * warps + thread / 32) * bytes;
  unsigned seen, kept, sm, speaker;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(seen), "=r"(kept), "=r"(sm), "=r"(speaker)
               : "l"(head));
  if (speaker == 0 && first_active_lane()) {
    speaker = atomicCAS(reinterpret_cast<unsigned*>(head) + 3, 0, lane() + 1);  // another lane may have come first
    if (speaker == 0) speaker = lane() + 1;
    sm = this_sm();
  }
  if (lane() + 1 != speaker) return 0;  // also where lanes of a warp have drifted apart: it speaks once
  const bool wanted = item >= ws_trace.first && item < ws_trace.last;
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(head), "r"(seen + 1), "r"(kept + wanted), "r"(sm),
               "r"(speaker));
  if (!wanted || kept >= ws_trace.events) return 0;
  const unsigned long long event = head + sizeof(Head) + kept * sizeof(Event);
  asm volatile("st.global.v2.u32 [%0 + 24], {%1, %2};" ::"l"(event), "r"(seen), "r"(4 * item + int(work)));
  return event;
}

__device__ __forceinline__ void end(unsigned long long event, unsigned long long start, unsigned long long end) {
  const unsigned long long ns = globaltimer();
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(event), "l"(start), "l"(end));
  asm volatile("st.global.u64 [%0 + 16], %1;" ::"l"(event), "l"(ns));
}

}  // namespace trace

// As above. The start is read when the address is known: that takes a load, and no load overtakes a barrier, while a
// look at the clock alone can.
struct Span {
  __device__ __forceinline__ Span(Work work, int item) : event_(trace::begin(work, item)) {
    if (event_) start_ = trace::cycles();
  }
  __device__ __forceinline__ ~Span() {
    const unsigned long long end = trace::cycles();
    if (event_) trace::end(event_, start_, end);
  }
  Span(const Span&) = delete;

 private:
  unsigned long long event_, start_ = 0;
};

#endif

}  // namespace ws
