"""The first two rungs of the tile ladder in numba.cuda: the same idea, the same barriers, a smaller language.

Differs from the CUDA C++ rungs: the compiler picks the width of loads, and a thread computes every ``block[1]``-th
element of one column instead of a rectangle. Both work for any number of tiles and any grid.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numba import float32

from ws_course.numba_kernels.choice import load_cuda
from ws_course.problem import TileProblem

cuda = load_cuda()


def one_buffer(tile: int, rows: int) -> Callable:
    """Return the kernel ``(A, B, C)`` for blocks of (tile, tile/rows): all load, all wait, all compute."""

    @cuda.jit
    def kernel(A, B, C):
        a = cuda.shared.array((tile, tile), float32)
        b = cuda.shared.array((tile, tile), float32)
        x, y, step = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
        for t in range(cuda.blockIdx.x, A.shape[0], cuda.gridDim.x):
            for r in range(y, tile, step):
                a[r, x] = A[t, r, x]
                b[r, x] = B[t, r, x]
            cuda.syncthreads()  # written -> read
            for r in range(y, tile, step):
                total = float32(0)
                for k in range(tile):
                    total += a[r, k] * b[k, x]
                C[t, r, x] = total
            cuda.syncthreads()  # read -> overwritten

    return kernel


def double_buffer(tile: int, rows: int) -> Callable:
    """Return the kernel ``(A, B, C)`` for the same blocks: fetch the next tile, compute this one, put the next one."""

    @cuda.jit
    def kernel(A, B, C):
        a = cuda.shared.array((2, tile, tile), float32)
        b = cuda.shared.array((2, tile, tile), float32)
        next_a = cuda.local.array(rows, float32)
        next_b = cuda.local.array(rows, float32)
        x, y, step = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
        if cuda.blockIdx.x < A.shape[0]:
            for r in range(y, tile, step):
                a[0, r, x] = A[cuda.blockIdx.x, r, x]
                b[0, r, x] = B[cuda.blockIdx.x, r, x]
        cuda.syncthreads()  # the first tile is written -> it may be read
        buffer = 0
        for t in range(cuda.blockIdx.x, A.shape[0], cuda.gridDim.x):
            following = t + cuda.gridDim.x
            if following < A.shape[0]:
                for i in range(rows):
                    next_a[i] = A[following, y + i * step, x]
                    next_b[i] = B[following, y + i * step, x]
            for r in range(y, tile, step):
                total = float32(0)
                for k in range(tile):
                    total += a[buffer, r, k] * b[buffer, k, x]
                C[t, r, x] = total
            if following < A.shape[0]:
                for i in range(rows):
                    a[1 - buffer, y + i * step, x] = next_a[i]
                    b[1 - buffer, y + i * step, x] = next_b[i]
            cuda.syncthreads()  # next tile written -> read; this one read -> overwritten
            buffer = 1 - buffer

    return kernel


RUNGS: dict[str, Callable[[int, int], Callable]] = {"one_buffer": one_buffer, "double_buffer": double_buffer}
BUFFERS = {"one_buffer": 1, "double_buffer": 2}

STATIC_LIMIT = 48 * 1024
"""Bytes of shared memory that a kernel may declare (CUDA C++ Programming Guide, "Technical Specifications")."""


def run(name: str, problem: TileProblem, grid: int = 2, rows: int = 8) -> np.ndarray:
    """Run one of :data:`RUNGS` and return C, float32; every thread computes ``rows`` elements.

    In the simulator use tiles of 4 to 16: each thread is a Python thread. Raises ``ValueError`` for an intensity other
    than 1 (these kernels have none), where ``rows`` does not divide the tile or a block is larger than 1024, and where
    the buffers are larger than what numba can declare.
    """
    if problem.intensity != 1:
        raise ValueError(f"intensity={problem.intensity}: the numba kernels do each product once")
    if rows < 1 or problem.tile % rows or problem.tile * (problem.tile // rows) > 1024:
        raise ValueError(f"rows={rows} does not cut a tile of {problem.tile} into a block of at most 1024 threads")
    shared = BUFFERS[name] * 2 * 4 * problem.tile**2
    if shared > STATIC_LIMIT:
        raise ValueError(
            f"{name} needs {shared} bytes of shared memory for tiles of {problem.tile}: arrays declared in kernels may "
            f"take {STATIC_LIMIT}; use smaller tiles (the CUDA C++ rungs ask for more at the launch)"
        )
    kernel = RUNGS[name](problem.tile, rows)
    a, b = problem.inputs()
    c = problem.output()
    with warnings.catch_warnings():
        # Few blocks, and arrays that numba copies, are meant here: a lesson shows results, no advice on speed.
        # numba may put colour codes in front of the text.
        warnings.filterwarnings("ignore", message=".*(Grid size|Host array)")
        kernel[grid, (problem.tile, problem.tile // rows)](a, b, c)
    cuda.synchronize()
    return c
