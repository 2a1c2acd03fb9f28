"""Mistakes around kernels that people made in public Python projects, and that cannot happen here.

Found elsewhere in the tests: headers and compiler of different releases (build/test_nvrtc.py, test_doctor.py), the
simulator switched on too late (test_device.py, numba_kernels/), a dead process graded as a pass
(grading/test_isolation.py), errors in a widget's callback that nobody sees (widgets/test_comparison.py).
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ws_course.check import Case, Out, check_kernel
from ws_course.runtime import Kernel

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(p for folder in ("notebooks", "solutions", "exercises") for p in (ROOT / folder).rglob("*.ipynb"))
MODULES = sorted((ROOT / "ws_course").rglob("*.py"))


def cells(path: Path) -> list[dict]:
    return [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]


def python_of(path: Path) -> list[ast.Module]:
    """Return what is Python in a module or notebook: lines of magic are left out, cells of another language too."""
    sources = [path.read_text(encoding="utf-8")]
    if path.suffix == ".ipynb":
        sources = ["".join(c["source"]) for c in cells(path)]
    sources = [
        "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in s.splitlines())
        for s in sources
        if not s.startswith("%%")
    ]
    return [ast.parse(s) for s in sources]


def test_no_stream_ignores_the_others():
    """A copy on the default stream does not wait for a kernel in a non-blocking stream: it may fetch old values."""
    for path in [*MODULES, *NOTEBOOKS]:
        for tree in python_of(path):
            for node in ast.walk(tree):
                assert not (isinstance(node, ast.keyword) and node.arg in ("non_blocking", "nonblocking")), (
                    f"{path.name}:{node.value.lineno}: an ordinary stream is ordered with the default stream"
                )


def shared_arrays(tree: ast.AST) -> list[ast.Call]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("shared.array")]


def test_numba_kernels_share_no_address():
    """Dynamic shared arrays all start at one address on a GPU; the simulator gives two on one line the same memory."""
    seen = 0
    for path in [*MODULES, *NOTEBOOKS]:
        for tree in python_of(path):
            calls = shared_arrays(tree)
            seen += len(calls)
            for call in calls:
                shape = ast.unparse(call.args[0] if call.args else call.keywords[0].value)
                assert shape not in ("0", "(0,)"), f"{path.name}:{call.lineno}: give the array its size"
            lines = [call.lineno for call in calls]
            assert len(lines) == len(set(lines)), f"{path.name}: one shared array a line"
    assert seen >= 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_stored_streams_come_in_one_piece(path):
    """Streams are compared piece by piece: output in several pieces, or on stderr, differs from run to run."""
    for cell in cells(path):
        streams = [o for o in cell["outputs"] if o["output_type"] == "stream"]
        assert [o["name"] for o in streams] in ([], ["stdout"]), "".join(cell["source"])[:80]


def test_another_toolkit_on_the_machine_changes_nothing(tmp_path):
    """The compiler and the headers come from the same packages, whatever CUDA_PATH says."""
    include = tmp_path / "include"
    for name in ("cooperative_groups.h", "cuda/pipeline", "crt/host_defines.h", "vector_types.h", "cuda.h"):
        (include / name).parent.mkdir(parents=True, exist_ok=True)
        (include / name).write_text('#error "the headers of an old toolkit"\n')
    (include / "cuda.h").write_text("#define CUDA_VERSION 12000\n")
    code = """
from ws_course.build.nvrtc import compile_cubin
from ws_course.runtime import Kernel
source = '''// a new text, so that nothing is cached: %d
#include <cooperative_groups.h>
#include <cuda/pipeline>
extern "C" __global__ void k(float* y) { cooperative_groups::this_thread_block().sync(); y[threadIdx.x] = 1; }'''
compile_cubin(source, "k", arch="sm_90")
assert not Kernel(source, "k").compile("emulator")
"""
    variables = ("CUDA_PATH", "CUDA_HOME", "CPATH", "CPLUS_INCLUDE_PATH")
    environment = {k: v for k, v in os.environ.items() if k not in variables}
    environment |= {"CUDA_PATH": str(tmp_path), "CUDA_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code % time.time_ns()], capture_output=True, text=True, env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


def test_a_kernel_that_hangs_is_a_failure_not_a_silence():
    source = 'extern "C" __global__ void k(float* y) { y[threadIdx.x] = 1; while (clock64() >= 0) {} }'
    begin = time.monotonic()
    verdict = check_kernel(
        Kernel(source, "k"), [Case((Out(np.ones(32, np.float32)),), block=32)], backend="emulator", timeout=2
    )
    assert not verdict
    assert "timeout" in str(verdict) or "time limit" in str(verdict)
    assert time.monotonic() - begin < 30
