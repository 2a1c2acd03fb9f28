"""Arguments against parameters: what is passed, and the sentence for what cannot be."""

import numpy as np
import pytest

from ws_course.build.signature import Parameter
from ws_course.runtime import TensorMap
from ws_course.runtime.arguments import Array, Value, bind

IN, OUT = Parameter("in", "f", 4), Parameter("inout", "f", 4)
INT, BYTE, REAL, FLAG = (Parameter("value", *p) for p in (("i", 4), ("u", 1), ("f", 4), ("b", 1)))
HALF, ANY, PAIR = Parameter("inout", "x", 2), Parameter("in", "x", 0), Parameter("value", "x", 8)


def test_arrays_and_scalars():
    a, b = np.ones(3, np.float32), np.zeros((2, 2), np.float32)
    bound = bind([IN, OUT, INT, REAL, FLAG, BYTE], [a, b, np.int64(-5), 2, True, 255], "k")
    assert bound.arguments[:2] == (Array(0), Array(1)) and bound.written == (False, True)
    assert [v.data for v in bound.arguments[2:]] == [
        np.int32(-5).tobytes(),
        np.float32(2).tobytes(),
        b"\x01",
        b"\xff",
    ]
    assert bound.arrays[0] is a and bound.arrays[1] is b


def test_an_array_passed_twice_is_one_and_written_if_any_use_writes():
    x = np.ones(4, np.float32)
    bound = bind([IN, OUT], [x, x], "k")
    assert bound.arguments == (Array(0), Array(0)) and bound.written == (True,)


def test_types_that_numpy_lacks_go_by_size():
    bind([HALF], [np.zeros(4, np.float16)], "k")
    bind([ANY], [np.zeros(4, np.complex128)], "k")
    assert bind([PAIR], [np.complex64(1j)], "k").arguments == (Value(np.complex64(1j).tobytes()),)
    with pytest.raises(TypeError, match="2 bytes"):
        bind([HALF], [np.zeros(4, np.float32)], "k")


@pytest.mark.parametrize(
    ("parameters", "args", "error", "says"),
    [
        (
            [IN, INT],
            [np.ones(1, np.float32)],
            TypeError,
            r"k takes 2 arguments \(const float32\*, int32\), but .* has 1",
        ),
        ([], [1], TypeError, "0 arguments .nothing."),
        (
            [IN],
            [np.ones(1)],
            TypeError,
            r"argument 0 of k .*needs an array of float32, not of float64: use array.astype",
        ),
        ([IN], [[1.0]], TypeError, "NumPy array, not list"),
        ([INT], [1.5], TypeError, "cannot be given 1.5"),
        ([INT], [np.ones(1, np.int32)], TypeError, "is a number, not ndarray"),
        ([INT], ["1"], TypeError, "is a number, not str"),
        ([INT], [2**31], ValueError, "cannot hold 2147483648"),
        ([BYTE], [-1], ValueError, "between 0 and 255"),
        ([FLAG], [2], TypeError, "bool"),
        ([IN], [np.ones((4, 4), np.float32)[:, 1]], ValueError, "ascontiguousarray"),
        ([OUT], [np.broadcast_to(np.float32(1), (1,))], ValueError, "read-only"),
        ([PAIR], [3], TypeError, "8 bytes"),
    ],
)
def test_what_cannot_be_passed(parameters, args, error, says):
    with pytest.raises(error, match=says):
        bind(parameters, args, "k")


def test_arrays_that_overlap_in_part_are_refused():
    x = np.ones(8, np.float32)
    with pytest.raises(ValueError, match="overlaps"):
        bind([IN, OUT], [x[:6], x[2:]], "k")
    bind([IN, OUT], [x[:4], x[4:]], "k")


MAP = Parameter("value", "x", 128)


@pytest.mark.parametrize("wrong", [np.zeros((2, 4), np.float32), np.zeros(32, np.float32), None, [1.0], 7])
def test_a_tensor_map_is_asked_for_by_name(wrong):
    """An array of 128 bytes is not taken for the bytes of a map."""
    with pytest.raises(TypeError, match=r"takes a tensor map, not \w+: pass ws_course.runtime.TensorMap\(array, box\)"):
        bind([MAP], [wrong], "k")


def test_a_struct_of_the_size_of_a_map_is_still_a_struct():
    struct = np.zeros((), [("numbers", "<f4", 32)])[()]
    assert bind([MAP], [struct], "k").arguments == (Value(bytes(128)),)
    array = np.zeros((8, 32), np.float32)
    assert bind([MAP], [TensorMap(array, (8, 32))], "k").arrays[0] is array
