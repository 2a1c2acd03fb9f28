// Marks what a warp is doing, for timelines. On a GPU built without tracing every call is empty and costs nothing;
// the emulator has its own version of this header that records the spans.
#pragma once

namespace ws {

enum class Work { load, compute, store };

// One span of work, from construction to the end of the scope. `item` is the tile (or stage use) it belongs to.
struct Span {
  __device__ __forceinline__ Span(Work, int) {}
};

}  // namespace ws
