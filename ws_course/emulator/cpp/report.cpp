#include "report.hpp"

#include "copies.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <map>
#include <set>

namespace ws_emu {

std::uintptr_t library_base;
std::uintptr_t* interrupted_frame = nullptr;
SiteId library_bits;

namespace {

constexpr std::size_t kMostFaults = 24;
constexpr std::size_t kMostSpans = 200000;
constexpr SiteId kExplicit = 0x80000000u;

struct SpanRecord {
  long block;
  int warp;
  const char* work;
  std::uint64_t start, end;
  int item;
  std::string name;
};

std::vector<Where> sites;
std::map<std::pair<const char*, int>, SiteId> site_index;
std::vector<FaultReport> faults;
std::set<std::string> seen;
std::vector<SpanRecord> spans;
std::string report_path, usage_error;

std::string json_string(const std::string& s) {
  std::string r = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') (r += '\\') += c;
    else if (static_cast<unsigned char>(c) < 32) r += text("\\u%04x", c);
    else r += c;
  }
  return r + "\"";
}

std::string site_json(SiteId id) {
  if (id & kExplicit) {
    const Where& w = sites[id & ~kExplicit];
    return text("\"file\": %s, \"line\": %d", json_string(w.file).c_str(), w.line);
  }
  return text("\"pc\": %u, \"library\": %u", id & 0x7ffffffu, id >> 27);
}

std::string place_json(const Place& p) {
  return "{" + site_json(p.site) +
         text(", \"block\": %ld, \"warp\": %d, \"lane\": %d, \"what\": %s}", p.block, p.warp, p.lane, json_string(p.what).c_str());
}

}  // namespace

std::string text(const char* format, ...) {
  char buffer[2048];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  return buffer;
}

SiteId site_of(Where w) {
  if (!w.file) return SiteId(w.line);  // a program counter, see hooks.cpp
  auto [it, fresh] = site_index.try_emplace({w.file, w.line}, SiteId(sites.size()) | kExplicit);
  if (fresh) sites.push_back(w);
  return it->second;
}

Place place_of(const Thread* t, SiteId site, std::string what) {
  if (!t) return {site, -1, -1, -1, std::move(what)};
  return {site, long(t->block->number), int(t->rank / 32), int(t->rank % 32), std::move(what)};
}
Place place_of(const Thread* t, Where w, std::string what) { return place_of(t, site_of(w), std::move(what)); }

std::string who(const Thread* t) {
  std::string lane = text("warp %u lane %u", t->rank / 32, t->rank % 32);
  return world.config.blocks() > 1 ? text("block %llu ", (unsigned long long)t->block->number) + lane : lane;
}

// The frame pointer that ws_fiber_switch saved (fiber.hpp).
static std::uintptr_t* saved_frame(const void* sp) {
#if defined(__x86_64__)
  return reinterpret_cast<std::uintptr_t* const*>(sp)[5];
#else
  return reinterpret_cast<std::uintptr_t* const*>(sp)[10];
#endif
}

void report(FaultReport f) {
  std::string key = f.kind + "|" + text("%u", f.place.site);
  for (const Place& p : f.others) key += text("|%u", p.site);
  if (faults.size() >= kMostFaults || !seen.insert(key).second) return;
  if (const Thread* t = f.stack_of ? f.stack_of : current) {  // callers, for sites inside a header or a helper function
    auto* frame = f.stack_of          ? saved_frame(f.stack_of->sp)
                  : interrupted_frame ? interrupted_frame
                                      : static_cast<std::uintptr_t*>(__builtin_frame_address(0));
    auto low = reinterpret_cast<std::uintptr_t>(t->stack);
    for (int depth = 0; depth < 24 && frame; ++depth) {
      auto a = reinterpret_cast<std::uintptr_t>(frame);
      if (a < low || a >= low + (1u << 20)) break;
      if (frame[1] > library_base) f.callers.push_back(site_of_pc(reinterpret_cast<void*>(frame[1])));
      frame = reinterpret_cast<std::uintptr_t*>(frame[0]);
    }
  }
  faults.push_back(std::move(f));
}

void stop(FaultReport f) {
  report(std::move(f));
  finish();
}

void add_span(const Thread* t, const char* work, std::uint64_t start, std::uint64_t end, int item, std::string name) {
  if (spans.size() < kMostSpans && end > start)
    spans.push_back({long(t->block->number), int(t->rank / 32), work, start, end, item, std::move(name)});
}

void set_library(const void* base, unsigned number) {
  library_base = reinterpret_cast<std::uintptr_t>(base);
  library_bits = number << 27;
}
void set_report_path(const char* path) { report_path = path; }
void set_usage_error(const std::string& message) { usage_error = message; }

void finish() {
  std::fflush(stdout);
  FILE* out = std::fopen(report_path.c_str(), "w");
  if (!out) _exit(70);
  std::fprintf(out, "{\"usage_error\": %s,\n\"switches\": %llu,\n\"faults\": [", json_string(usage_error).c_str(),
               (unsigned long long)world.switches);
  const std::string count = overcounted_barrier();
  const char* comma = "";
  for (FaultReport& f : faults) {
    if (!count.empty() && (f.kind == "race" || f.kind == "deadlock" || f.kind == "uninitialised-read"))
      f.hint = count + (f.hint.empty() ? "" : "; otherwise: " + f.hint);
    std::fprintf(out, "%s\n{\"kind\": %s, \"message\": %s, \"hint\": %s, \"object\": %s, \"place\": %s, \"others\": [", comma,
                 json_string(f.kind).c_str(), json_string(f.message).c_str(), json_string(f.hint).c_str(), json_string(f.object).c_str(),
                 place_json(f.place).c_str());
    const char* inner = "";
    for (const Place& p : f.others) std::fprintf(out, "%s%s", inner, place_json(p).c_str()), inner = ", ";
    std::fprintf(out, "], \"callers\": [");
    inner = "";
    for (auto pc : f.callers) std::fprintf(out, "%s%u", inner, pc), inner = ", ";
    std::fprintf(out, "]}");
    comma = ",";
  }
  std::fprintf(out, "],\n\"spans\": [");
  comma = "";
  for (const SpanRecord& s : spans) {
    std::fprintf(out, "%s\n[%ld, %d, \"%s\", %llu, %llu, %d, %s]", comma, s.block, s.warp, s.work, (unsigned long long)s.start,
                 (unsigned long long)s.end, s.item, json_string(s.name).c_str());
    comma = ",";
  }
  std::fprintf(out, "]}\n");
  std::fclose(out);
  _exit(0);
}

void fail(const char* kind, const char* message, const char* hint, Where w) {
  FaultReport f{kind, message, hint, "", place_of(current, w), {}, {}};
  stop(std::move(f));
}

}  // namespace ws_emu
