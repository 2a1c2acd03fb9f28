"""The kernels that need Hopper on a GPU against NumPy, for sizes that do not divide evenly, clusters and all."""

import numpy as np
import pytest

from ws_course import device
from ws_course.kernels.catalog import ALL, get
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel, tiles

GPUS = device.driver().gpus
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        bool(GPUS) and GPUS[0].capability < (9, 0), reason="mbarrier waits, TMA and clusters need Hopper or later"
    ),
]

KERNELS = [spec for spec in ALL if "sm_80" not in spec.archs]
VARIANTS = [
    (spec, params)
    for spec in KERNELS
    for params in (
        {},
        {"TILE": 32, "SHARE": 8},
        {"INTENSITY": 3},
        {"STAGES": 1},
        {"STAGES": 4, "TILE": 32},
        {"LOADER_WARPS": 1},
        {"LOADER_WARPS": 3, "STAGES": 2},
        {"COMPUTE_THREADS": 256},
        {"COMPUTE_THREADS": 256, "CTAS": 1},
        {"CTAS": 3, "STAGES": 1},
        {"SCHEDULE": 1},
        {"SCHEDULE": 1, "COMPUTE_THREADS": 256, "CTAS": 1, "SHARE": 8},
        {"SCHEDULERS": 1},
        {"SCHEDULERS": 2, "STAGES": 1},
        {"CLUSTER": 1, "SHARE": 1},
        {"CLUSTER": 2, "SHARE": 2, "STAGES": 1},
        {"CLUSTER": 4, "COMPUTE_THREADS": 256},
        {"CLUSTER": 8, "STAGES": 2},
        {"CLUSTER": 8, "TILE": 32, "STAGES": 1, "INTENSITY": 2},
    )
    if set(params) <= set(spec.defaults) and not ("SCHEDULERS" in spec.defaults and "COMPUTE_THREADS" in params)
]
SHAPES = [(0, 8), (1, 8), (5, 16), (7, 8), (701, 264), (133, 128)]
"""Tiles and grid: fewer tiles than CTAs, rounds that are not full, grids that every cluster divides."""
CASES = [(spec, params, shape) for spec, params in VARIANTS for shape in (SHAPES[2::2] if params else SHAPES)]


def run(spec, count, grid, params, counter=None):
    constants = spec.defines(**params)
    problem = TileProblem(count, constants["TILE"], constants["INTENSITY"], count, constants["SHARE"])
    given = tiles.arguments(spec, *problem.inputs(), c := problem.output())
    if counter is not None:
        given = (*given[:-1], counter)
    kernel = Kernel(spec.source, spec.name, spec.path.name, constants)
    result = kernel.run(
        *given,
        grid=grid,
        block=spec.block(**params),
        cluster=spec.cluster(**params),
        smem=spec.smem(**params),
        backend="gpu",
        timeout=20,
    )
    assert result.ok, str(result)
    np.testing.assert_allclose(c, problem.reference(), rtol=0, atol=problem.tolerance)
    if spec.counter:
        assert given[-1] == [0], "the counter is back at 0 for the next launch"
    return result


@pytest.mark.parametrize(("spec", "params", "shape"), CASES, ids=lambda v: getattr(v, "name", None) or str(v))
def test_equals_numpy(spec, params, shape):
    result = run(spec, *shape, params)
    if set(params) <= {"STAGES", "CLUSTER", "SHARE"}:  # as it is measured
        assert result.stats["local"] == 0, "no registers are spilled"


@pytest.mark.parametrize(("count", "grid"), [(3, 1), (7, 2), (100, 5), (133, 132), (7, 132)])
@pytest.mark.parametrize("spec", [spec for spec in KERNELS if spec.cluster() == 1], ids=lambda spec: spec.name)
def test_any_grid_will_do_without_clusters(spec, count, grid):
    run(spec, count, grid, {})


@pytest.mark.parametrize(("count", "grid"), [(7, 2), (33, 6), (133, 132)])
@pytest.mark.parametrize("spec", [spec for spec in KERNELS if spec.cluster() == 2], ids=lambda spec: spec.name)
def test_any_number_of_whole_clusters_will_do(spec, count, grid):
    run(spec, count, grid, {})


@pytest.mark.parametrize("name", ["tile_10_cluster_dsmem", "tile_10_cluster_read", "tile_11_cluster_multicast"])
def test_clusters_are_right_launch_after_launch(name):
    """A race that needs an unlucky moment gets many: short rounds, one stage, eight CTAs that wait for each other."""
    for count in (64, 65, 1000, 4003):
        run(get(name), count, 128, {"CLUSTER": 8, "TILE": 32, "STAGES": 1})


@pytest.mark.parametrize("schedule", [1, 2])
def test_the_counter_serves_one_launch_after_another(schedule):
    counter = np.zeros(1, np.int32)
    for count, grid in ((700, 132), (0, 2), (2, 264), (131, 5)):
        run(get("tile_09_persistent"), count, grid, {"SCHEDULE": schedule}, counter)
        assert counter == [0]
