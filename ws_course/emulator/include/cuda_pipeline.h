// The C-like asynchronous copy primitives (CUDA C++ Programming Guide, "Pipeline Primitives Interface").
#pragma once
#include <ws_emu/prelude.h>

#define WS_AT ::ws_emu::Where w = ::ws_emu::Where::here()
WS_QUIET inline void __pipeline_memcpy_async(void* dst, const void* src, std::size_t bytes, std::size_t zero_fill = 0, WS_AT) {
  ws_emu::cp_async(dst, src, bytes, zero_fill, "__pipeline_memcpy_async", w);
}
WS_QUIET inline void __pipeline_commit() { ws_emu::cp_async_commit(); }
WS_QUIET inline void __pipeline_wait_prior(std::size_t n, WS_AT) { ws_emu::cp_async_wait(int(n), w); }
typedef std::uint64_t __mbarrier_t;
WS_QUIET inline void __pipeline_arrive_on(__mbarrier_t* bar, WS_AT) { ws_emu::cp_async_arrive(bar, false, w); }
#undef WS_AT
