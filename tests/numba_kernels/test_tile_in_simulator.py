"""The numba rungs against NumPy in the simulator, and the guard around the order of imports."""

import os
import subprocess
import sys

import pytest

CHECK = """
import sys, numpy as np
from ws_course.numba_kernels import tile
from ws_course.numba_kernels.choice import simulated
from ws_course.problem import TileProblem
assert simulated()
for tiles, grid, side, rows in [(0, 2, 4, 2), (1, 3, 4, 4), (5, 2, 4, 2), (3, 1, 8, 4)]:
    problem = TileProblem(tiles, side, seed=tiles)
    c = tile.run(sys.argv[1], problem, grid, rows)
    np.testing.assert_allclose(c, problem.reference(), rtol=0, atol=problem.tolerance)
"""


def python(code, *arguments, **variables):
    """Run code in a fresh process: the choice between GPU and simulator holds for a whole process."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, env=environment
    )


@pytest.mark.parametrize("rung", ["one_buffer", "double_buffer"])
def test_equals_numpy(rung):
    done = python(CHECK, rung, NUMBA_ENABLE_CUDASIM="1")
    assert done.returncode == 0, done.stderr


def test_compiles_for_a_gpu():
    """The simulator accepts Python that the compiler does not, so compile too: that needs no GPU."""
    code = """
from ws_course import device
device.driver = lambda: device.Driver(gpus=(device.Gpu("pretended", (9, 0)),))
from ws_course.numba_kernels import matmul, tile
from ws_course.numba_kernels.choice import simulated
from numba import float32, int64
assert not simulated()
for name, side in [("one_buffer", 64), ("double_buffer", 32)]:
    ptx, _ = tile.cuda.compile_ptx(tile.RUNGS[name](side, 16).py_func, (float32[:, :, ::1],) * 3, cc=(9, 0))
    assert ".shared" in ptx and "bar.sync" in ptx
tile.cuda.compile_ptx(matmul.matmul_shared.py_func, (*(float32[:, ::1],) * 3, int64), cc=(9, 0))
"""
    done = python(code, NUMBA_ENABLE_CUDASIM="0")
    assert done.returncode == 0, done.stderr


def test_a_barrier_less_is_wrong_or_at_least_noticed():
    """The check above can fail: without the first barrier, threads read what was not written yet."""
    from ws_course.numba_kernels import choice

    source = (os.path.dirname(choice.__file__) + "/tile.py").replace("\\", "/")
    code = f"""
import re, sys
text = open({source!r}).read().replace("cuda.syncthreads()  # written -> read", "pass")
assert text.count("pass") == 1
import types
module = types.ModuleType("broken"); exec(compile(text, "broken", "exec"), module.__dict__)
from ws_course.problem import TileProblem
import numpy as np
problem = TileProblem(4, 8)
c = module.run("one_buffer", problem, 1, 2)
sys.exit(0 if np.allclose(c, problem.reference(), atol=problem.tolerance) else 5)
"""
    assert python(code, NUMBA_ENABLE_CUDASIM="1").returncode == 5


@pytest.mark.parametrize("first", ["import numba, os", "import os"])
def test_the_variable_may_come_after_numba_but_not_after_numba_cuda(first):
    code = (
        first
        + """
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
from ws_course.numba_kernels import choice, matmul
assert choice.simulated()
"""
    )
    done = python(code, NUMBA_ENABLE_CUDASIM="0")
    assert done.returncode == 0, done.stderr


def test_too_late_is_said():
    code = "import numba.cuda, os; os.environ['NUMBA_ENABLE_CUDASIM'] = '1'; import ws_course.numba_kernels.tile"
    done = python(code, NUMBA_ENABLE_CUDASIM="0")
    assert done.returncode == 1
    assert "restart the Python kernel" in done.stderr


def test_bad_sizes_are_refused():
    code = """
from ws_course.numba_kernels import tile
from ws_course.problem import TileProblem
bad = [(TileProblem(1, 8), 3), (TileProblem(1, 64), 2), (TileProblem(1, 8, intensity=2), 2), (TileProblem(1, 64), 16)]
for problem, rows in bad:
    try:
        tile.run("double_buffer", problem, 1, rows)
    except ValueError as error:
        print(error)
"""
    done = python(code, NUMBA_ENABLE_CUDASIM="1")
    assert len(done.stdout.splitlines()) == 4, done.stdout + done.stderr


def test_matmul_in_the_simulator():
    code = "from ws_course.numba_kernels.matmul import seconds; print(seconds(9))"
    done = python(code, NUMBA_ENABLE_CUDASIM="1")
    assert done.returncode == 0 and float(done.stdout.strip("[]\n")) > 0, done.stderr
