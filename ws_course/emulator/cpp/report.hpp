// Faults and spans, written as JSON at the end. Program counters are offsets into the kernel's library; the Python side
// turns them into lines.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "world.hpp"

namespace ws_emu {

// A place in the kernel: an explicit call site, or a program counter of instrumented code.
using SiteId = std::uint32_t;
SiteId site_of(Where w);
// A site is a program counter in one of up to 16 libraries (4 bits and 27 bits of offset).
extern std::uintptr_t library_base;
extern SiteId library_bits;
inline SiteId site_of_pc(const void* pc) {
  return (SiteId(reinterpret_cast<std::uintptr_t>(pc) - library_base) & 0x7ffffffu) | library_bits;
}

struct Place {
  SiteId site = 0;
  long block = -1;
  int warp = -1, lane = -1;
  std::string what;
};

struct FaultReport {
  std::string kind, message, hint, object;
  Place place;
  std::vector<Place> others;
  std::vector<std::uint32_t> callers;  // pcs up the stack
  const Thread* stack_of = nullptr;    // a thread that does not run, whose stack they are; null: the running one
};

Place place_of(const Thread* t, SiteId site, std::string what = "");
Place place_of(const Thread* t, Where w, std::string what = "");
std::string who(const Thread* t);                  // "block 0 warp 2 lane 5"
std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));

extern std::uintptr_t* interrupted_frame;  // in a signal handler: the frame of what was interrupted
void report(FaultReport f);                // the run goes on
[[noreturn]] void stop(FaultReport f);     // the run ends here
[[noreturn]] void finish();                // writes the report and leaves the process
void add_span(const Thread* t, const char* work, std::uint64_t start, std::uint64_t end, int item, std::string name);
void set_library(const void* base, unsigned number);
void set_report_path(const char* path);
void set_usage_error(const std::string& message);  // the launch itself is wrong: not a fault of the kernel

}  // namespace ws_emu
