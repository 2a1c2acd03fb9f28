"""Kernel arguments written on a command line."""

import numpy as np
import pytest

from ws_course.runtime import argspec
from ws_course.runtime.argspec import SpecError


def build(text):
    (value,) = argspec.build([text])
    return value


@pytest.mark.parametrize(
    "text, dtype, values",
    [
        ("in:i32[6]=1,0,1,1,0,1", np.int32, [1, 0, 1, 1, 0, 1]),
        ("in:i32[3]= 1, -2 ,0x10", np.int32, [1, -2, 16]),
        ("in:f32[4]=1.5", np.float32, [1.5] * 4),
        ("in:f32[3]=1,inf,-1e-3", np.float32, [1, np.inf, -1e-3]),
        ("inout:i32[1]=0", np.int32, [0]),
        ("out:i32[2]=7", np.int32, [7, 7]),
        ("in:f16[3]=arange", np.float16, [0, 1, 2]),
        ("in:u64[2]=ones", np.uint64, [1, 1]),
        ("in:i8[2]=zeros", np.int8, [0, 0]),
        ("in:u64[1]=18446744073709551615", np.uint64, [2**64 - 1]),
        ("in:f64[2*3]=arange", np.float64, range(6)),
    ],
)
def test_arrays(text, dtype, values):
    value = build(text)
    assert value.dtype == dtype
    np.testing.assert_array_equal(value, np.array(list(values), dtype))


def test_a_size_may_be_a_product_and_may_have_several_dimensions():
    assert build("in:f32[3*128]=0").shape == (384,)
    assert build("in:f32[2,3*4]=0").shape == (2, 12)


def test_arange_of_a_small_integer_type_wraps_as_in_c():
    np.testing.assert_array_equal(build("in:u8[258]=arange")[-3:], [255, 0, 1])


@pytest.mark.parametrize(
    "text, dtype, value",
    [("i32=16", np.int32, 16), ("f32=-0.5", np.float32, -0.5), ("u8=0xff", np.uint8, 255), ("i64=-1", np.int64, -1)],
)
def test_scalars(text, dtype, value):
    made = build(text)
    assert made.dtype == dtype and made == value and np.ndim(made) == 0


@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_an_output_of_real_numbers_is_poisoned_with_nan(name):
    assert np.isnan(build(f"out:{name}[128]")).all()


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_an_output_of_integers_is_poisoned_with_a_value_nobody_expects(name):
    value = build(f"out:{name}[3]")
    assert value.tolist() == [int(np.array(-1234567).astype(argspec.DTYPES[name]))] * 3
    assert value[0] not in (0, 1)


def test_random_inputs_are_the_same_every_time_and_differ_by_position():
    first, second = argspec.build(["in:f32[1000]=normal", "in:f32[1000]=normal"])
    again, _ = argspec.build(["in:f32[1000]=normal", "in:f32[1000]=normal"])
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)
    assert abs(first.mean()) < 0.2 and 0.8 < first.std() < 1.2


def test_another_seed_makes_other_inputs():
    text = ["in:f32[10]=uniform"]
    one, other = argspec.build(text, seed=1)[0], argspec.build(text, seed=2)[0]
    assert not np.array_equal(one, other)
    assert ((0 <= one) & (one < 1)).all()


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "cannot read"),
        ("in:f32[4", "cannot read"),
        ("f32[3]", "in:, out: or inout:"),
        ("input:f32[3]=1", "in:, out: or inout:"),
        ("in:f33[4]=1", "'f33' is no type"),
        ("in:f32=1", "needs a size"),
        ("in:f32[4]", "needs values"),
        ("inout:i32[1]", "needs values"),
        ("i32", "needs a value"),
        ("i32=", "'' is no i32"),
        ("i32=1.5", "'1.5' is no i32"),
        ("f32=one", "'one' is no f32"),
        ("in:u8[1]=300", "'300' is no u8"),
        ("in:u32[1]=-1", "'-1' is no u32"),
        ("in:f32[4]=1,2", "2 values for 4 elements"),
        ("in:i32[2]=normal", "makes real numbers"),
        ("in:f32[x]=1", "no product of integers"),
        ("in:f32[]=1", "no product of integers"),
        ("in:f32[0]=1", "at least one element"),
        ("in:f32[-4]=1", "at least one element"),
        ("in:f32[1000000000000]=1", "at most 2 GiB"),
    ],
)
def test_what_cannot_be_read_is_quoted_with_the_reason(text, says):
    with pytest.raises(SpecError) as error:
        build(text)
    assert says in str(error.value)
    assert text in str(error.value)


@pytest.mark.parametrize("text", ["in:f32[4]=normal", "out:f32[2,2]", "inout:i32[1]=0", "i32=16"])
def test_a_specification_prints_as_it_was_written(text):
    assert str(argspec.parse(text)) == text
