"""The names in CUDA text: kernels and parameters, whatever stands around them."""

import pytest

from ws_course.kernels import catalog
from ws_course.runtime.names import entry_points, parameter_names

TEXT = """\
// __global__ void in_a_comment(int x);  "
/* __global__ void in_another() */
const char* text = "__global__ void in_a_string()";
template <int N, typename T = float>
__global__ __launch_bounds__(128, max(2, N)) void scale(
    const float* __restrict__ x, float *y, Pair<int, 4> q, const __grid_constant__ T p, float) {}
extern "C" __global__ void nothing() {}
static __global__ void __cluster_dims__(2, 1, 1) last(const int n) {}
__global__ void last(const int n);
__device__ void helper(float* x) {}
"""


def test_entry_points_are_found_once_and_in_order():
    assert entry_points(TEXT) == ("scale", "nothing", "last")
    assert entry_points("int main() {}") == ()


def test_parameters_are_named():
    assert parameter_names(TEXT, "scale<4>") == ("x", "y", "q", "p", "argument 5")
    assert parameter_names(TEXT, "nothing") == ()
    assert parameter_names(TEXT, "last") == ("n",)
    assert parameter_names(TEXT, "helper") == ()


@pytest.mark.parametrize("spec", catalog.LADDER, ids=lambda spec: spec.name)
def test_every_rung_is_read(spec):
    assert entry_points(spec.source) == (spec.name,)
    assert parameter_names(spec.source, spec.name) == ("A", "B", "C", "tiles")
