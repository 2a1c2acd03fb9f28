"""The standard shared-memory matrix product in numba.cuda, line by line the kernel of ``matmul/matmul_shared.cu``.

``python -m ws_course.numba_kernels.matmul N [REPEATS]`` prints how long it takes, as JSON: the number that an emulator
of CUDA C++ is compared with. Set ``NUMBA_ENABLE_CUDASIM=1`` to time the simulator on a machine that has a GPU.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from numba import float32

from ws_course.numba_kernels.choice import load_cuda, simulated

cuda = load_cuda()

SIDE = 16


@cuda.jit
def matmul_shared(A, B, C, n):
    """Compute C = A @ B for [n, n] float32 arrays with blocks of 16 x 16 threads, one element a thread."""
    a = cuda.shared.array((SIDE, SIDE), float32)
    b = cuda.shared.array((SIDE, SIDE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * SIDE + x, cuda.blockIdx.y * SIDE + y
    total = float32(0)
    for start in range(0, n, SIDE):
        a[y, x] = A[row, start + x] if row < n and start + x < n else float32(0)
        b[y, x] = B[start + y, column] if start + y < n and column < n else float32(0)
        cuda.syncthreads()  # both tiles written -> read
        for k in range(SIDE):
            total += a[y, k] * b[k, x]
        cuda.syncthreads()  # both tiles read -> overwritten
    if row < n and column < n:
        C[row, column] = total


def seconds(n: int, repeats: int = 1) -> list[float]:
    """Return the wall time of each run in seconds; raise ``RuntimeError`` if a result is wrong."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    blocks = -(-n // SIDE)
    times = []
    for _ in range(repeats):
        c = np.full((n, n), np.nan, dtype=np.float32)
        start = time.perf_counter()
        matmul_shared[(blocks, blocks), (SIDE, SIDE)](a, b, c, n)
        cuda.synchronize()
        times.append(time.perf_counter() - start)
        if not np.allclose(c, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4):
            raise RuntimeError(f"the numba kernel computed a wrong product for n={n}")
    return times


def main(arguments: list[str]) -> int:
    """Print the times as one line of JSON and return an exit status."""
    n = int(arguments[0]) if arguments else 64
    times = seconds(n, int(arguments[1]) if len(arguments) > 1 else 1)
    print(json.dumps({"n": n, "simulated": simulated(), "seconds": times}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
