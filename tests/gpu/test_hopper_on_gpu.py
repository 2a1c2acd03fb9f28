"""The rungs after the ladder on a GPU against NumPy, for sizes that do not divide evenly; they need Hopper or later."""

import numpy as np
import pytest

from ws_course import device
from ws_course.kernels.catalog import HOPPER, get
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel, tiles

GPUS = device.driver().gpus
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        bool(GPUS) and GPUS[0].capability < (9, 0), reason="mbarrier waits and TMA need Hopper or later"
    ),
]

VARIANTS = [
    (spec, params)
    for spec in HOPPER
    for params in (
        {},
        {"TILE": 32},
        {"INTENSITY": 3},
        {"STAGES": 1},
        {"STAGES": 4, "TILE": 32},
        {"LOADER_WARPS": 1},
        {"LOADER_WARPS": 3, "STAGES": 2},
        {"COMPUTE_THREADS": 256},
        {"COMPUTE_THREADS": 256, "CTAS": 1},
        {"CTAS": 3, "STAGES": 1},
    )
    if set(params) <= set(spec.defaults)
]


def run(spec, problem, grid, params, counter=None):
    given = tiles.arguments(spec, *problem.inputs(), c := problem.output())
    if counter is not None:
        given = (*given[:-1], counter)
    kernel = Kernel(spec.source, spec.name, spec.path.name, spec.defines(**params))
    result = kernel.run(
        *given, grid=grid, block=spec.block(**params), smem=spec.smem(**params), backend="gpu", timeout=20
    )
    assert result.ok, str(result)
    np.testing.assert_allclose(c, problem.reference(), rtol=0, atol=problem.tolerance)
    return result


@pytest.mark.parametrize(("spec", "params"), VARIANTS, ids=lambda v: getattr(v, "name", None) or str(v))
@pytest.mark.parametrize(("count", "grid"), [(0, 3), (1, 1), (1, 5), (5, 2), (133, 132), (700, 264)])
def test_equals_numpy(spec, params, count, grid):
    problem = TileProblem(count, params.get("TILE", 64), params.get("INTENSITY", 1), seed=count)
    result = run(spec, problem, grid, params)
    assert result.stats["local"] == 0, "no registers are spilled"


def test_the_counter_serves_one_launch_after_another():
    counter = np.zeros(1, np.int32)
    for count, grid in ((700, 132), (0, 2), (2, 264), (131, 5)):
        run(get("tile_09_persistent"), TileProblem(count, seed=count), grid, {}, counter)
        assert counter == [0]
