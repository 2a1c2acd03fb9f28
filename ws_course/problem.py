"""What kernels work on: inputs, reference results (NumPy), and how many floating-point operations and bytes it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TileProblem:
    """Describe a stream of independent tile products, ``C[i] = intensity * (A[i] @ B[i // share])``.

    ``tiles`` (0 or more) matrices of ``tile`` x ``tile`` float32 values each; a kernel really does each product
    ``intensity`` times and sums, so that arithmetic grows while the bytes stay. ``share`` consecutive tiles use the
    same matrix of B: what a cluster can load once for all its CTAs. ``seed`` chooses the random inputs. Raises
    ``ValueError`` for numbers that describe no work.
    """

    tiles: int
    tile: int = 64
    intensity: int = 1
    seed: int = 0
    share: int = 1

    def __post_init__(self) -> None:
        for name in ("tiles", "tile", "intensity", "share"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
                raise ValueError(f"{name}={value!r}: a problem is described by integers")
        if self.tiles < 0:
            raise ValueError(f"tiles={self.tiles}: a number of tiles is 0 or more")
        if self.tile < 1 or self.intensity < 1:
            raise ValueError(f"tile={self.tile} and intensity={self.intensity} must both be at least 1")
        if self.share < 1:
            raise ValueError(f"share={self.share}: a matrix of B is used by 1 tile or more")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return the shape of A and C: ``(tiles, tile, tile)``."""
        return self.tiles, self.tile, self.tile

    @property
    def shape_b(self) -> tuple[int, int, int]:
        """Return the shape of B: that of A, with a matrix for every ``share`` tiles."""
        return -(-self.tiles // self.share), self.tile, self.tile

    def inputs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return fresh arrays A and B, float32, standard normal: the same values for the same seed."""
        random = np.random.default_rng(self.seed)
        a = random.standard_normal(self.shape, dtype=np.float32)
        return a, random.standard_normal(self.shape_b, dtype=np.float32)

    def output(self) -> np.ndarray:
        """Return an array for C, float32, filled with NaN: an element that nobody writes cannot pass a check."""
        return np.full(self.shape, np.nan, dtype=np.float32)

    def reference(self) -> np.ndarray:
        """Return C, float32, computed in float64 and rounded once."""
        a, b = self.inputs()
        b = b.repeat(self.share, axis=0)[: self.tiles]
        return (self.intensity * (a.astype(np.float64) @ b.astype(np.float64))).astype(np.float32)

    @property
    def flops(self) -> int:
        """Return the floating-point operations: a multiply and an add for each step of each dot product."""
        return 2 * self.tiles * self.tile**3 * self.intensity

    @property
    def bytes(self) -> int:
        """Return the bytes that must cross device memory: A and B read once, C written once."""
        return 4 * self.tile**2 * (2 * self.tiles + self.shape_b[0])

    @property
    def tolerance(self) -> float:
        """Return the largest absolute error of one element that rounding explains.

        Each of the n = ``intensity * tile`` additions rounds a partial sum that is about as large as the result, sigma
        = ``intensity * sqrt(tile)``, to 24 bits; random signs add such errors up to sqrt(n) 2^-24 sigma (Higham,
        "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 2.8). The factor 16 leaves room for the worst
        of millions of elements; one forgotten term is still a hundred times larger.
        """
        terms = self.intensity * self.tile
        return 16 * 2.0**-24 * terms**0.5 * self.intensity * self.tile**0.5
