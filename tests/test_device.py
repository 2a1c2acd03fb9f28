"""The capability gate: what it sees here, and what it sees through a driver that answers in a known way."""

import ctypes
import os
import shutil
import stat
import subprocess
import sys

import pytest

from ws_course import device
from ws_course.device import Compiler, Driver, Gpu, Machine

EVERYTHING = {name: "13.5.0" for name in device.PACKAGES}
H200 = Gpu("NVIDIA H200", (9, 0), 132, 232448)
HERE = Driver("580.65.06", (13, 0), (H200,))


def test_this_machine_has_what_the_tests_need():
    machine = device.this_machine()
    assert machine.has_gpu or machine.has_emulator
    assert machine.python == sys.version_info[:3]
    assert machine.has_headers and "numba" in machine.packages
    assert str(machine)


def test_has_gpu_agrees_with_the_machine():
    assert device.has_gpu() == device.this_machine().has_gpu


def test_a_gpu_needs_device_driver_and_packages():
    assert Machine(driver=HERE, packages=EVERYTHING).has_gpu
    assert not Machine(packages=EVERYTHING).has_gpu
    assert not Machine(driver=Driver("535.1", (12, 2), (H200,)), packages=EVERYTHING).has_gpu
    assert not Machine(driver=Driver("580.1", (13, 0), ()), packages=EVERYTHING).has_gpu
    assert not Machine(driver=Driver("580.1", (13, 0), (Gpu("Tesla V100", (7, 0)),)), packages=EVERYTHING).has_gpu
    assert not Machine(driver=HERE, packages={}).has_gpu


def test_the_emulator_needs_a_compiler_headers_and_a_known_processor():
    gcc = Compiler(("g++",), "gcc", (12, 2, 0))
    assert Machine(compiler=gcc, packages=EVERYTHING).has_emulator
    assert not Machine(packages=EVERYTHING).has_emulator
    assert not Machine(compiler=gcc).has_emulator
    assert not Machine(compiler=gcc, packages=EVERYTHING, cpu="riscv64").has_emulator
    assert not Machine(compiler=gcc, packages=EVERYTHING, system="windows").has_emulator


@pytest.mark.parametrize(
    "capability, arch, runs",
    [
        ((9, 0), "sm_80", True),
        ((9, 0), "sm_90", True),
        ((9, 0), "sm_90a", True),
        ((9, 0), "sm_100", False),
        ((8, 9), "sm_90", False),
        ((10, 0), "sm_90a", False),
        ((10, 3), "sm_100f", True),
        ((12, 0), "sm_100f", False),
        ((12, 1), "sm_120", True),
        ((7, 5), "compute_75", True),
    ],
)
def test_which_code_a_device_runs(capability, arch, runs):
    assert Gpu("some", capability).runs(arch) is runs
    assert (
        Machine(driver=Driver("580", (13, 0), (Gpu("some", capability),)), packages=EVERYTHING).supports(arch) is runs
    )


def test_an_architecture_that_is_none_is_refused_with_an_example():
    with pytest.raises(ValueError, match="hopper.*sm_90a"):
        H200.runs("hopper")


def test_without_a_gpu_nothing_is_supported_live():
    assert not Machine(packages=EVERYTHING).supports("sm_80")


@pytest.mark.parametrize(
    "text, version",
    [("13.5.37", (13, 5, 37)), ("13.3.5.0.6", (13, 3, 5, 0, 6)), ("580.65.06", (580, 65, 6)), ("git", ())],
)
def test_versions_are_numbers(text, version):
    assert device.parse_version(text) == version


@pytest.fixture
def compiler_that_says(tmp_path, monkeypatch):
    """Put a compiler in $CXX that prints this text when asked for its version."""

    def put(text, code=0):
        path = tmp_path / "c++"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("CXX", str(path))
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        device.host_compiler.cache_clear()
        return device.host_compiler()

    yield put
    monkeypatch.undo()
    device.host_compiler.cache_clear()


@pytest.mark.parametrize(
    "text, family, version",
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022", "gcc", (12, 2, 0)),
        ("g++ (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0", "gcc", (13, 3, 0)),
        ("x86_64-conda-linux-gnu-c++ (conda-forge gcc 14.2.0-1) 14.2.0", "gcc", (14, 2, 0)),
        ("g++ (GCC) 14.2.1 20250110 (Red Hat 14.2.1-7)", "gcc", (14, 2, 1)),
        ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu", "clang", (14, 0, 6)),
        ("Apple clang version 16.0.0 (clang-1600.0.26.4)", "clang", (16, 0, 0)),
    ],
)
def test_a_compiler_is_known_by_what_it_prints(compiler_that_says, text, family, version):
    found = compiler_that_says(text)
    assert (found.family, found.version) == (family, version)
    assert family in str(found)


@pytest.mark.parametrize("text, code", [("no version here", 0), ("g++ (GCC) 14.2.1", 1)])
def test_a_compiler_that_does_not_answer_is_passed_over(compiler_that_says, text, code):
    found = compiler_that_says(text, code)
    assert found is None or found.command[0] != os.environ["CXX"]


def test_cxx_may_be_a_command_with_arguments(monkeypatch):
    monkeypatch.setenv("CXX", "g++ -pipe")
    device.host_compiler.cache_clear()
    try:
        assert device.host_compiler().command == ("g++", "-pipe")
    finally:
        device.host_compiler.cache_clear()


def test_a_toolkit_is_found_where_the_environment_points(tmp_path, monkeypatch):
    for name, number in (("old", 12040), ("new", 13010)):
        (tmp_path / name / "include").mkdir(parents=True)
        (tmp_path / name / "include" / "cuda.h").write_text(f"#define CUDA_VERSION {number}\n")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "new"))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "old"))
    device.toolkits.cache_clear()
    try:
        first, second = device.toolkits()[:2]
    finally:
        device.toolkits.cache_clear()
    assert (first.version, second.version) == ((13, 1), (12, 4))
    assert first.fits((13, 5, 37)) and not first.fits((13, 0, 88)) and not second.fits((13, 5, 37))


def test_a_relative_cxx_works_from_any_folder(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cc").symlink_to(shutil.which("g++"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CXX", "bin/cc")
    device.host_compiler.cache_clear()
    try:
        assert device.host_compiler().command == (str(tmp_path / "bin" / "cc"),)
    finally:
        device.host_compiler.cache_clear()


FAKE_DRIVER = r"""
#include <cstring>
extern "C" {
int cuDriverGetVersion(int* v) { *v = SPEAKS; return 0; }
int cuInit(unsigned) { return INIT; }
int cuGetErrorName(int code, const char** name) { *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : nullptr; return 0; }
int cuDeviceGetCount(int* n) { *n = 2; return 0; }
int cuDeviceGet(int* d, int i) { *d = i; return 0; }
int cuDeviceGetName(char* name, int size, int d) { std::strncpy(name, d ? "Second" : "First", size); return 0; }
int cuDeviceGetAttribute(int* v, int a, int d) {
  *v = a == 75 ? (d ? 8 : 9) : a == 76 ? (d ? 6 : 0) : a == 16 ? 132 : a == 97 ? 232448 : -1;
  return 0;
}
int nvmlInit_v2() { return 0; }
int nvmlSystemGetDriverVersion(char* v, unsigned n) { std::strncpy(v, "580.65.06", n); return 0; }
int nvmlShutdown() { return 0; }
}
"""


@pytest.fixture
def driver_library(tmp_path, monkeypatch):
    """Compile a driver library that answers like NVIDIA's, and let the gate find it."""

    def build(speaks=13000, init=0):
        source, library = tmp_path / "driver.cpp", tmp_path / f"libdriver{speaks}{init}.so"
        source.write_text(FAKE_DRIVER)
        command = [*device.host_compiler().command, "-shared", "-fPIC", f"-DSPEAKS={speaks}", f"-DINIT={init}"]
        subprocess.run([*command, str(source), "-o", str(library)], check=True)
        monkeypatch.setattr(device, "_load", lambda names: ctypes.CDLL(str(library)))
        device.driver.cache_clear()
        return device.driver()

    yield build
    monkeypatch.undo()
    device.driver.cache_clear()


def test_the_driver_is_asked_for_its_version_and_devices(driver_library):
    driver = driver_library()
    assert driver == Driver(
        "580.65.06", (13, 0), (Gpu("First", (9, 0), 132, 232448), Gpu("Second", (8, 6), 132, 232448))
    )


def test_an_old_driver_is_seen_as_such(driver_library):
    driver = driver_library(speaks=12020)
    assert driver.cuda == (12, 2)
    assert not Machine(driver=driver, packages=EVERYTHING).has_gpu


def test_a_driver_that_does_not_start_says_why(driver_library):
    assert "CUDA_ERROR_NO_DEVICE" in driver_library(init=100).error
    assert "error 7" in driver_library(init=7).error


@pytest.mark.parametrize(
    "code, state",
    [
        ("", "off"),
        ("os.environ['NUMBA_ENABLE_CUDASIM'] = '0'", "off"),
        ("os.environ['NUMBA_ENABLE_CUDASIM'] = '1'", "on"),
        ("os.environ['NUMBA_ENABLE_CUDASIM'] = '1'; import numba.cuda", "on"),
        ("import numba.cuda", "off"),
        ("import numba.cuda; os.environ['NUMBA_ENABLE_CUDASIM'] = '1'", "too late"),
        ("import numba.cuda, numba.core.config as c; c.ENABLE_CUDASIM = 1", "too late"),
    ],
)
def test_the_simulators_state_depends_on_the_order_of_import(code, state):
    code = f"import os; os.environ.pop('NUMBA_ENABLE_CUDASIM', None); {code or 'pass'}\n"
    code += "from ws_course import device; print(device.simulator())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == state


@pytest.mark.gpu
def test_the_real_driver_answers():
    driver = device.driver()
    assert driver.cuda >= device.CUDA
    assert driver.gpus[0].sms > 0 and driver.gpus[0].smem_optin >= 64 * 1024
