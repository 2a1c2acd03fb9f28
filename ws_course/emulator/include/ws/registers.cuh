// The emulator's version of the course's <ws/registers.cuh>: counts the registers of the block's pool.
#pragma once
#include <ws_emu/prelude.h>

namespace ws {

template <int COUNT>
WS_QUIET inline void setmaxnreg_dec(ws_emu::Where w = ws_emu::Where::here()) {
  static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "a multiple of 8, from 24 to 256");
  ws_emu::set_max_registers(COUNT, false, w);
}
template <int COUNT>
WS_QUIET inline void setmaxnreg_inc(ws_emu::Where w = ws_emu::Where::here()) {
  static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "a multiple of 8, from 24 to 256");
  ws_emu::set_max_registers(COUNT, true, w);
}

}  // namespace ws
