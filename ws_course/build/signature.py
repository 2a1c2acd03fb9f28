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

# Names that no macro of a kernel has: its -D constants and its #define lines apply here as well.
_CODE = r"""
#line 1 "<signature>"
namespace ws_signature {
template <class ws_T> constexpr int ws_size_of = sizeof(ws_T);
template <> constexpr int ws_size_of<void> = 0;
template <class ws_T> constexpr char ws_kind = 'x';
template <> constexpr char ws_kind<float> = 'f';
template <> constexpr char ws_kind<double> = 'f';
template <> constexpr char ws_kind<bool> = 'b';
template <> constexpr char ws_kind<char> = 'i';
template <> constexpr char ws_kind<signed char> = 'i';
template <> constexpr char ws_kind<short> = 'i';
template <> constexpr char ws_kind<int> = 'i';
template <> constexpr char ws_kind<long> = 'i';
template <> constexpr char ws_kind<long long> = 'i';
template <> constexpr char ws_kind<unsigned char> = 'u';
template <> constexpr char ws_kind<unsigned short> = 'u';
template <> constexpr char ws_kind<unsigned> = 'u';
template <> constexpr char ws_kind<unsigned long> = 'u';
template <> constexpr char ws_kind<unsigned long long> = 'u';
template <class ws_T> struct ws_Parameter {
  static constexpr char ws_way = 'v', ws_type = ws_kind<ws_T>;
  static constexpr int ws_size = ws_size_of<ws_T>;
};
template <class ws_T> struct ws_Parameter<ws_T*> {
  static constexpr char ws_way = 'p', ws_type = ws_kind<ws_T>;
  static constexpr int ws_size = ws_size_of<ws_T>;
};
template <class ws_T> struct ws_Parameter<const ws_T*> {
  static constexpr char ws_way = 'c', ws_type = ws_kind<ws_T>;
  static constexpr int ws_size = ws_size_of<ws_T>;
};
template <class ws_T> struct ws_Parameter<ws_T* const> : ws_Parameter<ws_T*> {};
template <int ws_VALUE, int ws_POWER> constexpr char ws_digit = char('0' + ws_VALUE / ws_POWER % 10);
template <class ws_F> struct ws_Of;
template <class... ws_P> struct ws_Of<void (*)(ws_P...)> {
  char ws_text[17 + 6 * sizeof...(ws_P)] = {
    'w', 's', '-', 's', 'i', 'g', 'n', 'a', 't', 'u', 'r', 'e',
    ':', ws_Parameter<ws_P>::ws_way...,
    ':', ws_Parameter<ws_P>::ws_type...,
    ':', ws_digit<ws_Parameter<ws_P>::ws_size, 1000>..., ws_digit<ws_Parameter<ws_P>::ws_size, 100>...,
    ws_digit<ws_Parameter<ws_P>::ws_size, 10>..., ws_digit<ws_Parameter<ws_P>::ws_size, 1>..., ';'};
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
    return f"{_CODE}{storage} ws_signature::ws_Of<decltype(&{entry})> ws_signature_text{{}};\n"


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
