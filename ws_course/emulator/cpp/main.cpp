// The runner: one process runs one launch, or several in order on the same memory. Usage: ws-emulator JOB ARENA REPORT
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "copies.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "world.hpp"

namespace ws_emu {

int device_printf(const char* format, ...) {
  va_list args;
  va_start(args, format);
  int n = std::vprintf(format, args);
  va_end(args);
  return n;
}

void* cluster_map(const void* p, unsigned rank, Where w) {
  unsigned size = world.config.cluster_size(), mine = current->block->rank;
  if (rank >= size)
    stop({"out-of-bounds", text("%s asks for the shared memory of block rank %u, but the cluster has %u blocks", who(current).c_str(), rank, size), "",
          "", place_of(current, w), {}, {}});
  unsigned target = mine / size * size + rank;
  return const_cast<char*>(static_cast<const char*>(p)) + (std::ptrdiff_t(target) - std::ptrdiff_t(mine)) * std::ptrdiff_t(kSlab);
}

unsigned block_slot() { return current->block->rank; }
void cluster_shape(unsigned out[3]) {
  out[0] = world.config.cluster.x;
  out[1] = world.config.cluster.y;
  out[2] = world.config.cluster.z;
}

namespace {

Place interrupted_at(void* context) {
  auto* u = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
  auto pc = reinterpret_cast<void*>(u->uc_mcontext.gregs[REG_RIP]);
  interrupted_frame = reinterpret_cast<std::uintptr_t*>(u->uc_mcontext.gregs[REG_RBP]);
#else
  auto pc = reinterpret_cast<void*>(u->uc_mcontext.pc);
  interrupted_frame = reinterpret_cast<std::uintptr_t*>(u->uc_mcontext.regs[29]);
#endif
  return place_of(current, site_of_pc(pc));
}

void on_crash(int signal, siginfo_t* info, void* context) {
  auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  FaultReport f;
  f.kind = "out-of-bounds";
  f.place = interrupted_at(context);
  auto stack = current ? reinterpret_cast<std::uintptr_t>(current->stack) : 0;
  if (current && address < stack && address + 4096 >= stack) {
    f.message = who(current) + " has used up its stack (64 KiB): the recursion has no end, or a local array is too large";
    f.hint = "large arrays belong in shared memory";
  } else if (signal == SIGFPE) {
    f.kind = "wrong-result";
    f.message = (current ? who(current) + " divides" : std::string("a thread divides")) + " an integer by zero";
    f.hint = "a GPU goes on silently with a meaningless number; guard the division";
  } else if (signal == SIGILL) {
    f.message = "control reached the end of a function that must return a value, or unreachable code";
  } else if (std::string where; guarded(info->si_addr, where)) {
    f.message = (current ? who(current) : std::string("the runner")) + " accesses memory " + where;
    f.hint = "check the index arithmetic, and the guard for the last, partial tile";
  } else {
    f.message = info->si_code == SI_KERNEL ? text("%s uses a wild pointer, or a vector at an address that is not a multiple of its size (misaligned address)", current ? who(current).c_str() : "the runner")
                                           : text("%s accesses the address %p, which belongs to no argument and no shared memory", current ? who(current).c_str() : "the runner",
                     info->si_addr);
    f.hint = address < 4096 && info->si_code != SI_KERNEL ? "a null pointer: was every pointer argument passed?" : "check the index arithmetic and the pointers";
  }
  stop(std::move(f));
}

void limit_time(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = long(seconds);
  timer.it_value.tv_usec = long((seconds - double(long(seconds))) * 1e6) + 1;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

bool in_kernel(void* context) {
  auto* u = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
  auto pc = reinterpret_cast<void*>(u->uc_mcontext.gregs[REG_RIP]);
#else
  auto pc = reinterpret_cast<void*>(u->uc_mcontext.pc);
#endif
  Dl_info here, kernel;
  return dladdr(pc, &here) && dladdr(reinterpret_cast<void*>(world.entry->call), &kernel) && here.dli_fbase == kernel.dli_fbase;
}

void on_timeout(int, siginfo_t*, void* context) {
  // Most of the time the scheduler is choosing, or a thread is in the functions that look at its accesses, from where its
  // line cannot always be told: a few milliseconds later one is back in the kernel.
  static int again = 200;
  if (world.entry && again-- > 0 && !(current && in_kernel(context))) return limit_time(0.001);
  FaultReport f;
  f.kind = "timeout";
  f.message = "the kernel did not end within the time limit";
  if (current) f.message = who(current) + " was still running when the time limit passed";
  f.hint = "a loop that never ends, or a problem that is too large for the emulator: use fewer blocks or smaller tiles";
  f.place = interrupted_at(context);
  stop(std::move(f));
}

void handle(int signal, void (*action)(int, siginfo_t*, void*)) {
  struct sigaction sa {};
  sa.sa_sigaction = action;
  sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(signal, &sa, nullptr);
}

[[noreturn]] void usage(const std::string& message) {
  set_usage_error(message);
  finish();
}

}  // namespace
}  // namespace ws_emu

using namespace ws_emu;

// <cassert> of the host calls this.
extern "C" void __assert_fail(const char* expression, const char* file, unsigned line, const char*) noexcept {
  fail("launch-error", text("the kernel's assertion failed: %s", expression).c_str(), "", Where{file, int(line)});
}

namespace {

struct Buffer {
  std::string name;
  std::size_t offset, bytes, element;
  void** slot;         // null: known to the kernel through a tensor map only
  unsigned char* map;
};

struct Job {  // one launch
  std::string library;
  Config config;
  bool overlaps = false;  // may start before the launch before it has finished
  std::vector<void*> arguments;
  std::vector<Buffer> buffers;
};

// Reads the job file: lines of a key and values; "launch" starts the next launch.
std::vector<Job> read_jobs(const char* path, std::size_t& arena, double& seconds) {
  std::vector<Job> jobs;
  std::ifstream file(path);
  std::string line, key;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    in >> key;
    if (key == "arena") in >> arena;
    else if (key == "limit") in >> seconds;
    else if (key == "launch") {
      jobs.emplace_back();
      in >> jobs.back().overlaps;
      std::getline(in >> std::ws, jobs.back().library);
    }
    if (jobs.empty()) continue;
    Job& job = jobs.back();
    Config& c = job.config;
    auto dim = [&](Vec3& v) { in >> v.x >> v.y >> v.z; };
    if (key == "grid") dim(c.grid);
    else if (key == "block") dim(c.block);
    else if (key == "cluster") dim(c.cluster);
    else if (key == "smem") in >> c.dynamic;
    else if (key == "cooperative") in >> c.cooperative;
    else if (key == "seed") in >> c.seed;
    else if (key == "trace") in >> c.trace;
    else if (key == "array") {
      Buffer b{};
      in >> b.name >> b.offset >> b.bytes >> b.element;
      b.slot = static_cast<void**>(std::calloc(1, sizeof(void*)));
      job.arguments.push_back(b.slot);
      job.buffers.push_back(b);
    } else if (key == "map" || key == "scalar") {
      Buffer b{};
      std::string hex;
      in >> b.name;
      if (key == "map") in >> b.offset >> b.bytes >> b.element;
      in >> hex;
      auto* slot = static_cast<unsigned char*>(std::aligned_alloc(64, (hex.size() / 2 + 128) / 64 * 64));
      if (key == "map") b.map = slot, job.buffers.push_back(b);
      for (std::size_t i = 0; i + 1 < hex.size(); i += 2) slot[i / 2] = (unsigned char)std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16);
      job.arguments.push_back(slot);
    }
  }
  return jobs;
}

void open_library(const std::string& path, unsigned number) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) usage(std::string("the compiled kernel could not be loaded: ") + dlerror());
  auto entry = reinterpret_cast<const Entry* (*)()>(dlsym(library, "ws_emu_entry"));
  if (!entry) usage("the compiled kernel has no entry point");
  link_map* map = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, &map);
  set_library(reinterpret_cast<void*>(map->l_addr), number);
  world.entry = entry();
  open_device_variables();
}

void launch(Job& job, bool new_library) {
  Config& c = job.config;
  if (c.dynamic > kSharedLimit)
    usage(text("smem=%zu: a block can have at most %zu bytes of shared memory (227 KiB)", c.dynamic, kSharedLimit));
  if (c.cluster_size() > 8) usage(text("a cluster of %u blocks: at most 8 are portable", c.cluster_size()));
  for (const Buffer& b : job.buffers) {
    unsigned char* at = b.bytes ? global_base() + b.offset : nullptr;
    if (b.slot) *b.slot = at;
    if (b.map) std::memcpy(b.map, &at, sizeof at);  // the first field of the emulator's tensor map
    if (b.bytes && !known_buffer(b.offset)) add_global_buffer(b.offset, b.bytes, b.name, b.element);
  }
  world.config = c;
  world.arguments = job.arguments;
  if (!job.overlaps) world.finished_gangs = world.gang;
  world.finished_after_wait = world.gang;
  begin_launch(c.dynamic, new_library);
  run_grid();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  set_report_path(argv[3]);
  std::setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  std::size_t arena = 0;
  double seconds = 30;
  std::vector<Job> jobs = read_jobs(argv[1], arena, seconds);
  rlimit core{0, 0};
  setrlimit(RLIMIT_CORE, &core);
  world.random.seed(jobs.empty() ? 0 : jobs.front().config.seed);

  static unsigned char signal_stack[1 << 16];
  stack_t alternative{};
  alternative.ss_sp = signal_stack;
  alternative.ss_size = sizeof signal_stack;
  sigaltstack(&alternative, nullptr);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) handle(s, on_crash);
  handle(SIGALRM, on_timeout);
  limit_time(seconds);

  map_global(argv[2], arena);
  unsigned together = 1;
  for (const Job& job : jobs)
    together = std::max(together, job.config.cooperative ? job.config.blocks() : job.config.cluster_size());
  make_shared_arena(together);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    bool again = i && jobs[i].library == jobs[i - 1].library;
    if (!again) open_library(jobs[i].library, unsigned(i));
    launch(jobs[i], !again);
  }
  finish();
}
