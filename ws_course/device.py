"""Say what this machine can run. The only place that asks: everything else asks here.

Looking costs little and never raises: the driver is asked through ``ctypes``, package versions come from metadata,
and no GPU library is imported. What the answers mean for a learner is the business of :mod:`ws_course.doctor`.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path

Version = tuple[int, ...]

CUDA = (13, 0)
"""The oldest CUDA that a driver must speak for the pinned wheels (CUDA minor-version compatibility)."""

DRIVER = 580
"""The first driver branch that speaks CUDA 13 (CUDA release notes, "CUDA Toolkit and Minimum Required Driver")."""

CAPABILITY = (7, 5)
"""The oldest compute capability that CUDA 13 compiles for (CUDA 13.0 release notes: Turing)."""

GPU_PACKAGES = ("cupy-cuda13x", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc")
HEADER_PACKAGES = ("nvidia-cuda-runtime", "nvidia-cuda-cccl", "nvidia-cuda-crt")
PACKAGES = (*GPU_PACKAGES, *HEADER_PACKAGES, "numba", "numba-cuda", "jupyterlab", "nbgrader", "ziglang")

EMULATED_CPUS = ("x86_64", "aarch64")
"""The processors for which the emulator has a fiber switch."""


@dataclass(frozen=True)
class Gpu:
    """Describe one device: name, compute capability, number of SMs, opt-in shared memory per block in bytes."""

    name: str
    capability: tuple[int, int]
    sms: int = 0
    smem_optin: int = 0

    def runs(self, arch: str) -> bool:
        """Return whether code for ``arch`` ("sm_80", "sm_90a") runs here; a trailing letter means exactly that chip."""
        match = re.fullmatch(r"(?:sm|compute)_(\d+)(\d)([af]?)", arch)
        if not match:
            raise ValueError(f'{arch!r} is no architecture: write "sm_80" or "sm_90a"')
        wanted = (int(match[1]), int(match[2]))
        if match[3] == "a":
            return self.capability == wanted
        if match[3] == "f":
            return self.capability[0] == wanted[0] and self.capability >= wanted
        return self.capability >= wanted


@dataclass(frozen=True)
class Driver:
    """Hold what the NVIDIA driver answered: its version, the CUDA it speaks, its devices, or why it did not answer."""

    version: str = ""
    cuda: Version = ()
    gpus: tuple[Gpu, ...] = ()
    error: str = ""

    @property
    def found(self) -> bool:
        """Return whether the driver library could be loaded at all."""
        return bool(self.cuda)


@dataclass(frozen=True)
class Compiler:
    """Name a C++ compiler: the command (a tuple of words), its family ("gcc", "clang" or "zig") and version."""

    command: tuple[str, ...]
    family: str
    version: Version

    def __str__(self) -> str:
        return f"{shlex.join(self.command)} ({self.family} {'.'.join(map(str, self.version))})"


@dataclass(frozen=True)
class Toolkit:
    """Name a CUDA toolkit of the system: the folder of its headers, and its version."""

    include: str
    version: Version

    def fits(self, nvrtc: Version) -> bool:
        """Return whether the compiler takes these headers: those of a later CUDA stop with an ``#error`` in it."""
        return self.version[:1] == nvrtc[:1] and self.version[:2] <= nvrtc[:2]


@dataclass(frozen=True)
class Machine:
    """Hold everything about a machine that decides how the course runs on it.

    ``system`` is "linux", "wsl", "colab", "macos" or "windows"; ``packages`` maps the names in :data:`PACKAGES` to
    installed versions (absent ones are left out); ``toolkits`` are those of the system, whose headers are used where
    the packages with headers are missing; ``simulator`` is "off", "on" or "too late" (the variable was set after
    ``numba.cuda`` had been imported).
    """

    system: str = "linux"
    cpu: str = "x86_64"
    python: Version = (3, 11)
    driver: Driver = field(default_factory=Driver)
    compiler: Compiler | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    toolkits: tuple[Toolkit, ...] = ()
    simulator: str = "off"

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """Return the devices that the driver reports."""
        return self.driver.gpus

    @property
    def has_gpu(self) -> bool:
        """Return whether a kernel can run on a GPU here: device, driver and packages are all there."""
        return (
            self.driver.cuda >= CUDA
            and any(gpu.capability >= CAPABILITY for gpu in self.gpus[:1])
            and all(name in self.packages for name in GPU_PACKAGES)
            and self.has_headers
        )

    @property
    def has_headers(self) -> bool:
        """Return whether there are CUDA headers for the compiler, from the packages or else from a toolkit."""
        nvrtc = parse_version(self.packages.get("nvidia-cuda-nvrtc", ""))
        return all(name in self.packages for name in HEADER_PACKAGES) or any(t.fits(nvrtc) for t in self.toolkits)

    @property
    def has_emulator(self) -> bool:
        """Return whether a kernel can run in the emulator here: compiler, headers and processor are all there."""
        return self.compiler is not None and self.system != "windows" and self.cpu in EMULATED_CPUS and self.has_headers

    def supports(self, arch: str) -> bool:
        """Return whether code for ``arch`` ("sm_90a") runs live here, on the first device."""
        return self.has_gpu and self.gpus[0].runs(arch)

    def __str__(self) -> str:
        if self.has_gpu:
            gpu = self.gpus[0]
            return f"{gpu.name} (compute capability {gpu.capability[0]}.{gpu.capability[1]}, {gpu.sms} SMs)"
        return "no GPU: kernels run in the emulator" if self.has_emulator else "no GPU and no emulator"


@functools.cache
def has_gpu() -> bool:
    """Return whether kernels can run on a GPU here; cheap, asked once per process, never raises."""
    return driver().cuda >= CUDA and Machine(driver=driver(), packages=packages(), toolkits=toolkits()).has_gpu


def this_machine() -> Machine:
    """Return what this machine can run; the first call asks the compiler its version, so it takes some milliseconds.

    Everything is looked up once per process, except the simulator's state, which an import can change.
    """
    return Machine(
        system=_system(),
        cpu=_cpu(),
        python=tuple(sys.version_info[:3]),
        driver=driver(),
        compiler=host_compiler(),
        packages=packages(),
        toolkits=toolkits(),
        simulator=simulator(),
    )


def parse_version(text: str) -> Version:
    """Return the leading numbers of a version, ``"13.5.37"`` as ``(13, 5, 37)``; empty if there are none."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def simulator() -> str:
    """Return the state of numba's CUDA simulator: "off", "on", or "too late" to have an effect in this process."""
    wanted = os.environ.get("NUMBA_ENABLE_CUDASIM", "0").strip() not in ("", "0")
    wanted = wanted or bool(getattr(sys.modules.get("numba.core.config"), "ENABLE_CUDASIM", False))
    cuda = sys.modules.get("numba.cuda")
    if cuda is None or not hasattr(cuda, "jit"):
        return "on" if wanted else "off"
    # the import chose one of two implementations, and nothing changes that afterwards
    if cuda.jit.__module__.startswith("numba.cuda.simulator"):
        return "on"
    return "too late" if wanted else "off"


@functools.cache
def packages() -> dict[str, str]:
    """Return the installed versions of the packages that decide what can run."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def toolkits() -> tuple[Toolkit, ...]:
    """Return the CUDA toolkits of the system: where CUDA_HOME, CUDA_PATH and nvcc point to, and the usual place."""
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    if nvcc := shutil.which("nvcc"):
        roots.append(Path(nvcc).resolve().parent.parent)
    roots.append(Path("/usr/local/cuda"))
    found = {}
    for include in (root / "include" for root in roots):
        header = include / "cuda.h"
        text = header.read_text(errors="replace") if header.is_file() else ""
        if version := re.search(r"#define CUDA_VERSION (\d+)", text):
            number = int(version[1])
            found[include.resolve()] = Toolkit(str(include), (number // 1000, number % 1000 // 10))
    return tuple(found.values())


@functools.cache
def host_compiler() -> Compiler | None:
    """Return the C++ compiler for the emulator: ``$CXX``, else g++, clang++, else the ``ziglang`` wheel, else None."""
    candidates = [shlex.split(os.environ["CXX"])] if os.environ.get("CXX") else []
    candidates += [["g++"], ["clang++"]]
    for command in candidates:
        if not command or not shutil.which(command[0]):
            continue
        if os.sep in command[0]:  # kernels are compiled in other folders
            command[0] = os.path.abspath(command[0])
        if compiler := _ask_compiler(command):
            return compiler
    if util.find_spec("ziglang"):
        return _ask_compiler([sys.executable, "-m", "ziglang", "c++"])
    return None


def _ask_compiler(command: list[str]) -> Compiler | None:
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    # "g++ (Debian 12.2.0-14) 12.2.0", "clang version 19.1.7 (…)", "Apple clang version 16.0.0 (…)"
    first = done.stdout.partition("\n")[0]
    clang = re.search(r"clang version (\d+(?:\.\d+)*)", first)
    number = clang or re.search(r"(\d+(?:\.\d+)+)\s*(?:\d{8}.*)?$", first)
    if done.returncode or not number:
        return None
    family = "zig" if "ziglang" in command else "clang" if clang else "gcc"
    return Compiler(tuple(command), family, parse_version(number[1]))


def _system() -> str:
    if sys.platform == "darwin":
        return "macos"
    if sys.platform == "win32":
        return "windows"
    if "COLAB_RELEASE_TAG" in os.environ or "google.colab" in sys.modules:
        return "colab"
    return "wsl" if "microsoft" in platform.release().lower() else "linux"


def _cpu() -> str:
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


@functools.cache
def driver() -> Driver:
    """Ask the NVIDIA driver, if there is one, what it is and which devices it has; no CUDA context is created."""
    names = {"win32": ["nvcuda.dll"], "darwin": []}.get(sys.platform, ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"])
    cuda = _load(names)
    if cuda is None:
        return Driver(error="the NVIDIA driver's library (libcuda) is not on this machine")
    number = ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(number)):
        return Driver(error="the NVIDIA driver's library is there but does not tell its version")
    # 13010 is CUDA 13.1 (CUDA Driver API, cuDriverGetVersion)
    speaks = (number.value // 1000, number.value % 1000 // 10)
    version = _driver_version()
    if code := cuda.cuInit(0):
        return Driver(version, speaks, error=f"the NVIDIA driver does not start: cuInit says {_error_name(cuda, code)}")
    count = ctypes.c_int()
    if code := cuda.cuDeviceGetCount(ctypes.byref(count)):
        return Driver(version, speaks, error=f"the NVIDIA driver lists no device: {_error_name(cuda, code)}")
    return Driver(version, speaks, tuple(_gpu(cuda, index) for index in range(count.value)))


def _load(names: list[str]) -> ctypes.CDLL | None:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _error_name(cuda: ctypes.CDLL, code: int) -> str:
    text = ctypes.c_char_p()
    unnamed = cuda.cuGetErrorName(code, ctypes.byref(text)) or not text.value
    return f"error {code}" if unnamed else text.value.decode()


def _gpu(cuda: ctypes.CDLL, index: int) -> Gpu:
    device = ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(device), index)
    name = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, len(name), device)

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device)
        return value.value

    # CUdevice_attribute in cuda.h: 75/76 compute capability, 16 multiprocessors, 97 shared memory per block, opt-in
    return Gpu(name.value.decode(), (attribute(75), attribute(76)), attribute(16), attribute(97))


def _driver_version() -> str:
    """Return "580.65.06" from NVML, or an empty string where NVML does not answer."""
    names = {"win32": ["nvml.dll"]}.get(sys.platform, ["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"])
    nvml = _load(names)
    if nvml is None or nvml.nvmlInit_v2():
        return ""
    text = ctypes.create_string_buffer(96)
    failed = nvml.nvmlSystemGetDriverVersion(text, len(text))
    nvml.nvmlShutdown()
    return "" if failed else text.value.decode()
