"""What arguments a kernel takes, told by the compiler itself: typedefs, templates and qualifiers included.

A few lines of C++ are appended to a kernel's source. They write the types of its parameters into the compiled image
as text, ``ws-signature:ccpv:fffi:4444;``, one letter and one digit group per parameter, and :func:`read` finds it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

FILE = "<signature>"
"""The file name of the appended lines in compiler messages: an error there means that the entry does not exist."""

_CODE = r"""
#line 1 "<signature>"
namespace ws_signature {
template <class T> constexpr int size_of = sizeof(T);
template <> constexpr int size_of<void> = 0;
template <class T> constexpr char kind = 'x';
template <> constexpr char kind<float> = 'f';
template <> constexpr char kind<double> = 'f';
template <> constexpr char kind<bool> = 'b';
template <> constexpr char kind<char> = 'i';
template <> constexpr char kind<signed char> = 'i';
template <> constexpr char kind<short> = 'i';
template <> constexpr char kind<int> = 'i';
template <> constexpr char kind<long> = 'i';
template <> constexpr char kind<long long> = 'i';
template <> constexpr char kind<unsigned char> = 'u';
template <> constexpr char kind<unsigned short> = 'u';
template <> constexpr char kind<unsigned> = 'u';
template <> constexpr char kind<unsigned long> = 'u';
template <> constexpr char kind<unsigned long long> = 'u';
template <class T> struct Parameter {
  static constexpr char way = 'v', type = kind<T>;
  static constexpr int size = size_of<T>;
};
template <class T> struct Parameter<T*> {
  static constexpr char way = 'p', type = kind<T>;
  static constexpr int size = size_of<T>;
};
template <class T> struct Parameter<const T*> {
  static constexpr char way = 'c', type = kind<T>;
  static constexpr int size = size_of<T>;
};
template <class T> struct Parameter<T* const> : Parameter<T*> {};
template <int VALUE, int POWER> constexpr char digit = char('0' + VALUE / POWER % 10);
template <class F> struct Of;
template <class... P> struct Of<void (*)(P...)> {
  char text[17 + 6 * sizeof...(P)] = {
    'w', 's', '-', 's', 'i', 'g', 'n', 'a', 't', 'u', 'r', 'e', ':', Parameter<P>::way..., ':', Parameter<P>::type...,
    ':', digit<Parameter<P>::size, 1000>..., digit<Parameter<P>::size, 100>..., digit<Parameter<P>::size, 10>...,
    digit<Parameter<P>::size, 1>..., ';'};
};
}
"""


@dataclass(frozen=True)
class Parameter:
    """Describe one kernel parameter.

    ``way`` is "in" (pointer to const), "inout" (pointer) or "value"; ``kind`` is NumPy's letter ("f", "i", "u", "b")
    or "x" for another type such as ``__half`` or a struct; ``size`` is the bytes of one element (0 for ``void*``).
    """

    way: str
    kind: str
    size: int

    @property
    def dtype(self) -> np.dtype | None:
        """Return the NumPy type of one element, or None where C++ has a type that NumPy has not."""
        return np.dtype(f"{self.kind}{self.size}") if self.kind in "fiub" else None

    def __str__(self) -> str:
        name = self.dtype.name if self.dtype else f"{self.size}-byte type" if self.size else "anything"
        return {"in": f"const {name}*", "inout": f"{name}*"}.get(self.way, name)


def appendix(entry: str, storage: str = 'extern "C" __device__ const') -> str:
    """Return the C++ to append to a source that defines the kernel ``entry``; ``storage`` places the text."""
    return f"{_CODE}{storage} ws_signature::Of<decltype(&{entry})> ws_signature_text{{}};\n"


def read(image: bytes) -> tuple[Parameter, ...]:
    """Return the parameters written into a compiled image; raise ``ValueError`` if there are none in it."""
    found = re.search(rb"ws-signature:([cpv]*):([fiubx]*):(\d*);", image)
    if not found:
        raise ValueError("this image holds no kernel signature: it was compiled without signature.appendix()")
    ways, kinds, digits = (group.decode() for group in found.groups())
    count = len(ways)
    sizes = [int(digits[i::count]) for i in range(count)]
    names = {"c": "in", "p": "inout", "v": "value"}
    return tuple(Parameter(names[w], k, s) for w, k, s in zip(ways, kinds, sizes, strict=True))
