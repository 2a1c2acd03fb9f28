"""Match what a caller passes with what a kernel takes, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ws_course.build.signature import Parameter
from ws_course.runtime.tensormap import TensorMap

_NUMBERS = (int, float, bool, np.generic)


@dataclass(frozen=True)
class Array:
    """Pass an array: ``index`` counts the distinct arrays of a call, in the order in which they first appear."""

    index: int


@dataclass(frozen=True)
class Value:
    """Pass a scalar: the bytes that go into the kernel's argument buffer."""

    data: bytes


@dataclass(frozen=True)
class Map:
    """Pass a tensor map by value; ``index`` is the array that it describes, as in :class:`Array`."""

    index: int
    map: TensorMap


@dataclass(frozen=True)
class Bound:
    """Hold one call's arguments.

    ``arguments`` has one entry per parameter; ``arrays`` the distinct arrays (an array that is passed twice is one
    array on the device too) and ``written`` which of them the kernel may write.
    """

    arguments: tuple[Array | Value | Map, ...]
    arrays: tuple[np.ndarray, ...]
    written: tuple[bool, ...]


def bind(parameters: Sequence[Parameter], args: Sequence[object], entry: str) -> Bound:
    """Check ``args`` against ``parameters`` and return them ready to pass.

    Raises ``TypeError`` for a wrong number of arguments or a wrong type, ``ValueError`` for an array that cannot be
    passed (not contiguous, read-only where the kernel writes, overlapping another) and for a number that does not fit.
    """
    if len(args) != len(parameters):
        takes = ", ".join(map(str, parameters)) or "nothing"
        raise TypeError(f"{entry} takes {_count(len(parameters))} ({takes}), but the call has {len(args)}")
    arguments: list[Array | Value | Map] = []
    arrays: list[np.ndarray] = []
    written: list[bool] = []
    for position, (parameter, arg) in enumerate(zip(parameters, args, strict=True)):
        where = f"argument {position} of {entry} ({parameter})"
        if isinstance(arg, TensorMap):
            if not _may_be_map(parameter):
                raise TypeError(f"{where} is no CUtensorMap: declare it const __grid_constant__ CUtensorMap")
            index = next((i for i, known in enumerate(arrays) if _same(known, arg.array)), None)
            if index is None:
                index = len(arrays)
                arrays.append(arg.array)
                written.append(False)
            written[index] |= arg.array.flags.writeable  # a map may be stored through
            arguments.append(Map(index, arg))
            continue
        if parameter.way == "value":
            arguments.append(Value(_value(parameter, arg, where)))
            continue
        _check_array(parameter, arg, where)
        index = next((i for i, known in enumerate(arrays) if _same(known, arg)), None)
        if index is None:
            if any(np.may_share_memory(known, arg) and known.nbytes and arg.nbytes for known in arrays):
                raise ValueError(f"{where} overlaps another argument in part: pass a copy, or the whole array twice")
            index = len(arrays)
            arrays.append(arg)
            written.append(False)
        written[index] |= parameter.way == "inout"
        arguments.append(Array(index))
    return Bound(tuple(arguments), tuple(arrays), tuple(written))


def _may_be_map(parameter: Parameter) -> bool:
    """Return whether a parameter has the size of a CUtensorMap and is passed as one is."""
    return (parameter.way, parameter.kind, parameter.size) == ("value", "x", 128)


def _count(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.ctypes.data == other.ctypes.data and one.nbytes == other.nbytes


def _check_array(parameter: Parameter, arg: object, where: str) -> None:
    if not isinstance(arg, np.ndarray):
        raise TypeError(f"{where} is a pointer: pass a NumPy array, not {type(arg).__name__}")
    expected = parameter.dtype
    if expected is not None and expected.kind == "b" and arg.dtype == np.uint8:
        expected = arg.dtype  # a bool is a byte
    if expected is not None and arg.dtype != expected:
        raise TypeError(f"{where} needs an array of {expected}, not of {arg.dtype}: use array.astype(np.{expected})")
    if expected is None and parameter.size and (parameter.size % arg.dtype.itemsize or arg.nbytes % parameter.size):
        raise TypeError(
            f"{where} needs elements of {parameter.size} bytes (a vector or a struct): {arg.nbytes} bytes of "
            f"{arg.dtype} are no whole number of them"
        )
    if not arg.flags.c_contiguous:
        raise ValueError(f"{where} must be contiguous in memory: pass np.ascontiguousarray(array)")
    if parameter.way == "inout" and not arg.flags.writeable:
        raise ValueError(f"{where} is written by the kernel, but the array is read-only: pass array.copy()")


def _value(parameter: Parameter, arg: object, where: str) -> bytes:
    if _may_be_map(parameter) and not isinstance(arg, np.generic):  # any bytes would do for a struct, but not for a map
        raise TypeError(
            f"{where} takes a tensor map, not {type(arg).__name__}: pass ws_course.runtime.TensorMap(array, box), "
            "or for a struct of your own a NumPy scalar of 128 bytes"
        )
    if parameter.dtype is None:
        if isinstance(arg, (np.generic, np.ndarray)) and arg.nbytes == parameter.size:
            return arg.tobytes()
        raise TypeError(f"{where} is passed by value: give a NumPy scalar of {parameter.size} bytes")
    if isinstance(arg, np.ndarray) or not isinstance(arg, _NUMBERS):
        raise TypeError(f"{where} is a number, not {type(arg).__name__}")
    kind = np.asarray(arg).dtype.kind
    if kind not in {"f": "fiu", "i": "iub", "u": "iub", "b": "biu"}[parameter.kind]:
        raise TypeError(f"{where} cannot be given {arg!r} of type {type(arg).__name__}")
    if parameter.kind == "b" and arg not in (0, 1):
        raise TypeError(f"{where} is a bool: pass True or False, not {arg!r}")
    if parameter.kind in "iu":
        limits = np.iinfo(parameter.dtype)
        if not limits.min <= int(arg) <= limits.max:
            raise ValueError(f"{where} cannot hold {arg}: it is between {limits.min} and {limits.max}")
    return parameter.dtype.type(arg).tobytes()
