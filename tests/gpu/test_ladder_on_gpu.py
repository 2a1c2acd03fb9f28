"""Every rung on the GPU against NumPy, over sizes that do not divide evenly."""

import numpy as np
import pytest

from ws_course.kernels.catalog import ALL, MATMUL
from ws_course.problem import TileProblem
from ws_course.runtime.kernel import Kernel

pytestmark = pytest.mark.gpu

VARIANTS = [
    (spec, params)
    for spec in ALL
    if "sm_80" in spec.archs  # the others have a file of their own
    for params in (
        {},
        {"TILE": 32},
        {"SHARE": 8},
        {"INTENSITY": 3},
        {"STAGES": 3},
        {"STAGES": 4, "TILE": 32},
        {"LOADER_WARPS": 1, "STORER_WARPS": 1},
        {"LOADER_WARPS": 4, "STORER_WARPS": 4, "STAGES": 1},
        {"LOADER_WARPS": 3, "STORER_WARPS": 1, "STAGES": 2},
    )
    if set(params) <= set(spec.defaults)
]


@pytest.mark.parametrize(("spec", "params"), VARIANTS, ids=lambda v: getattr(v, "name", None) or str(v))
@pytest.mark.parametrize(
    ("tiles", "grid"), [(0, 3), (1, 1), (1, 5), (2, 1), (5, 2), (131, 132), (133, 132), (700, 264)]
)
def test_equals_numpy(spec, params, tiles, grid):
    problem = TileProblem(
        tiles, params.get("TILE", 64), params.get("INTENSITY", 1), seed=tiles, share=params.get("SHARE", 1)
    )
    a, b = problem.inputs()
    c = problem.output()
    kernel = Kernel(spec.source, spec.name, spec.path.name, spec.defines(**params))
    result = kernel.run(
        a, b, c, tiles, grid=grid, block=spec.block(**params), smem=spec.smem(**params), backend="gpu", timeout=20
    )
    assert result.ok, str(result)
    np.testing.assert_allclose(c, problem.reference(), rtol=0, atol=problem.tolerance)


@pytest.mark.parametrize("n", [0, 1, 16, 33, 64, 100])
def test_matmul_equals_numpy(n):
    random = np.random.default_rng(n)
    a, b = (random.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    c = np.full((n, n), np.nan, np.float32)
    side = max(1, -(-n // 16))
    result = Kernel.from_file(MATMUL).run(a, b, c, n, grid=(side, side), block=(16, 16), backend="gpu")
    assert result.ok, str(result)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-4)
