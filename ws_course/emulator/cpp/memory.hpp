// Shared and global memory of the emulated device, with a shadow cell for every 4 bytes: who wrote it, who read it.
#pragma once
#include <cstddef>
#include <string>

#include "report.hpp"
#include "world.hpp"

namespace ws_emu {

constexpr std::size_t kSlab = 256u << 10;       // address space of one block's shared memory
constexpr std::size_t kSharedLimit = 227u << 10;  // CUDA C++ Programming Guide, compute capability 9.0, opt-in per block
constexpr std::size_t kSharedStatic = 48u << 10;

void make_shared_arena(unsigned live_blocks);
void open_slab(Block& b, unsigned slot);  // fresh, uninitialised shared memory
void map_global(const char* path, std::size_t bytes);
unsigned char* global_base();
void add_global_buffer(std::size_t offset, std::size_t bytes, const std::string& name, std::size_t element);
bool known_buffer(std::size_t offset);  // an array may be passed twice
void begin_launch(std::size_t dynamic_bytes, bool new_library);

// One access by `t`, or by an asynchronous unit on its behalf (`copier` not 0). Returns false if the address is not device memory that is tracked.
struct AccessKind {
  bool write = false, atomic = false;
  bool needs_value = false;  // a write that depends on what was there
  bool barrier = false;  // use of a barrier object: must come after its initialisation, conflicts with nothing else
  bool will_be_told = false;  // of another block's barrier: that block learns of the access when its phase completes
  bool async_proxy = false;  // sees generic writes only across a proxy fence
  Agent copier = 0;
  Clock copy_clock = 0;
};
void misaligned(Thread* t, const void* p, std::size_t bytes, bool write, SiteId site);  // a fault, if it is device memory
void forgive_guess(Thread* t, const void* at);
void report_guess(Thread* t);  // no compare-and-swap came
void open_device_variables();  // those that the library just loaded has announced
bool check_access(Thread* t, const void* p, std::size_t bytes, AccessKind kind, SiteId site);

void check_remote_accesses(Block& b);  // its last thread has finished
void check_registers(Block& b);         // likewise

std::string name_of(const void* p);        // "tile[3][17]", "full[1]", "out[5]"
bool guarded(const void* p, std::string& where);  // an address near the arguments that belongs to none
std::string variable_of(const void* p);    // "tile"
bool is_global(const void* p);
void poison(void* p, std::size_t bytes);   // what an asynchronous copy leaves there until it is waited for

}  // namespace ws_emu
