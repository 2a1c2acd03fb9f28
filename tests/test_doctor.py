"""Every answer of the doctor, for machines that are described instead of owned."""

import json
from dataclasses import replace

import pytest

from ws_course import device, doctor
from ws_course.device import Compiler, Driver, Gpu, Machine, Toolkit

LESSONS = {"01": "sm_80", "06": "sm_90", "12": "sm_90a"}

LAPTOP = Machine(
    compiler=Compiler(("g++",), "gcc", (12, 2, 0)),
    packages={
        "jupyterlab": "4.4.0",
        "numba": "0.61.0",
        "numba-cuda": "0.20.0",
        "nbgrader": "0.9.5",
        "cupy-cuda13x": "13.6.0",
        "cuda-core": "1.0.0",
        "cuda-bindings": "13.5.0",
        "nvidia-cuda-nvrtc": "13.5.37",
        "nvidia-cuda-runtime": "13.5.37",
        "nvidia-cuda-crt": "13.5.37",
        "nvidia-cuda-cccl": "13.3.5.0.6",
    },
    driver=Driver(error="the NVIDIA driver's library (libcuda) is not on this machine"),
)
H200 = Gpu("NVIDIA H200", (9, 0), 132, 232448)
SERVER = replace(LAPTOP, driver=Driver("580.65.06", (13, 0), (H200,)))


def without(machine, *names):
    return replace(machine, packages={k: v for k, v in machine.packages.items() if k not in names})


def with_version(machine, **versions):
    return replace(machine, packages={**machine.packages, **{k.replace("_", "-"): v for k, v in versions.items()}})


def crosses(machine):
    """Return the findings with a cross, by name."""
    return {finding.name: finding for finding in doctor.diagnose(machine, LESSONS) if not finding.ok}


def only_cross(machine):
    found = list(crosses(machine).values())
    assert len(found) == 1, found
    return found[0]


def runs(machine):
    return doctor.verdict(machine, doctor.diagnose(machine, LESSONS))


def test_a_server_with_a_gpu_has_nothing_to_mend():
    assert crosses(SERVER) == {}
    assert runs(SERVER) == (True, "The lessons run live on the NVIDIA H200, and in the emulator.")


def test_a_laptop_without_a_gpu_runs_the_lessons_in_the_emulator():
    finding = only_cross(LAPTOP)
    assert finding.name == "NVIDIA driver"
    assert "without an NVIDIA GPU there is nothing to do" in finding.fix
    ok, sentence = runs(LAPTOP)
    assert ok and "emulator" in sentence


def test_every_cross_comes_with_a_fix_and_every_tick_without():
    machines = [SERVER, LAPTOP, Machine(), Machine(system="macos"), Machine(system="windows"), Machine(python=(3, 9))]
    for machine in machines:
        for finding in doctor.diagnose(machine, LESSONS):
            assert bool(finding.fix) != finding.ok, finding
            assert finding.detail


def test_an_old_python():
    finding = only_cross(replace(SERVER, python=(3, 10, 4)))
    assert finding.name == "Python" and "3.11" in finding.fix
    assert not runs(replace(SERVER, python=(3, 10, 4)))[0]


def test_missing_packages_are_named():
    finding = only_cross(without(SERVER, "jupyterlab", "numba-cuda"))
    assert finding.detail == "not installed: jupyterlab, numba-cuda"
    assert "make setup" in finding.fix


def test_no_compiler_names_a_command_for_each_system():
    machine = replace(LAPTOP, compiler=None)
    fix = crosses(machine)["C++ compiler (emulator)"].fix
    for command in ("apt-get install g++", "dnf install gcc-c++", "cxx-compiler", "pip install ziglang"):
        assert command in fix
    assert not runs(machine)[0]


def test_no_compiler_matters_less_where_there_is_a_gpu():
    ok, sentence = runs(replace(SERVER, compiler=None))
    assert ok and "the emulator is not available" in sentence


@pytest.mark.parametrize("family, version", [("gcc", (9, 4, 0)), ("clang", (11, 0))])
def test_a_compiler_that_is_too_old(family, version):
    machine = replace(LAPTOP, compiler=Compiler(("c++",), family, version))
    finding = crosses(machine)["C++ compiler (emulator)"]
    assert "too old" in finding.detail and "$CXX" in finding.fix
    assert not runs(machine)[0]


def test_a_processor_that_the_emulator_does_not_know():
    machine = replace(LAPTOP, cpu="riscv64")
    assert "riscv64" in crosses(machine)["C++ compiler (emulator)"].detail
    assert not runs(machine)[0]


def test_no_headers():
    machine = without(SERVER, "nvidia-cuda-cccl")
    finding = only_cross(machine)
    assert "cooperative_groups.h" in finding.detail and "make setup" in finding.fix
    assert not runs(machine)[0]


@pytest.mark.parametrize("version, fits", [((13, 0), True), ((13, 5), True), ((13, 6), False), ((12, 9), False)])
def test_headers_of_a_toolkit_where_the_packages_are_missing(version, fits):
    machine = replace(without(SERVER, *device.HEADER_PACKAGES), toolkits=(Toolkit("/usr/local/cuda/include", version),))
    assert ("CUDA headers" not in crosses(machine)) is fits
    assert runs(machine)[0] is fits
    assert machine.has_gpu is machine.has_emulator is fits


def test_a_toolkit_plays_no_part_while_the_packages_are_there():
    assert crosses(replace(SERVER, toolkits=(Toolkit("/usr/local/cuda/include", (12, 4)),))) == {}


@pytest.mark.parametrize(
    "versions",
    [
        {"nvidia_cuda_cccl": "13.6.1"},
        {"nvidia_cuda_cccl": "12.9.27"},
        {"nvidia_cuda_runtime": "13.0.88"},
        {"nvidia_cuda_crt": "13.4.1"},
        {"nvidia_cuda_nvrtc": "13.0.88"},
    ],
)
def test_headers_and_compiler_of_different_releases(versions):
    finding = only_cross(with_version(SERVER, **versions))
    assert "different CUDA releases" in finding.detail and "13." in finding.detail
    assert "make setup" in finding.fix


def test_libcudacxx_older_than_the_compiler_is_fine():
    assert crosses(with_version(SERVER, nvidia_cuda_cccl="13.0.85")) == {}


def test_the_headers_here_belong_to_the_compiler_here():
    assert "CUDA headers" not in crosses(device.this_machine())


def test_a_driver_too_old_for_the_runtime():
    machine = replace(SERVER, driver=Driver("535.183.01", (12, 2), (H200,)))
    finding = crosses(machine)["NVIDIA driver"]
    assert "535.183.01 speaks CUDA 12.2" in finding.detail and "13.0" in finding.detail
    assert "580" in finding.fix and "WSL" in finding.fix
    ok, sentence = runs(machine)
    assert ok and "emulator" in sentence


@pytest.mark.parametrize("error", ["the NVIDIA driver does not start: cuInit says CUDA_ERROR_NO_DEVICE", ""])
def test_a_driver_without_a_device(error):
    finding = only_cross(replace(SERVER, driver=Driver("580.1", (13, 0), (), error)))
    assert "--gpus all" in finding.fix and "CUDA_VISIBLE_DEVICES" in finding.fix
    assert (error or "lists no device") in finding.detail


def test_missing_gpu_packages():
    machine = without(SERVER, "cupy-cuda13x")
    finding = only_cross(machine)
    assert finding.name == "GPU packages" and "cupy-cuda13x" in finding.detail
    assert "emulator" in runs(machine)[1]


def test_a_device_that_cuda_13_dropped():
    machine = replace(SERVER, driver=Driver("580.1", (13, 0), (Gpu("Tesla V100", (7, 0), 80),)))
    finding = crosses(machine)["GPU"]
    assert "7.0" in finding.detail and "7.5" in finding.detail
    assert "emulator" in runs(machine)[1]


def test_a_device_too_old_for_some_lessons_names_each_of_them():
    machine = replace(SERVER, driver=Driver("580.1", (13, 0), (Gpu("NVIDIA A100", (8, 0), 108),)))
    found = crosses(machine)
    assert set(found) == {"lesson 06 live", "lesson 12 live"}
    assert "sm_90a" in found["lesson 12 live"].detail and "sm_80" in found["lesson 12 live"].detail
    assert "emulator" in found["lesson 12 live"].fix
    assert runs(machine)[0]


def test_the_catalog_says_what_each_lesson_needs():
    needs = doctor.lesson_archs()
    assert needs["01"] == "sm_80"
    assert all(Gpu("future", (99, 0)).runs(arch) or arch.endswith("a") for arch in needs.values())


def test_the_simulator_set_too_late():
    finding = crosses(replace(LAPTOP, simulator="too late"))["numba CUDA simulator"]
    assert "before any import of numba.cuda" in finding.fix and "restart" in finding.fix
    assert runs(replace(LAPTOP, simulator="too late"))[0]


def test_the_simulator_on_a_machine_with_a_gpu():
    assert "unset NUMBA_ENABLE_CUDASIM" in only_cross(replace(SERVER, simulator="on")).fix
    assert "numba CUDA simulator" not in crosses(replace(LAPTOP, simulator="on"))


def test_colab_with_a_cpu_runtime():
    machine = replace(LAPTOP, system="colab")
    assert "Change runtime type" in only_cross(machine).fix
    assert runs(machine)[0]


def test_wsl_without_a_driver():
    finding = only_cross(replace(LAPTOP, system="wsl"))
    assert "Windows side" in finding.fix and "never inside WSL" in finding.fix


def test_macos_is_told_what_does_not_work():
    bare = without(LAPTOP, *device.GPU_PACKAGES, *device.HEADER_PACKAGES, "numba-cuda")
    machine = replace(bare, system="macos", cpu="aarch64")
    found = crosses(machine)
    assert set(found) == {"CUDA headers", "NVIDIA driver"}
    assert "Linux and Windows only" in found["CUDA headers"].detail
    assert not runs(machine)[0]


def test_macos_without_a_compiler():
    assert "xcode-select" in crosses(replace(LAPTOP, system="macos", compiler=None))["C++ compiler (emulator)"].fix


def test_windows_is_sent_to_wsl():
    machine = replace(LAPTOP, system="windows")
    assert "wsl --install" in crosses(machine)["C++ compiler (emulator)"].fix
    assert not runs(machine)[0]


def test_the_report_is_a_table_that_fits_a_terminal():
    ok, text = doctor.report(replace(LAPTOP, compiler=None))
    assert not ok
    marks = [line[0] for line in text.splitlines() if line.startswith(("✓", "✗"))]
    assert marks.count("✗") == 2 and "✓" in marks
    assert max(map(len, text.splitlines())) <= 110
    assert text.endswith("ask again.")


def test_the_json_report_holds_the_same_findings():
    answer = json.loads(json.dumps(doctor.report_json(SERVER)))
    assert answer["ok"] is True
    assert [f["name"] for f in answer["findings"]] == [f.name for f in doctor.diagnose(SERVER)]
    assert answer["machine"]["driver"]["gpus"][0]["name"] == "NVIDIA H200"
