"""docs/emulator.md shows what the emulator really says and knows; ``WS_WRITE_DOCS=1 pytest <this file>`` writes it."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import numpy as np
import pytest

from ws_course.bench import emulator as bench
from ws_course.emulator import ptx
from ws_course.faults import FaultKind
from ws_course.runtime import Kernel

HERE = Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("corpus_tests", HERE / "test_corpus.py")
corpus = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(corpus)
PAGE = HERE.parents[1] / "docs" / "emulator.md"

HEAD = 'extern "C" __global__ void k(const float* x, float* y) {\n  __shared__ float s[64];\n  int i = threadIdx.x;\n'
BULK = """#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(16) float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y, s, 256);
}"""
CLUSTER = """#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const float* x, float* y) {
  __shared__ float s[64];
  auto cluster = cooperative_groups::this_cluster();
  s[threadIdx.x] = x[threadIdx.x];
  cluster.sync();
  y[threadIdx.x] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[63 - threadIdx.x];
}"""
EXAMPLES = {
    FaultKind.DEADLOCK: (
        "#include <cuda/barrier>\n"
        + HEAD
        + "  __shared__ cuda::barrier<cuda::thread_scope_block> ready;\n  if (i == 0) init(&ready, 65);\n"
        "  __syncthreads();\n  ready.arrive_and_wait();\n}",
        {},
    ),
    FaultKind.RACE: (HEAD + "  s[i] = x[i];\n  y[i] = s[63 - i];\n}", {}),
    FaultKind.ILLEGAL_COLLECTIVE: (HEAD + "  if (i % 2) __syncthreads();\n  else __syncthreads();\n}", {}),
    FaultKind.BARRIER_MISUSE: (HEAD + '  asm volatile("bar.sync 16, 64;");\n}', {}),
    FaultKind.UNINITIALISED_READ: (HEAD + "  y[i] = s[i];\n}", {}),
    FaultKind.OUT_OF_BOUNDS: (HEAD + "  y[i + 1] = x[i];\n}", {}),
    FaultKind.MISSING_PROXY_FENCE: (BULK, {}),
    FaultKind.DSMEM_AFTER_EXIT: (CLUSTER, {"grid": 2}),
    FaultKind.LAUNCH_ERROR: (
        HEAD + "  __shared__ float big[16384];\n  big[i] = 0;\n}",
        {},
    ),
    FaultKind.COMPILE_ERROR: (HEAD + "  y[i] = z[i];\n}", {}),
    FaultKind.TIMEOUT: (HEAD + "  for (;;) {}\n}", {"timeout": 1.0}),
    FaultKind.WRONG_RESULT: (HEAD + "  y[i] = i / int(x[i] - x[i]);\n}", {}),
    FaultKind.NOT_EMULATED: (HEAD + '  asm volatile("membar.unknown;");\n}', {}),
}


def run(source: str, **options):
    x = np.arange(64, dtype=np.float32)
    options = {"grid": 1, "block": 64, "backend": "emulator", **options}
    return Kernel(source, "k", "k.cu").run(x, np.zeros(64, np.float32), **options)


def faults_text() -> str:
    """Return a table with one fault of each kind, as the emulator words it."""
    rows = ["| kind | for example |", "|---|---|"]
    for kind, (source, options) in EXAMPLES.items():
        fault = next(f for f in run(source, **options).faults if f.kind is kind)
        hint = f"<br>*usual cause:* {fault.hint}" if fault.hint else ""
        rows.append(f"| `{kind.value}` | {fault.message}{hint} |".replace("`k.cu`", "k.cu"))
    return "\n".join(rows)


def readable(pattern: str) -> str:
    """Return a pattern of the translator's table as a reader writes it: [.optional], {one,of}, n for digits."""
    s = pattern.replace(r"(b|u|s|f)(8|16|32|64)", "TYPE").replace(r"(b|u|s|f)(32|64)", "TYPE")
    s = s.replace(r"\d+", "n").replace(r"[\w.:]*", "…").replace(r"(\.\w+)*", "…").replace(".*", "…").replace("\\", "")
    s = re.sub(r"\[(\d)-(\d)\]d", r"{\1…\2}d", s)
    s = re.sub(r"\[(\w+)\]", lambda m: "{" + ",".join(m.group(1)) + "}", s)
    while True:  # from the inside out
        new = re.sub(r"\(([^()]*)\)([?*]?)", _group, s)
        if new == s:
            break
        s = new
    return ", ".join(f"`{part}`" for part in s.split("|")).replace("\x00", "|")


def _group(m: re.Match) -> str:
    inner, many = m.group(1), m.group(2)
    if many:
        return f"[{inner}]".replace("|", ",")
    return "{" + inner.replace("|", ",") + "}" if "|" in inner else inner


def instructions_text() -> str:
    """Return the instructions that the translator knows, in the order of its table."""
    groups = {
        "barriers and mbarriers": r"^\(?bar|^mbarrier",
        "asynchronous copies": r"^cp|^st\\\.async|griddep",
        "fences and hints": r"^fence|^membar|prefetch",
        "tensor cores and matrices": r"^wgmma|^ldmatrix|^stmatrix|^mma",
        "loads, stores, atomics": r"^ld|^st|^\(atom|^red",
    }
    rows: dict[str, list[str]] = {name: [] for name in [*groups, "the rest"]}
    for pattern, _ in ptx._TABLE:
        name = next((g for g, first in groups.items() if re.match(first, pattern)), "the rest")
        rows[name].append(readable(pattern))
    return "\n".join(
        ["| what for | instructions |", "|---|---|"] + [f"| {n} | {'<br>'.join(r)} |" for n, r in rows.items() if r]
    )


# NVIDIA compute-sanitizer 2025.3.1 (memcheck, racecheck, synccheck, initcheck) on an NVIDIA H200, driver 580, CUDA
# 13.0, measured 2026-11-29: what a plain run of the faulty kernel did, which tools reported an error on it, and which
# tools did on the fixed one.
SANITIZER = {
    "A01": ("wrong in 1 of 5 runs", "racecheck", ""),
    "A02": ("wrong", "racecheck", ""),
    "A04": ("wrong", "synccheck", "synccheck"),
    "A05": ("hangs", "synccheck", "synccheck"),
    "A06": ("right", "racecheck, synccheck", ""),
    "A07": ("launch failure", "synccheck, memcheck", ""),
    "A08": ("wrong in 1 of 5 runs", "racecheck", ""),
    "A09": ("hangs", "", "racecheck"),
    "A10": ("illegal instruction", "memcheck", ""),
    "A11": ("right", "", ""),
    "A12": ("right", "synccheck", ""),
    "A13": ("right", "racecheck", ""),
    "A14": ("wrong in 1 of 5 runs", "racecheck", ""),
    "A15": ("hangs", "", ""),
    "A17": ("right", "", ""),
    "A19": ("hangs", "", ""),
    "A20": ("right", "", ""),
    "A22": ("launch failure", "racecheck, memcheck", ""),
    "A23": ("hangs", "", "racecheck"),
    "A24": ("wrong", "", ""),
    "A25": ("hangs", "", ""),
    "A27": ("wrong in 4 of 5 runs", "", ""),
}
# racecheck stops these with a deadlock time-out that one may ask for
TIME_OUT = ("A05", "A09", "A19", "A23", "A25")


def sanitizer_text() -> str:
    """Return what was recorded of compute-sanitizer beside what the emulator finds now, on both of each pair."""
    rows = [
        "| the mistake | plain run on the GPU | compute-sanitizer | the emulator | false alarms on the fixed kernel |",
        "|---|---|---|---|---|",
    ]
    for name, (ran, tools, alarms) in SANITIZER.items():
        text = (HERE / "corpus" / f"{name}_bad.cu").read_text()
        title = re.search(r"^// title: (.*)$", text, re.M).group(1)
        tools = tools or ("deadlock time-out only" if name in TIME_OUT else "nothing")
        rows.append(f"| {title} | {ran} | {tools} | {emulator_finds(name)} | {both_alarms(name, alarms)} |")
    return "\n".join(rows)


def both_alarms(name: str, sanitizer: str) -> str:
    ours = "emulator" if corpus.run(name, "good")[0].faults else ""
    return ", ".join(w for w in (sanitizer, ours) if w) or "none"


def emulator_finds(name: str) -> str:
    result, _, _ = corpus.run(name, "bad")
    found = sorted({f.kind.value for f in result.faults})
    everywhere = {s for f in result.faults for s in f.seeds} == set(result.seeds)
    return ", ".join(found) + ("" if everywhere else " (not in every schedule)") if found else "nothing"


def speed_text() -> str:
    """Return the recorded comparison with numba's simulator."""
    return f"```text\n{bench.load()}\n```"


PARTS = {"instructions": instructions_text, "faults": faults_text, "sanitizer": sanitizer_text, "speed": speed_text}


@pytest.mark.parametrize("name", PARTS)
def test_the_page_says_what_is_so(name):
    page, new = PAGE.read_text(encoding="utf-8"), PARTS[name]() + "\n"
    part = re.search(rf"(?s)(<!-- {name} -->\n)(?:.*\n)?(<!-- /{name} -->)", page)
    assert part, f"docs/emulator.md has lost its part {name}"
    if os.environ.get("WS_WRITE_DOCS"):
        PAGE.write_text(page[: part.start()] + part[1] + new + part[2] + page[part.end() :], encoding="utf-8")
    else:
        same = alike(part[0]) == alike(part[1] + new + part[2])
        assert same, "write it anew: WS_WRITE_DOCS=1 pytest tests/emulator/test_docs.py"


def alike(text: str) -> str:
    """Leave out what depends on the host compiler: which of many threads is named, and how errors are worded."""
    text = re.sub(r"\b(warp|lane|block) \d+|(\w+)\[\d+\]|^\| `compile-error` .*$", r"\1\2", text, flags=re.M)
    return re.sub(r"\b(reads?|writes?|wrote) ", "", text.replace("lane of the same warp", "warp lane"))


def test_every_kind_of_fault_has_an_example():
    assert set(EXAMPLES) == set(FaultKind)


def test_the_page_names_the_files_that_there_are():
    page = PAGE.read_text(encoding="utf-8")
    folder = HERE.parents[1] / "ws_course" / "emulator"
    named = set(re.findall(r"`([\w./]+\.(?:py|cpp|hpp|h))`", page))
    there = {p.name for p in folder.rglob("*") if p.suffix in {".py", ".cpp", ".hpp"} and p.name != "__init__.py"}
    assert there <= {Path(n).name for n in named}, there - {Path(n).name for n in named}
