"""The problem's numbers against hand counts, and its tolerance against what can go wrong."""

import numpy as np
import pytest

from ws_course.problem import TileProblem


def test_counts_work_by_hand():
    problem = TileProblem(tiles=3, tile=64, intensity=2)
    assert problem.flops == 3 * 2 * (2 * 64 * 64 * 64)
    assert problem.bytes == 3 * (3 * 16384)
    assert problem.shape == (3, 64, 64)


def test_inputs_are_random_float32_and_repeatable():
    problem = TileProblem(5, seed=7)
    a, b = problem.inputs()
    assert a.dtype == b.dtype == np.float32 and a.shape == b.shape == (5, 64, 64)
    assert not np.array_equal(a, b) and 0.9 < a.std() < 1.1
    np.testing.assert_array_equal(a, problem.inputs()[0])
    assert not np.array_equal(a, TileProblem(5, seed=8).inputs()[0])


def test_reference_is_the_product_times_intensity():
    problem = TileProblem(2, tile=8, intensity=3)
    a, b = problem.inputs()
    by_hand = sum(a[1, 4, k].astype(np.float64) * b[1, k, 5] for k in range(8))
    assert problem.reference()[1, 4, 5] == pytest.approx(3 * by_hand, rel=1e-6)
    assert problem.reference().dtype == np.float32


def test_no_tiles_are_a_problem_too():
    problem = TileProblem(0)
    assert problem.reference().shape == problem.output().shape == (0, 64, 64)
    assert problem.flops == problem.bytes == 0


def test_an_unwritten_output_cannot_pass():
    problem = TileProblem(1)
    assert not np.any(np.abs(problem.output() - problem.reference()) <= problem.tolerance)


@pytest.mark.parametrize("intensity", [1, 8, 64])
def test_tolerance_admits_float32_and_no_missing_term(intensity):
    problem = TileProblem(200, intensity=intensity)
    a, b = problem.inputs()
    one = np.zeros(problem.shape, np.float32)
    for _ in range(intensity):  # one long float32 sum, as a kernel does it
        for k in range(64):
            one += a[:, :, k, None] * b[:, None, k, :]
    assert np.abs(one - problem.reference()).max() < problem.tolerance
    missing = one - a[:, :, 3, None] * b[:, None, 3, :]
    assert np.abs(missing - problem.reference()).max() > 100 * problem.tolerance / intensity


@pytest.mark.parametrize(
    "wrong",
    [
        {"tiles": -1},
        {"tiles": 1, "tile": 0},
        {"tiles": 1, "intensity": 0},
        {"tiles": 1, "share": 0},
        {"tiles": 1, "share": float("nan")},
        {"tiles": 2.5},
        {"tiles": True},
        {"tiles": 1, "intensity": "2"},
    ],
)
def test_refuses_numbers_that_are_no_work(wrong):
    with pytest.raises(ValueError, match="="):
        TileProblem(**wrong)


def test_tiles_that_share_a_matrix_of_b():
    problem = TileProblem(5, tile=8, share=2)
    a, b = problem.inputs()
    assert a.shape == (5, 8, 8) and b.shape == problem.shape_b == (3, 8, 8)
    want = np.stack([a[i].astype(np.float64) @ b[i // 2] for i in range(5)])
    np.testing.assert_allclose(problem.reference(), want, rtol=1e-6)
    assert problem.bytes == 4 * 8 * 8 * (5 + 3 + 5)
    with pytest.raises(ValueError, match="share=0"):
        TileProblem(1, share=0)
