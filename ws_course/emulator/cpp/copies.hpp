// Barriers and asynchronous copies as the scheduler sees them.
#pragma once
#include <string>

#include "world.hpp"

namespace ws_emu {

bool deliver_one();         // lets one asynchronous copy that somebody may be waiting for complete; false: none is left
void reset_barriers();      // a new gang starts
void settle_warp(Block& block, unsigned warp);  // a lane of it waits now
bool is_warp_wait(const Thread* t);
unsigned mbarrier_missing(const void* bar);
bool only_follows(const Thread* t);
bool is_register_wait(const Thread* t);
void thread_left(Thread*);  // a thread has finished: barriers do not wait for it
void check_collectives();   // calls that every member of a group must make were made equally often
std::string describe_barrier(const void* object);
std::string describe_wait(const Thread* t, std::string& hint);  // "96 of 128 arrivals are missing, …"
int wait_priority(const Thread* t);
// Bulk copies (bulk.cpp) and their effect on a barrier (mbarrier.cpp).
bool deliver_bulk();
void reset_bulk();
void reset_registers();
void reset_wgmma();
std::string describe_warpgroup_wait(const Thread* t, std::string& hint);
void thread_left_bulk(Thread* t);
std::string overcounted_barrier();
std::string describe_register_wait(const Thread* t, std::string& hint);
void mbar_touch(void* bar, const char* what, Where w);  // it must be initialised, and known to be
void mbar_async_complete(void* bar, std::int64_t bytes, Agent copier, Clock clock, std::uint64_t time);
// Called by the asynchronous unit when a cp.async of `t` is due.
void complete_copy(std::uint32_t copy);

}  // namespace ws_emu
