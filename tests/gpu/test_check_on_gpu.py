"""Checks and ``%%cuda`` on a real GPU: the same verdicts, with the GPU named."""

from dataclasses import replace

import numpy as np
import pytest

from ws_course import device
from ws_course.check import Case, Out, check, check_kernel
from ws_course.faults import FaultKind
from ws_course.kernels import catalog
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel

pytestmark = pytest.mark.gpu

COPY = """\
__global__ void copy(const float* x, float* y, int n) {{
  if (threadIdx.x < {limit}) y[threadIdx.x] = x[threadIdx.x];
}}
"""


def case(n):
    x = np.random.default_rng().standard_normal(n, dtype=np.float32)
    return Case((x, Out(x.copy(), rtol=0, atol=0), n), block=64, name=f"n = {n}")


def test_a_right_kernel_passes():
    verdict = check_kernel(Kernel(COPY.format(limit="n"), "copy"), [case(n) for n in (1, 37, 64)], backend="gpu")
    assert str(verdict) == "passed: 3 cases on the GPU, every value exact"


def test_unwritten_elements_are_recognised_after_the_trip_to_the_gpu_and_back():
    verdict = check_kernel(Kernel(COPY.format(limit="32"), "copy"), [case(32), case(40)], backend="gpu")
    assert [fault.kind for fault in verdict.faults] == [FaultKind.WRONG_RESULT]
    assert verdict.faults[0].object == "y[32]"
    assert "8 of 40 elements are wrong, all of them never written" in verdict.faults[0].message


def test_a_rung_passes_on_several_shapes():
    verdict = check("tile_00_one_buffer", [TileProblem(n, seed=n) for n in (0, 1, 5)], backend="gpu")
    assert str(verdict) == "passed: 3 cases on the GPU, every value within tolerance"


TOO_OLD = bool(GPUS := device.driver().gpus) and GPUS[0].capability < (9, 0)


@pytest.mark.skipif(TOO_OLD, reason="needs Hopper or later")
@pytest.mark.parametrize("spec", (*catalog.ABLATIONS, *catalog.HOPPER), ids=lambda spec: spec.name)
def test_every_kernel_of_the_catalog_is_checked_as_it_asks_for_its_arguments(spec):
    problems = [TileProblem(n, tile=tile, seed=n, share=8) for n in (0, 1, 37) for tile in (32, 64)]
    verdict = check(spec, problems, backend="gpu")
    assert verdict and verdict.total == len(problems), str(verdict)


@pytest.mark.skipif(TOO_OLD, reason="needs Hopper or later")
def test_wrong_values_behind_a_map_are_found():
    spec = replace(catalog.get("tile_09_persistent"))
    spec.__dict__["source"] = spec.source.replace("return i ^ (i / 8 % 8);", "return i;")
    (fault,) = check(spec, TileProblem(2, tile=32), backend="gpu").faults
    assert fault.kind == FaultKind.WRONG_RESULT and fault.object.startswith("C[0, ")


def test_a_compile_error_has_its_line_and_column():
    source = "\n__global__ void f(float* x) {\n\tx[0] = y;\n}\n"
    (fault,) = Kernel(source, "f", "cell f").compile("gpu")
    assert (fault.kind, fault.file, fault.line, fault.column) == (FaultKind.COMPILE_ERROR, "cell f", 3, 9)
    assert Kernel(source.replace("y;", "1;"), "f").compile("gpu") == ()
