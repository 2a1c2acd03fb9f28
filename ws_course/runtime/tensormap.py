"""A tensor map: how the copy engine (TMA) finds a box of a tensor, as an argument that both backends understand."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

SWIZZLES = (0, 32, 64, 128)


@dataclass(frozen=True, eq=False)
class TensorMap:
    """Describe boxes of ``array`` for TMA: pass it where a kernel takes a ``const __grid_constant__ CUtensorMap``.

    ``box`` is the shape that one copy moves, in NumPy order (the last dimension is contiguous); ``swizzle`` the bytes
    of a swizzled row in shared memory (0, 32, 64 or 128); what lies outside the array is read as zero and not written.
    Raises ``ValueError`` for what the hardware refuses (CUDA driver API, ``cuTensorMapEncodeTiled``).
    """

    array: np.ndarray
    box: tuple[int, ...]
    swizzle: int = 0

    def __post_init__(self) -> None:
        a, box = self.array, self.box
        if not 1 <= a.ndim <= 5 or len(box) != a.ndim:
            raise ValueError(
                f"a tensor map has 1 to 5 dimensions, as many in the array ({a.ndim}) as in the box ({len(box)})"
            )
        if not a.flags.c_contiguous:
            raise ValueError("a tensor map needs an array that is contiguous: pass np.ascontiguousarray(array)")
        if any(not 1 <= n <= 256 for n in box):
            raise ValueError(f"box={box}: every dimension of a box is 1 to 256")
        inner = box[-1] * a.itemsize
        if inner % 16:
            raise ValueError(f"box={box}: the innermost dimension has {inner} bytes and must be a multiple of 16")
        if self.swizzle not in SWIZZLES:
            raise ValueError(f"swizzle={self.swizzle}: it is one of {', '.join(map(str, SWIZZLES))} bytes")
        if self.swizzle and inner > self.swizzle:
            raise ValueError(f"box={box}: a row of {inner} bytes does not fit the swizzle of {self.swizzle} bytes")
        if any(s % 16 for s in self.strides):
            raise ValueError(f"the rows of {a.shape} {a.dtype} are not 16, 32, … bytes apart: pad the last dimension")

    @property
    def strides(self) -> tuple[int, ...]:
        """Return the bytes between neighbours in every dimension but the innermost, from the second innermost on."""
        return tuple(self.array.strides[:-1][::-1])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the array's shape, innermost dimension first."""
        return tuple(self.array.shape[::-1])

    @property
    def boxes(self) -> tuple[int, ...]:
        """Return the box, innermost dimension first."""
        return tuple(self.box[::-1])

    def emulated(self) -> bytes:
        """Return the 128 bytes that the emulator reads (``TensorMap`` in emulator/cpp/bulk.cpp), base address 0."""

        def five(values: tuple[int, ...], count: int) -> tuple[int, ...]:
            return (*values, *[1] * (count - len(values)))

        packed = struct.pack(
            "=Q4Q5I5I4H",
            0,
            *five(self.strides, 4),
            *five(self.sizes, 5),
            *five(self.boxes, 5),
            self.array.ndim,
            self.array.itemsize,
            self.swizzle,
            0,
        )
        return packed.ljust(128, b"\0")
