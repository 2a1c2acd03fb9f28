"""Turn what a machine has into what a learner should know: one finding per capability, with the exact fix.

:func:`diagnose` is a pure function of a :class:`~ws_course.device.Machine`, so every answer can be tested without
owning that machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from textwrap import fill

from ws_course.device import (
    CAPABILITY,
    CUDA,
    DRIVER,
    EMULATED_CPUS,
    GPU_PACKAGES,
    HEADER_PACKAGES,
    Machine,
    parse_version,
    this_machine,
)

OLDEST_COMPILER = {"gcc": (11,), "clang": (14,), "zig": (14,)}
"""C++17 and the thread-sanitizer switches that the emulator builds kernels with: GCC has them from 11 on; clang 14 is
the oldest that was tried. zig counts as the clang inside it."""

_WHOLE = {"break_on_hyphens": False, "break_long_words": False}  # package names stay in one piece

SETUP = "run `make setup` in the course's folder (or: python -m pip install -r requirements.lock)"


@dataclass(frozen=True)
class Finding:
    """Say whether the machine has one capability; ``fix`` is what to do if it has not, ``detail`` what was seen.

    ``needed`` names who needs it: "emulator", "gpu", "lessons" (both ways) or "" (nice to have, or just to know).
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""
    needed: str = ""


def diagnose(machine: Machine, lessons: Mapping[str, str] | None = None) -> list[Finding]:
    """Return one finding per capability, in reading order.

    ``lessons`` maps a lesson to the architecture its kernels need when they run live ("sm_80"); by default the
    kernels in the catalog say so.
    """
    found = [_python(machine), _packages(machine), _compiler(machine), _headers(machine)]
    found += _driver(machine)
    if machine.gpus:
        found += [_capability(machine), *_lessons(machine, lesson_archs() if lessons is None else lessons)]
    found.append(_simulator(machine))
    return found


def verdict(machine: Machine, findings: Iterable[Finding]) -> tuple[bool, str]:
    """Return whether the lessons run in some way, and one sentence that says in which."""
    broken = {finding.needed for finding in findings if not finding.ok}
    live = machine.has_gpu and not broken & {"gpu", "lessons"}
    emulated = machine.has_emulator and not broken & {"emulator", "lessons"}
    if live and emulated:
        return True, f"The lessons run live on the {machine.gpus[0].name}, and in the emulator."
    if live:
        return True, f"The lessons run live on the {machine.gpus[0].name}; the emulator is not available."
    if emulated:
        return True, "The lessons run in the emulator; times come from the recorded measurements."
    return False, "The lessons cannot run here yet: follow the fixes above, then ask again."


def lesson_archs() -> dict[str, str]:
    """Return, for each lesson that has kernels in the catalog, the oldest architecture that runs all of them."""
    from ws_course.kernels import catalog

    needs: dict[str, str] = {}
    for spec in catalog.ALL:
        oldest = min(spec.archs, key=_arch_number)
        if spec.lesson not in needs or _arch_number(needs[spec.lesson]) < _arch_number(oldest):
            needs[spec.lesson] = oldest
    return dict(sorted(needs.items()))


def report(machine: Machine | None = None) -> tuple[bool, str]:
    """Return the verdict and the findings as a table for a terminal or a notebook."""
    machine = machine or this_machine()
    findings = diagnose(machine)
    ok, sentence = verdict(machine, findings)
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{'✓' if finding.ok else '✗'} {finding.name:<{width}}  {finding.detail}")
        if finding.fix:
            indent = " " * (width + 4)
            lines.append(
                fill(f"→ {finding.fix}", 110, initial_indent=indent, subsequent_indent=indent + "  ", **_WHOLE)
            )
    return ok, "\n".join([*lines, "", sentence])


def report_json(machine: Machine | None = None) -> dict:
    """Return the verdict, the findings and the machine as JSON values."""
    machine = machine or this_machine()
    findings = diagnose(machine)
    ok, sentence = verdict(machine, findings)
    return {"ok": ok, "verdict": sentence, "findings": [asdict(f) for f in findings], "machine": asdict(machine)}


def _dots(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def _arch_number(arch: str) -> int:
    return int("".join(c for c in arch if c.isdigit()))


def _python(machine: Machine) -> Finding:
    ok = machine.python >= (3, 11)
    fix = "" if ok else "install Python 3.11 or newer, then `make clean setup PYTHON=python3.11`"
    return Finding("Python", ok, _dots(machine.python), fix, "lessons")


def _packages(machine: Machine) -> Finding:
    # on macOS NVIDIA has no wheels, so numba-cuda is not there to be missed
    wanted = ["jupyterlab", "numba", "nbgrader"] + (["numba-cuda"] if machine.system != "macos" else [])
    missing = [name for name in wanted if name not in machine.packages]
    if missing:
        return Finding("packages", False, f"not installed: {', '.join(missing)}", SETUP)
    return Finding("packages", True, f"jupyterlab {machine.packages['jupyterlab']}, numba {machine.packages['numba']}")


def _compiler(machine: Machine) -> Finding:
    def no(detail: str, fix: str) -> Finding:
        return Finding("C++ compiler (emulator)", False, detail, fix, "emulator")

    if machine.system == "windows":
        return no(
            "the emulator does not run on Windows itself", "use WSL: `wsl --install`, then clone the course there"
        )
    if machine.cpu not in EMULATED_CPUS:
        return no(
            f"the emulator does not know the processor {machine.cpu}",
            f"use a machine with {' or '.join(EMULATED_CPUS)}, or a hosted notebook such as Colab",
        )
    if machine.compiler is None:
        if machine.system == "macos":
            return no("none found", "install it: `xcode-select --install`")
        return no(
            "none found (looked for $CXX, g++, clang++ and the ziglang package)",
            "install one: `sudo apt-get install g++` (Debian, Ubuntu), `sudo dnf install gcc-c++` (Fedora), "
            "`conda install -c conda-forge cxx-compiler` (conda), or without rights: "
            "`.venv/bin/python -m pip install ziglang`",
        )
    oldest = OLDEST_COMPILER[machine.compiler.family]
    if machine.compiler.version < oldest:
        return no(
            f"{machine.compiler} is too old to build kernels with race detection",
            f"install {machine.compiler.family} {_dots(oldest)} or newer, or point $CXX at one "
            "(without rights: `.venv/bin/python -m pip install ziglang` and CXX='.venv/bin/python -m ziglang c++')",
        )
    return Finding("C++ compiler (emulator)", True, str(machine.compiler), needed="emulator")


def _headers(machine: Machine) -> Finding:
    def no(detail: str, fix: str) -> Finding:
        return Finding("CUDA headers", False, detail, fix, "lessons")

    missing = [name for name in HEADER_PACKAGES if name not in machine.packages]
    version = {name: parse_version(machine.packages[name]) for name in machine.packages}
    nvrtc = version.get("nvidia-cuda-nvrtc", ())
    for toolkit in machine.toolkits if missing else ():
        if toolkit.fits(nvrtc):
            seen = f"NVRTC {_dots(nvrtc[:2])}, headers of the toolkit {_dots(toolkit.version)} in {toolkit.include}"
            return Finding("CUDA headers", True, seen, needed="lessons")
    if missing and machine.system == "macos":
        return no(
            "NVIDIA publishes them for Linux and Windows only",
            "read the lessons here (figures and recorded numbers are in the notebooks); to run kernels use Linux: "
            "a container, a virtual machine or a hosted notebook such as Colab",
        )
    if missing:
        return no(f"not installed: {', '.join(missing)} (<cooperative_groups.h>, <cuda/pipeline> are in them)", SETUP)
    cccl = version["nvidia-cuda-cccl"]
    seen = f"NVRTC {_dots(nvrtc[:2]) or 'absent'}, " + ", ".join(
        f"{name.removeprefix('nvidia-cuda-')} {_dots(version[name][:2])}" for name in HEADER_PACKAGES
    )
    if not nvrtc:
        return Finding("CUDA headers", True, seen, needed="lessons")
    # libcu++ stops with an #error when it is newer than the compiler; the runtime's headers belong to one release
    same = all(version[name][:2] == nvrtc[:2] for name in ("nvidia-cuda-runtime", "nvidia-cuda-crt"))
    if cccl[:1] != nvrtc[:1] or cccl[:2] > nvrtc[:2] or not same:
        return no(
            f"compiler and headers are of different CUDA releases: {seen}",
            f"install them together: {SETUP}. A CUDA toolkit of the system plays no part while the packages are there",
        )
    return Finding("CUDA headers", True, seen, needed="lessons")


def _driver(machine: Machine) -> list[Finding]:
    driver = machine.driver

    def no(detail: str, fix: str) -> list[Finding]:
        return [Finding("NVIDIA driver", False, detail, fix, "gpu")]

    if not driver.found:
        return no(driver.error or "not found", _no_driver(machine))
    version = driver.version or f"for CUDA {_dots(driver.cuda)}"
    if driver.cuda < CUDA:
        return no(
            f"{version} speaks CUDA {_dots(driver.cuda)}, the course's packages need {_dots(CUDA)}",
            f"install driver {DRIVER} or newer (Ubuntu: `sudo apt-get install nvidia-driver-{DRIVER}`, then reboot; "
            "WSL and Windows: from nvidia.com, on the Windows side). Until then the emulator is used",
        )
    if driver.error or not driver.gpus:
        return no(
            driver.error or f"{version} is there, but it lists no device",
            "if `nvidia-smi` fails too, reboot (a driver update leaves the old module loaded); in a container start it "
            "with `--gpus all`; if CUDA_VISIBLE_DEVICES is set, unset it",
        )
    found = [Finding("NVIDIA driver", True, f"{version}, speaks CUDA {_dots(driver.cuda)}", needed="gpu")]
    missing = [name for name in GPU_PACKAGES if name not in machine.packages]
    if missing:
        found.append(Finding("GPU packages", False, f"not installed: {', '.join(missing)}", SETUP, "gpu"))
    else:
        found.append(Finding("GPU packages", True, f"cupy {machine.packages['cupy-cuda13x']}", needed="gpu"))
    return found


def _no_driver(machine: Machine) -> str:
    if machine.system == "colab":
        return (
            "this is a CPU runtime: choose Runtime > Change runtime type > GPU and run the set-up cell again, or stay: "
            "the emulator runs every lesson"
        )
    if machine.system == "wsl":
        return (
            "install the NVIDIA driver on the Windows side, never inside WSL, then `wsl --shutdown` and open it again; "
            "/usr/lib/wsl/lib/libcuda.so.1 must exist. Without an NVIDIA GPU there is nothing to do"
        )
    if machine.system == "macos":
        return "no Mac has an NVIDIA driver today; nothing to do"
    if machine.system == "windows":
        return (
            f"with an NVIDIA GPU: install driver {DRIVER} or newer and use WSL; without one: use WSL and the emulator"
        )
    return (
        f"without an NVIDIA GPU there is nothing to do. With one: install driver {DRIVER} or newer (Ubuntu: "
        f"`sudo apt-get install nvidia-driver-{DRIVER}`, then reboot; container: start it with `--gpus all`)"
    )


def _capability(machine: Machine) -> Finding:
    gpu = machine.gpus[0]
    seen = f"{gpu.name}, compute capability {_dots(gpu.capability)}"
    if gpu.capability < CAPABILITY:
        return Finding(
            "GPU",
            False,
            f"{seen}: CUDA 13 needs {_dots(CAPABILITY)}",
            "nothing to do on this device: CUDA 13 dropped it. The emulator is used; a T4 (Colab) or newer runs live",
            "gpu",
        )
    return Finding("GPU", True, f"{seen}, {gpu.sms} SMs" if gpu.sms else seen, needed="gpu")


def _lessons(machine: Machine, lessons: Mapping[str, str]) -> list[Finding]:
    gpu = machine.gpus[0]
    late = {lesson: arch for lesson, arch in lessons.items() if not gpu.runs(arch)}
    if not lessons:
        return []
    if not late:
        return [Finding("lessons live", True, f"{len(lessons)} of {len(lessons)} with kernels")]
    # never a reason to stop: what this device lacks, the emulator runs
    return [
        Finding(
            f"lesson {lesson} live",
            False,
            f"its kernels need {arch}, this device is sm_{gpu.capability[0]}{gpu.capability[1]}",
            'run them in the emulator (backend="emulator"); its times are the recorded ones',
        )
        for lesson, arch in late.items()
    ]


def _simulator(machine: Machine) -> Finding:
    name = "numba CUDA simulator"
    if machine.simulator == "too late":
        return Finding(
            name,
            False,
            "NUMBA_ENABLE_CUDASIM was set after numba.cuda had been imported, so it has no effect",
            "restart the kernel (Kernel > Restart) and set it in the first cell, before any import of numba.cuda",
        )
    if machine.simulator == "on" and machine.has_gpu:
        return Finding(
            name,
            False,
            "on, although there is a GPU: numba.cuda kernels run in slow Python",
            "unset NUMBA_ENABLE_CUDASIM and restart the kernel, unless you want the simulator",
        )
    return Finding(name, True, "on: numba.cuda kernels run in Python" if machine.simulator == "on" else "off")
