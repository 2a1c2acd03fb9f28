"""Every kernel compiles for every chip without a GPU, and a mistake is one message with file and line."""

from pathlib import Path

import numpy as np
import pytest

from ws_course import device
from ws_course.build import cache, nvrtc, signature
from ws_course.kernels import catalog
from ws_course.kernels.catalog import ABLATIONS, ARCHS, LADDER, MATMUL, MEASURE

EXTREMES = {"STAGES": 4, "LOADER_WARPS": 4, "STORER_WARPS": 4, "INTENSITY": 8, "TILE": 32}


def compile_one(source, entry="k", arch="sm_90a", **defines):
    return nvrtc.compile_cubin(source, entry, file="lesson.cu", defines=defines, arch=arch)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("spec", [s for s in (*LADDER, *ABLATIONS) if s.archs == ARCHS], ids=lambda spec: spec.name)
def test_every_kernel_compiles(spec, arch):
    assert arch in spec.archs
    extremes = {name: value for name, value in EXTREMES.items() if name in spec.defaults}
    for params in ({}, extremes) if arch == "sm_90a" else ({},):
        defines = spec.defines(**params)
        cubin = nvrtc.compile_cubin(spec.source, spec.name, file=spec.path.name, defines=defines, arch=arch)
        assert cubin.image.startswith(b"\x7fELF") and cubin.symbol == spec.name
        assert cubin.log == "", "a kernel that is taught compiles without a warning"
        assert [str(p) for p in cubin.parameters] == ["const float32*", "const float32*", "float32*", "int32"]


@pytest.mark.parametrize("path", (*MEASURE.values(), MATMUL), ids=lambda path: path.stem)
def test_the_other_kernels_compile(path):
    for arch in ARCHS:
        nvrtc.compile_cubin(path.read_text(), path.stem, file=path.name, arch=arch)


@pytest.mark.parametrize(
    ("name", "params", "says"),
    [
        ("tile_02_cp_async", {"STAGES": 1}, "at least one to fill"),
        ("tile_00_one_buffer", {"TILE": 66}, "rows of whole float4"),
        ("tile_04_pipeline_roles", {"LOADER_WARPS": 40}, "at most 1024 threads"),
    ],
)
def test_wrong_constants_stop_at_the_static_assert(name, params, says):
    spec = catalog.get(name)
    with pytest.raises(nvrtc.CompileError, match=says) as caught:
        nvrtc.compile_cubin(spec.source, name, file=spec.path.name, defines=spec.defines(**params), arch="sm_90a")
    assert caught.value.diagnostics[0].file == spec.path.name


def test_errors_have_the_file_and_line_of_the_source():
    source = 'extern "C" __global__ void k(int* x) {\n  x[0] = 1;\n  x[1] = y;\n}\n'
    with pytest.raises(nvrtc.CompileError) as caught:
        compile_one(source)
    (error,) = caught.value.diagnostics
    assert (error.file, error.line, error.severity) == ("lesson.cu", 3, "error")
    assert str(caught.value) == 'lesson.cu:3: error: identifier "y" is undefined'


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ('extern "C" __global__ void other() {}', "no kernel called k"),
        ("__device__ __noinline__ void k(int* x) { *x = 1; }", "declare it __global__"),
        ("__global__ void k(int) {}  __global__ void k(float) {}", "overloaded"),
        ("template <int N> __global__ void k() {}", "function template"),
        ("#include <no_such_header.h>\n__global__ void k() {}", "no_such_header.h"),
    ],
)
def test_what_is_no_kernel_is_said_plainly(source, says):
    with pytest.raises(nvrtc.CompileError, match=says):
        compile_one(source)


def test_warnings_do_not_stop_a_kernel():
    cubin = compile_one('extern "C" __global__ void k() { int unused; }')
    (warning,) = nvrtc.diagnostics(cubin.log)
    assert (warning.severity, warning.line) == ("warning", 1) and "unused" in warning.message


def test_an_unknown_chip_is_refused():
    with pytest.raises(nvrtc.CompileError, match="gpu-architecture"):
        compile_one("__global__ void k() {}", arch="sm_20")
    with pytest.raises(ValueError, match="sm_90a"):
        compile_one("__global__ void k() {}", arch="hopper")


def test_the_compiler_tells_the_signature():
    source = """
    using Real = float; struct Pair { double a, b; };
    template <class T> __global__ void k(const T* __restrict__ in, Real* const out, unsigned char u, long long big,
                                         bool yes, Pair pair, void* any, const unsigned short* half, double d) {}"""
    cubin = compile_one(source, "k<float>")
    assert [(p.way, p.kind, p.size) for p in cubin.parameters] == [
        ("in", "f", 4),
        ("inout", "f", 4),
        ("value", "u", 1),
        ("value", "i", 8),
        ("value", "b", 1),
        ("value", "x", 16),
        ("inout", "x", 0),
        ("in", "u", 2),
        ("value", "f", 8),
    ]
    assert cubin.parameters[0].dtype == np.float32 and cubin.parameters[5].dtype is None
    assert compile_one("__global__ void k() {}").parameters == ()
    with pytest.raises(ValueError, match="signature"):
        signature.read(b"\x7fELF")


def test_compiles_once(monkeypatch, tmp_path):
    monkeypatch.setenv("WS_COURSE_CACHE", str(tmp_path))
    source = "__global__ void k(float* x) { *x = VALUE; }"
    first = compile_one(source, VALUE=1)
    monkeypatch.setattr(nvrtc, "_compile", lambda *args: pytest.fail("compiled again"))
    assert compile_one(source, VALUE=1) == first
    for other in ({"source": source + " "}, {"VALUE": 2}, {"arch": "sm_80"}):
        with pytest.raises(pytest.fail.Exception):
            compile_one(**{"source": source, "VALUE": 1, **other})


def test_a_damaged_entry_is_compiled_again(monkeypatch, tmp_path):
    monkeypatch.setenv("WS_COURSE_CACHE", str(tmp_path))
    source = "__global__ void k(float* x) { *x = 1; }"
    first = compile_one(source)
    (entry,) = (tmp_path / "cubin").iterdir()
    for damage in (b"", b"nonsense", entry.read_bytes()[:-10]):
        entry.write_bytes(damage)
        assert compile_one(source) == first


def test_a_cache_that_cannot_be_written_is_only_slow(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("WS_COURSE_CACHE", str(blocked))
    assert compile_one("__global__ void k() {}").symbol


def test_the_cache_forgets_the_least_recently_used(monkeypatch, tmp_path):
    monkeypatch.setenv("WS_COURSE_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "LIMIT", 10)
    store = cache.Cache("things")
    for number in range(30):
        store.put(f"{number:02}", bytes([number]))
    left = {path.name for path in (tmp_path / "things").iterdir()}
    assert len(left) <= 10 and "29" in left and store.get("29") == bytes([29])
    assert store.get("00") is None


@pytest.mark.skipif(
    not set(device.HEADER_PACKAGES) <= set(device.packages()), reason="no header packages here: a toolkit has to do"
)
def test_headers_come_from_the_wheels():
    for folder in nvrtc.header_folders():
        assert "site-packages" in folder.parts


@pytest.fixture
def toolkit(monkeypatch, tmp_path):
    """Pretend that there are no wheels; the answer makes a toolkit of a given CUDA, with all headers."""
    monkeypatch.setattr(nvrtc, "_wheel_folders", lambda: [])
    monkeypatch.setattr(device, "toolkits", lambda: ())

    def make(*version):
        for header in ("cooperative_groups.h", "crt/host_defines.h", "cccl/cuda/pipeline"):
            (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / header).touch()
        monkeypatch.setattr(device, "toolkits", lambda: (device.Toolkit(str(tmp_path), version),))
        return tmp_path

    nvrtc.header_folders.cache_clear()
    yield make
    nvrtc.header_folders.cache_clear()


def test_headers_of_a_fitting_toolkit_will_do(toolkit):
    include = toolkit(*nvrtc.nvrtc_version())
    assert nvrtc.header_folders() == (include, include / "cccl")


def test_headers_newer_than_the_compiler_are_refused(toolkit):
    major, minor = nvrtc.nvrtc_version()
    toolkit(major, minor + 1)
    with pytest.raises(nvrtc.ToolchainError, match=rf"CUDA {major}.{minor + 1}.*pip install"):
        nvrtc.header_folders()


def test_no_headers_are_said_with_the_fix(toolkit):
    with pytest.raises(nvrtc.ToolchainError, match="pip install .*nvidia-cuda-cccl"):
        nvrtc.header_folders()


def test_the_package_ships_its_kernels():
    assert all(Path(spec.path).is_file() for spec in LADDER)


def test_several_kernels_compile_in_processes_and_come_back_in_order(monkeypatch, tmp_path):
    monkeypatch.setenv("WS_COURSE_CACHE", str(tmp_path))  # empty, so that the processes have something to do
    monkeypatch.setattr(nvrtc.os, "cpu_count", lambda: 3)
    source = 'extern "C" __global__ void k(int* y) { *y = N; }'
    jobs = [{"source": source, "entry": "k", "file": "k.cu", "defines": {"N": n}, "arch": "sm_90a"} for n in range(9)]
    cubins = nvrtc.compile_several(jobs)
    assert [c.image for c in cubins] == [nvrtc.compile_cubin(**job).image for job in jobs]
    assert len({c.image for c in cubins}) == 9
    with pytest.raises(nvrtc.CompileError, match="nonsense"):
        nvrtc.compile_several([*jobs, {**jobs[0], "source": source.replace("*y", "nonsense")}])
