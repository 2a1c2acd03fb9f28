"""Inline PTX computes what the PTX ISA says, or is refused by name: no wrong result, no crash of the translator."""

from __future__ import annotations

import numpy as np
import pytest

from ws_course.emulator.ptx import NotEmulated, Statement, translate
from ws_course.runtime import Kernel

# instruction with %0 the result and %1 the input, types of both ("r" s32, "f" f32, "l" s64, "h" s16), input, expected
ARITHMETIC = [
    ("cvt.rni.s32.f32 %0, %1", "rf", 2.5, 2),
    ("cvt.rni.s32.f32 %0, %1", "rf", 2.7, 3),
    ("cvt.rzi.s32.f32 %0, %1", "rf", -2.7, -2),
    ("cvt.rmi.s32.f32 %0, %1", "rf", -2.1, -3),
    ("cvt.rpi.s32.f32 %0, %1", "rf", 2.1, 3),
    ("cvt.rzi.s32.f32 %0, %1", "rf", 1e20, 2**31 - 1),
    ("cvt.rzi.s32.f32 %0, %1", "rf", -1e20, -(2**31)),
    ("cvt.rzi.u32.f32 %0, %1", "rf", -5.0, 0),
    ("cvt.rzi.s32.f32 %0, %1", "rf", float("nan"), 0),
    ("cvt.sat.u8.s32 %0, %1", "rr", 300, 255),
    ("cvt.sat.u8.s32 %0, %1", "rr", -4, 0),
    ("cvt.sat.s8.s32 %0, %1", "rr", -300, -128),
    ("cvt.sat.f32.f32 %0, %1", "ff", 1.5, 1.0),
    ("cvt.u8.s32 %0, %1", "rr", 300, 44),
    ("cvt.s64.s32 %0, %1", "lr", -7, -7),
    ("cvt.rn.f32.s32 %0, %1", "fr", 7, 7.0),
    ("shl.b32 %0, %1, 4", "rr", 5, 80),
    ("shl.b32 %0, %1, 32", "rr", 5, 0),
    ("shr.s32 %0, %1, 2", "rr", -8, -2),
    ("shr.s32 %0, %1, 40", "rr", -5, -1),
    ("shr.u32 %0, %1, 32", "rr", -5, 0),
    ("shl.b64 %0, %1, 33", "ll", 5, 5 << 33),
    ("mul.wide.s32 %0, %1, %1", "lr", -100000, 10**10),
    ("mul.wide.u16 %0, %1, %1", "rh", 500, 250000),
    ("mad.lo.s32 %0, %1, %1, %1", "rr", -100, 9900),
    ("mad.lo.s64 %0, %1, %1, 1", "ll", 100000, 10**10 + 1),
    ("add.s64 %0, %1, 1", "ll", 2**40, 2**40 + 1),
    ("add.u64 %0, %1, 1", "ll", 2**40, 2**40 + 1),
    ("and.b64 %0, %1, 255", "ll", 511, 255),
    ("not.b64 %0, %1", "ll", 0, -1),
    ("neg.s64 %0, %1", "ll", 3, -3),
    ("fma.rn.f32 %0, %1, %1, %1", "ff", 3.0, 12.0),
    ("add.rn.f32 %0, %1, 0f3F800000", "ff", 3.0, 4.0),
    ("rcp.approx.ftz.f32 %0, %1", "ff", 4.0, 0.25),
    ("ex2.approx.ftz.f32 %0, %1", "ff", 3.0, 8.0),
    ("min.s32 %0, %1, -3", "rr", 4, -3),
    ("max.f32 %0, %1, 0f00000000", "ff", -4.0, 0.0),
    ("{ .reg .pred p; setp.gt.s32 p, %1, 3; selp.s32 %0, 10, 20, p; }", "rr", 4, 10),
    ("{ .reg .pred p, q; setp.gt.s32 p|q, %1, 3; selp.s32 %0, 10, 20, q; }", "rr", 4, 20),
    ("{ .reg .pred p; setp.lt.u32 p, %1, 3; @p mov.s32 %0, 1; @!p mov.s32 %0, 2; }", "rr", -1, 2),
    ("{ .reg .b32 lo, hi; mov.b64 {lo, hi}, %1; mov.b64 %0, {hi, lo}; }", "ll", 1 << 32 | 7, 7 << 32 | 1),
    ("{ .reg .b32 t<2>; mov.b32 t0, %1; add.s32 t1, t0, t0; mov.b32 %0, t1; }", "rr", 21, 42),
    ("{ .reg .b32 %%r; .reg .pred %%p; setp.ne.s32 %%p, %1, 0; mov.s32 %%r, 7; @%%p mov.s32 %0, %%r; }", "rr", 1, 7),
    ("{ .reg .b32 %%r<3>; mov.b32 %%r2, %1; mov.b32 %0, %%r2; }", "rr", 9, 9),
    ("mov.b32 %0, %1", "rf", 1.0, 0x3F800000),
]
C_TYPES = {"r": ("int", np.int32), "f": ("float", np.float32), "l": ("long long", np.int64), "h": ("short", np.int16)}


def test_arithmetic():
    """One kernel executes all of them."""
    lines, wanted = [], []
    for i, (instruction, kinds, value, expected) in enumerate(ARITHMETIC):
        result, operand = (C_TYPES[k][0] for k in kinds)
        literal = "__int_as_float(0x7fc00000)" if value != value else f"({operand})({value!r})"
        asm = f'asm volatile("{instruction};" : "={kinds[0]}"(r) : "{kinds[1]}"(v));'
        lines.append(f"{{ {result} r = 0; {operand} v = {literal}; {asm} y[{i}] = double(r); }}")
        wanted.append(expected)
    y = np.zeros(len(wanted))
    source = 'extern "C" __global__ void k(double* y) {\n' + "\n".join(lines) + "\n}"
    result = Kernel(source, "k").run(y, grid=1, block=1, backend="emulator")
    assert result.ok, str(result)
    wrong = [(a[0], want, got) for a, want, got in zip(ARITHMETIC, wanted, y, strict=True) if want != got]
    assert not wrong


def test_operands_that_share_a_register():
    source = """
    extern "C" __global__ void k(int* y) {
      int a = 5, b;
      asm volatile("add.s32 %0, %0, 1;" : "+r"(a));
      asm volatile("add.s32 %0, %1, 2;" : "=r"(b) : "0"(40));
      y[0] = a;
      y[1] = b;
      asm volatile("mov.u32 %0, %%laneid;" : "=r"(y[2]));
    }
    """
    y = np.zeros(3, np.int32)
    result = Kernel(source, "k").run(y, grid=1, block=1, backend="emulator")
    assert result.ok, str(result)
    assert list(y) == [6, 42, 0]


def test_loops_and_labels():
    source = """
    extern "C" __global__ void k(int* y) {
      int sum = 0;
      asm volatile("{ .reg .pred p; .reg .b32 i; mov.b32 i, 0;\\n"
                   "again: add.s32 %0, %0, i; add.s32 i, i, 1; setp.lt.s32 p, i, 5; @p bra again; }" : "+r"(sum));
      y[0] = sum;
    }
    """
    y = np.zeros(1, np.int32)
    assert Kernel(source, "k").run(y, grid=1, block=1, backend="emulator").ok
    assert y[0] == 10


@pytest.mark.parametrize(
    "template",
    [
        "lop3.b32 %0, %1, %1, %1, 0xc0;",
        "add.f16 %0, %1, %1;",
        "add.cc.u32 %0, %1, %1;",
        "add.s32 %0, %1;",
        "mul.hi.u32 %0, %1, %1;",
        "cvt.rn.bf16x2.f32 %0, %1, %1;",
        "cvt.rz.f32.f64 %0, %1;",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0}, {%1}, {%1}, {%0};",
        "mov.u32 %0, %%nosuchregister;",
        "mov.u32 %0, %7;",
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %0}, %1, %1, 1, 1, 1, 0, 0;",
        "{ add.s32 %0, %1, %1;",
        ".reg .f16x2 v;",
        "mov.v3.b32 %0, %1;",
        "bar.red.popc.u32 %0, 0, 32, 1;",
    ],
)
def test_what_is_not_known_is_refused_by_name(template):
    with pytest.raises(NotEmulated) as caught:
        translate(Statement(template, [("r", "a")], [("r", "b")], 0))
    word = template.strip(" {").split()[0].rstrip(";")
    assert (
        word.split(".")[0] in str(caught.value)
        or "operand" in str(caught.value)
        or "braces" in str(caught.value)
        or "register" in str(caught.value)
    )


def test_a_refusal_names_the_line():
    source = 'extern "C" __global__ void k(int* y) {\n  int v;\n  asm("lop3.b32 %0, %0, %0, %0, 1;" : "=r"(v));\n}'
    (fault,) = Kernel(source, "k").run(np.zeros(1, np.int32), grid=1, block=1, backend="emulator").faults
    assert fault.kind == "not-emulated" and fault.line == 3 and "lop3.b32" in fault.message
