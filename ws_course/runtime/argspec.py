"""Read kernel arguments from the command line: ``in:f32[1024]=normal``, ``out:f32[128]``, ``i32=16``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

DTYPES = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
}

FILLS = ("normal", "uniform", "zeros", "ones", "arange")

GRAMMAR = (
    "write in:f32[1024]=normal, in:i32[6]=1,0,1,1,0,1, out:f32[3*128], inout:i32[1]=0 or a scalar i32=16, "
    f"with a type of {', '.join(DTYPES)}"
)

LIMIT = 2**31
"""The most bytes of one array: larger problems are for a GPU."""

_SPEC = re.compile(r"(?:(?P<way>\w+):)?(?P<dtype>[a-z]+\d*)(?:\[(?P<size>[^\]]*)\])?(?:=(?P<fill>.*))?", re.DOTALL)


class SpecError(ValueError):
    """Say which argument specification cannot be read, and how to write it."""


@dataclass(frozen=True)
class ArgSpec:
    """Describe one kernel argument; ``way`` is "in", "out", "inout" or "scalar", ``fill`` as written (None: none)."""

    way: str
    dtype: np.dtype
    shape: tuple[int, ...] = ()
    fill: str | None = None

    def build(self, rng: np.random.Generator) -> np.ndarray | np.generic:
        """Return a fresh argument: an array of ``shape`` or a NumPy scalar. Raises ``SpecError`` for a bad fill."""
        if self.way == "scalar":
            return self._numbers([self.fill])[0]
        size = prod(self.shape)
        if self.fill is None:
            values = np.full(size, poison(self.dtype))
        elif self.fill in FILLS:
            values = self._named(size, rng)
        else:
            values = self._numbers(self.fill.split(","))
            if len(values) not in (1, size):
                raise SpecError(f"{self}: {len(values)} values for {size} elements: give one value, or {size}")
            values = np.full(size, values[0]) if len(values) == 1 else values
        return values.astype(self.dtype, copy=False).reshape(self.shape)

    def _named(self, size: int, rng: np.random.Generator) -> np.ndarray:
        if self.fill in ("normal", "uniform"):
            if self.dtype.kind != "f":
                raise SpecError(
                    f"{self}: {self.fill} makes real numbers: use arange, zeros, ones, a constant or a list"
                )
            return rng.standard_normal(size) if self.fill == "normal" else rng.random(size)
        if self.fill == "arange":
            # a small integer type counts round and round, as C++ would
            return np.arange(size).astype(self.dtype)
        return np.full(size, self.fill == "ones")

    def _numbers(self, words: Iterable[str]) -> np.ndarray:
        values = np.empty(len(words := list(words)), self.dtype)
        for index, word in enumerate(words):
            try:
                with np.errstate(over="raise"):  # 70000 is no f16
                    values[index] = float(word) if self.dtype.kind == "f" else int(word.strip(), 0)
            except (ValueError, OverflowError, FloatingPointError):
                raise SpecError(f"{self}: {word.strip()!r} is no {_name(self.dtype)}\n{GRAMMAR}") from None
        return values

    def __str__(self) -> str:
        way = "" if self.way == "scalar" else f"{self.way}:"
        size = f"[{','.join(map(str, self.shape))}]" if self.way != "scalar" else ""
        return f"{way}{_name(self.dtype)}{size}" + (f"={self.fill}" if self.fill is not None else "")


def poison(dtype: np.dtype | type) -> np.generic:
    """Return the value that an output holds before the launch: NaN, or -1234567 wrapped into an integer type."""
    dtype = np.dtype(dtype)
    return dtype.type(np.nan) if dtype.kind == "f" else np.array(-1234567, np.int64).astype(dtype)[()]


def parse(text: str) -> ArgSpec:
    """Read one specification; raises ``SpecError`` with the grammar for anything that is not one."""
    match = _SPEC.fullmatch(text.strip())
    if not match:
        raise SpecError(f"cannot read the argument {text!r}\n{GRAMMAR}")
    way, name, size, fill = match["way"], match["dtype"], match["size"], match["fill"]
    if name not in DTYPES:
        raise SpecError(f"{text!r}: {name!r} is no type\n{GRAMMAR}")
    dtype = np.dtype(DTYPES[name])
    if size is None and way is None:
        if fill is None:
            raise SpecError(f"{text!r}: a scalar needs a value, such as {name}=16")
        return ArgSpec("scalar", dtype, (), fill)
    if way not in ("in", "out", "inout"):
        raise SpecError(f"{text!r}: an array is in:, out: or inout:\n{GRAMMAR}")
    if size is None:
        raise SpecError(f"{text!r}: an array needs a size, such as {way}:{name}[128]")
    if fill is None and way != "out":
        raise SpecError(f"{text!r}: an array that the kernel reads needs values, such as {text}=arange")
    shape = _shape(text, size)
    if prod(shape) * dtype.itemsize > LIMIT:
        raise SpecError(f"{text!r}: an array has at most {LIMIT >> 30} GiB here: use a smaller problem")
    return ArgSpec(way, dtype, shape, fill)


def build(texts: Iterable[str], seed: int = 0) -> tuple[np.ndarray | np.generic, ...]:
    """Return the arguments for these specifications, random ones from ``seed``; raises ``SpecError``."""
    specs = [parse(text) for text in texts]
    # a stream per position, so that changing one argument leaves the others alone
    return tuple(spec.build(np.random.default_rng((seed, position))) for position, spec in enumerate(specs))


def _shape(text: str, size: str) -> tuple[int, ...]:
    try:
        shape = tuple(prod(int(factor) for factor in part.split("*")) for part in size.split(","))
    except ValueError:
        raise SpecError(f"{text!r}: the size {size!r} is no product of integers, such as 128, 3*128 or 64,64") from None
    if min(shape) < 1:
        raise SpecError(f"{text!r}: an array has at least one element")
    return shape


def _name(dtype: np.dtype) -> str:
    return next(name for name, known in DTYPES.items() if np.dtype(known) == dtype)
