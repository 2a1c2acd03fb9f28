"""The rewriter changes what a macro cannot express, and moves no line."""

from __future__ import annotations

import pytest

from ws_course.emulator.rewrite import RewriteError, kernels_of, rewrite


def body(source: str, entry: str = "k") -> list[str]:
    text = rewrite(source, entry, "k.cu").text
    return text[text.index('#line 1 "k.cu"\n') + len('#line 1 "k.cu"\n') :].splitlines()


@pytest.mark.parametrize(
    "declaration, names",
    [
        ("__shared__ float s[32];", ["s"]),
        ("__shared__ unsigned long long full[2], empty[2];", ["full", "empty"]),
        ("__shared__ alignas(128) float buf[2][32];", ["buf"]),
        ("alignas(16) __shared__ float4 v;", ["v"]),
        ("__shared__ __align__(16) char raw[64];", ["raw"]),
        ("static __shared__ int counter;", ["counter"]),
        ("__shared__ std::pair<int, float> p[4];", ["p"]),
        ("__shared__\n  float\n  s[1 + 2 * (3)];", ["s"]),
    ],
)
def test_declarations_become_references(declaration, names):
    source = f"__global__ void k() {{\n  int before = 0;\n  {declaration}\n  int after = __LINE__;\n}}\n"
    lines = body(source)
    text = "\n".join(lines)
    for name in names:
        assert f"auto& {name} = " in text
    assert "__shared__" not in text
    where = source.splitlines().index("  int after = __LINE__;")
    assert lines[where].strip() == "int after = __LINE__;"


def test_comments_and_strings_are_left_alone():
    source = (
        'extern "C" __global__ void k() { // __shared__ float s[4];\n  const char* t = "__shared__ int x; <<<";\n}\n'
    )
    assert body(source)[0] == source.splitlines()[0]


def test_dynamic_and_file_scope_arrays():
    declared = "extern __shared__ float pool[];\n__shared__ int flags[4];\n"
    source = declared + "__global__ void k(float* a) { a[0] = pool[1] + flags[2]; }\n"
    text = rewrite(source, "k", "k.cu").text
    assert "#define pool " in text and "#define flags " in text
    assert body(source)[2] == source.splitlines()[2]


def test_kernels_are_found_behind_their_attributes():
    source = """
    template <int N> __global__ void __launch_bounds__(32 * (N + 1), 2) first(float* a) {}
    extern "C" __global__ void __cluster_dims__(2, 1, 1) second() {}
    // __global__ void third() {}
    """
    assert kernels_of(source) == ("first", "second")
    assert rewrite(source, "second", "k.cu").cluster == (2, 1, 1)
    assert rewrite(source, "first<4>", "k.cu").cluster is None


@pytest.mark.parametrize(
    "source, line, word",
    [
        ("__global__ void k() {}\nint main() { return 0; }", 2, "main"),
        ("__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }", 2, "<<<"),
        ("__global__ void k() {\n  __shared__ int n = 4;\n}", 2, "initialised"),
        ("__global__ void other() {}", 0, "other"),
    ],
)
def test_what_cannot_run_is_refused_with_its_line(source, line, word):
    with pytest.raises(RewriteError) as caught:
        rewrite(source, "k", "k.cu")
    assert caught.value.line == line and word in caught.value.message
