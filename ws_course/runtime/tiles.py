"""What a tile kernel is called with: A, B, C and the number of tiles, in the form that its catalog entry asks for."""

from __future__ import annotations

import numpy as np

from ws_course.kernels.catalog import KernelSpec
from ws_course.runtime.tensormap import TensorMap

LINE = 32
"""The floats of one line of 128 bytes: TMA's widest swizzle exchanges 16-byte chunks within 8 such lines."""


def arguments(spec: KernelSpec, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple:
    """Return the arguments of :meth:`Kernel.run` for a kernel of the catalog.

    ``a`` and ``c`` are C-contiguous float32 arrays of shape ``(tiles, tile, tile)``, ``b`` of as many matrices or, when
    tiles share them, fewer; ``c`` is written. A kernel with ``maps`` takes tensor maps of the same memory, a tile as
    lines of 128 bytes; one with ``counter`` takes a fresh 0 as well. Raises ``ValueError`` for arrays that a tensor map
    cannot describe.
    """
    given = tuple(tensor_map(x) if name in spec.maps else x for name, x in zip("ABC", (a, b, c), strict=True))
    return (*given, len(a), np.zeros(1, np.int32)) if spec.counter else (*given, len(a))


def on_device(spec: KernelSpec, a: object, b: object, c: object, counter: object) -> list[int | bytes]:
    """Return the same for :meth:`ws_course.runtime.gpu.Function.prepare`: addresses, and the bytes of maps and scalars.

    ``a``, ``b``, ``c`` and ``counter``, one int32 that is 0, are CuPy arrays, which must live as long as the launches.
    """
    from ws_course.runtime import gpu

    given: list[int | bytes] = [
        # A map needs the shape alone of a host array: its pages are never touched.
        gpu.encode(tensor_map(np.empty(x.shape, np.float32)), x.data.ptr) if name in spec.maps else x.data.ptr
        for name, x in zip("ABC", (a, b, c), strict=True)
    ]
    given.append(np.int32(len(a)).tobytes())
    return [*given, counter.data.ptr] if spec.counter else given


def tensor_map(tiles: np.ndarray) -> TensorMap:
    """Return the map of ``tiles``, ``(tiles, tile, tile)`` float32: one box is one tile, swizzled by 128 bytes.

    A row of a tile can be longer than the 128 bytes that a swizzle spans, but tiles are contiguous, so that a tile is
    also ``tile * tile / 32`` lines. Without tiles the map shows a tile that nobody reads: no map can be empty.
    """
    shown = tiles if len(tiles) else np.zeros((1, *tiles.shape[1:]), tiles.dtype)
    lines = shown.reshape(len(shown), -1, LINE)
    return TensorMap(lines, (1, *lines.shape[1:]), swizzle=4 * LINE)
