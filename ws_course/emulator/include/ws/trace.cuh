// The emulator's version of the course's <ws/trace.cuh>: records what a warp is doing, in ticks of the logical clock.
#pragma once
#include <ws_emu/prelude.h>

namespace ws {

enum class Work { load, compute, store };

struct Span {
  WS_QUIET Span(Work work, int item) : work_(work), item_(item) { ws_emu::span(int(work), item, true); }
  WS_QUIET ~Span() { ws_emu::span(int(work_), item_, false); }

 private:
  Work work_;
  int item_;
};

}  // namespace ws
