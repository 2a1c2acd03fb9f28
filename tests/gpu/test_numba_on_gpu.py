"""The numba rungs on a real GPU, where tiles can be large."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.gpu

CHECK = """
import numpy as np
from ws_course.numba_kernels import tile
from ws_course.numba_kernels.choice import simulated
from ws_course.problem import TileProblem
assert not simulated()
for name in tile.RUNGS:
    for tiles, grid in [(0, 2), (1, 3), (300, 132), (7, 2)]:
        problem = TileProblem(tiles, 64 if name == "one_buffer" else 32, seed=tiles)
        c = tile.run(name, problem, grid, 16)
        np.testing.assert_allclose(c, problem.reference(), rtol=0, atol=problem.tolerance)
"""


def test_equals_numpy():
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, "a notebook would show it"
