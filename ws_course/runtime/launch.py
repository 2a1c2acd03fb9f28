"""How a kernel is launched: the numbers between the triple angle brackets, checked before anything runs."""

from __future__ import annotations

from dataclasses import dataclass

Dim = int | tuple[int, ...]


def _dim(name: str, value: Dim) -> tuple[int, int, int]:
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3 or not all(isinstance(p, int) or hasattr(p, "__index__") for p in parts):
        raise ValueError(f"{name} must be one to three integers, not {value!r}: write {name}=4 or {name}=(4, 2)")
    x, y, z = (int(p) for p in (*parts, 1, 1)[:3])
    if min(x, y, z) < 1:
        raise ValueError(f"{name}={value!r}: every dimension must be at least 1. With nothing to do, do not launch.")
    return x, y, z


@dataclass(frozen=True)
class Launch:
    """Hold a launch configuration.

    ``grid``, ``block`` and ``cluster`` are one to three integers (cluster in blocks), ``smem`` is dynamic shared
    memory in bytes. Raises ``ValueError`` with the fix for what no device could launch (CUDA C++ Programming Guide,
    "Compute Capabilities": 1024 threads per block, x/y/z up to 1024/1024/64).
    """

    grid: Dim = 1
    block: Dim = 1
    cluster: Dim = 1
    smem: int = 0
    cooperative: bool = False

    def __post_init__(self) -> None:
        for name in ("grid", "block", "cluster"):
            object.__setattr__(self, name, _dim(name, getattr(self, name)))
        if self.threads > 1024 or self.block[2] > 64:
            raise ValueError(
                f"block={self.block} has {self.threads} threads: a thread block holds at most 1024 (and 64 in z). "
                "Use a smaller block and more blocks."
            )
        if self.grid[0] > 2**31 - 1 or max(self.grid[1:]) > 65535:
            raise ValueError(f"grid={self.grid}: at most 2147483647 blocks in x, and 65535 in y and z")
        if self.smem < 0:
            raise ValueError(f"smem={self.smem}: dynamic shared memory is a number of bytes, 0 or more")
        if any(g % c for g, c in zip(self.grid, self.cluster, strict=True)):
            raise ValueError(f"grid={self.grid} is not a multiple of cluster={self.cluster} in every dimension")

    @property
    def threads(self) -> int:
        """Return the number of threads of one block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        """Return the number of thread blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]
