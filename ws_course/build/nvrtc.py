"""Compile CUDA C++ to machine code for a GPU, with NVRTC through cuda.core. Needs no GPU and no driver."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import multiprocessing
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from ws_course import device
from ws_course.build import signature
from ws_course.build.cache import Cache, key
from ws_course.kernels.catalog import INCLUDE

STD = "c++17"
WHEELS = "pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt cuda-core"

_CACHE = Cache("cubin")


class ToolchainError(RuntimeError):
    """Say that this machine cannot compile CUDA C++ for a GPU, and what to install."""


@dataclass(frozen=True)
class Diagnostic:
    """Hold one message of the compiler: ``severity`` is "error" or "warning"; ``line`` counts from 1.

    ``column`` counts bytes from 1, as the compilers do; 0 where the message has none.
    """

    file: str
    line: int
    severity: str
    message: str
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.severity}: {self.message}"

    def character(self, source: str) -> int:
        """Return the column in characters of ``source``, the compiled text; 0 if it is not known."""
        lines = source.splitlines()
        if not self.column or not 1 <= self.line <= len(lines):
            return 0
        return len(lines[self.line - 1].encode()[: self.column - 1].decode(errors="ignore")) + 1


class CompileError(Exception):
    """Say why a kernel does not compile: ``diagnostics`` in order, ``log`` as NVRTC wrote it."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], log: str) -> None:
        self.diagnostics = diagnostics
        self.log = log
        errors = [d for d in diagnostics if d.severity == "error"]
        super().__init__("\n".join(map(str, errors)) or log)


@dataclass(frozen=True)
class Cubin:
    """Hold machine code: the ELF ``image`` for ``arch``, the kernel's ``symbol`` in it, warnings in ``log``."""

    image: bytes
    symbol: str
    arch: str
    log: str = ""

    @property
    def parameters(self) -> tuple[signature.Parameter, ...]:
        """Return what the kernel takes."""
        return signature.read(self.image)


def compile_cubin(
    source: str, entry: str, *, file: str = "kernel.cu", defines: Mapping[str, int | str] | None = None, arch: str
) -> Cubin:
    """Compile ``source`` for ``arch`` ("sm_90a"); ``entry`` names the kernel, ``"scale<4>"`` a template instance.

    The same compilation is done once and kept on disk. Raises ``CompileError`` with file and line, ``ToolchainError``
    with the fix where compiler or headers are missing, ``ValueError`` for an architecture that is no name.
    """
    if not re.fullmatch(r"sm_\d+[af]?", arch):
        raise ValueError(f'arch={arch!r}: write "sm_90" or "sm_90a"')
    constants = {name: str(value) for name, value in sorted((defines or {}).items())}
    folders = header_folders()
    name = key(source, entry, file, constants, arch, STD, _versions(folders), _own_headers(), signature.appendix(entry))
    if cubin := _unpack(_CACHE.get(name), arch):
        return cubin
    cubin = _compile(source, entry, file, constants, arch, folders)
    _CACHE.put(name, _pack(cubin))
    return cubin


def compile_several(jobs: Sequence[Mapping[str, object]]) -> list[Cubin]:
    """Compile ``jobs``, each the arguments of :func:`compile_cubin` by name; raises as that does.

    The compiler uses one core: where there are more than two, several processes fill the cache, which is then read.
    """
    processes = min(16, os.cpu_count() or 1)
    if processes > 2 and len(jobs) > 8:
        with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
            list(pool.map(_fill_cache, jobs))
    return [compile_cubin(**job) for job in jobs]


def _fill_cache(job: Mapping[str, object]) -> None:
    with contextlib.suppress(CompileError):  # it does not travel between processes; compiling once more raises it
        compile_cubin(**job)


def _pack(cubin: Cubin) -> bytes:
    head = {"symbol": cubin.symbol, "log": cubin.log, "sha256": hashlib.sha256(cubin.image).hexdigest()}
    return json.dumps(head).encode() + b"\n" + cubin.image


def _unpack(data: bytes | None, arch: str) -> Cubin | None:
    """Return what :func:`_pack` packed, or None if it is not there or not whole."""
    head, _, image = (data or b"").partition(b"\n")
    try:
        known = json.loads(head)
        if known["sha256"] == hashlib.sha256(image).hexdigest():
            return Cubin(image, known["symbol"], arch, known["log"])
    except (ValueError, KeyError, TypeError):
        pass
    return None


def _compile(
    source: str, entry: str, file: str, constants: Mapping[str, str], arch: str, folders: tuple[Path, ...]
) -> Cubin:
    Program, ProgramOptions = _cuda_core()
    options = ProgramOptions(
        name=file,
        std=STD,
        arch=arch,
        include_path=[str(folder) for folder in (INCLUDE, *folders)],
        define_macro=list(constants.items()) or None,
    )
    log = _Log()
    try:
        program = Program(source + "\n" + signature.appendix(entry), "c++", options)
        code = program.compile("cubin", name_expressions=(entry,), logs=log)
    except Exception as error:  # NVRTC's errors have different types in different releases of cuda.core
        text = str(error)
        if "error" not in text or "NVRTC" not in text:
            raise
        raise _compile_error(text, entry, file) from None
    symbol = code.symbol_mapping[entry]
    symbol = symbol.decode() if isinstance(symbol, bytes) else symbol
    return Cubin(bytes(code.code), symbol, arch, log.text)


class _Log:
    text = ""

    def write(self, text: str) -> None:
        self.text += text


def diagnostics(log: str) -> tuple[Diagnostic, ...]:
    """Return the messages of an NVRTC log, in order."""
    pattern = re.compile(
        r"^(?P<file>[^\n(]+)\((?P<line>\d+)\): "
        r"(?:catastrophic )?(?P<severity>error|warning)(?: #[\w-]+)?: (?P<message>.*)$"
        # then the line itself, two spaces to the right, and a caret below it
        r"(?:\n  .*\n  (?P<indent>[ \t]*)\^)?",
        re.MULTILINE,
    )
    found = []
    for m in pattern.finditer(log):
        column = 0 if m["indent"] is None else len(m["indent"]) + 1
        found.append(Diagnostic(m["file"], int(m["line"]), m["severity"], m["message"], column))
    return tuple(found)


def _compile_error(log: str, entry: str, file: str) -> CompileError:
    found = diagnostics(log)
    written = tuple(d for d in found if d.file not in (signature.FILE, "__nv_name_map"))
    if any(d.severity == "error" for d in written):
        return CompileError(written, log)
    if about_entry := [d.message for d in found if d.severity == "error"]:
        message = f"{entry} cannot be taken as a kernel: {about_entry[0]}"
        if "undefined" in about_entry[0]:
            message = (
                f'there is no kernel called {entry}: write  extern "C" __global__ void {entry}(...)  or pass its name'
            )
        elif "non-__global__" in about_entry[0]:
            message = f"{entry} is no kernel: declare it __global__"
        return CompileError((*written, Diagnostic(file, 1, "error", message)), log)
    unsupported = re.search(r"invalid value for --gpu-architecture.*", log)
    message = f"NVRTC refuses the request: {unsupported[0] if unsupported else log.strip().splitlines()[0]}"
    return CompileError((Diagnostic(file, 1, "error", message),), log)


def _cuda_core() -> tuple[type, type]:
    try:
        from cuda.core import Program, ProgramOptions
    except ImportError:
        try:  # releases before 1.0
            from cuda.core.experimental import Program, ProgramOptions
        except ImportError as error:
            raise ToolchainError(f"compiling for a GPU needs the package cuda-core ({error}): {WHEELS}") from None
    return Program, ProgramOptions


@cache
def nvrtc_version() -> tuple[int, int]:
    """Return the version of the compiler, such as ``(13, 0)``; raise ``ToolchainError`` if there is none."""
    try:
        return tuple(int(part) for part in metadata.version("nvidia-cuda-nvrtc").split(".")[:2])
    except metadata.PackageNotFoundError:
        pass
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
    except Exception as error:  # cuda.bindings raises RuntimeError or its own types when the library is missing
        raise ToolchainError(f"the CUDA C++ compiler NVRTC is not installed ({error}): {WHEELS}") from None
    return major, minor


@cache
def header_folders() -> tuple[Path, ...]:
    """Return the include folders that fit the compiler: from the wheels, else from a CUDA toolkit.

    A toolkit counts if it is of the compiler's major version and no newer than it: headers of a later CUDA stop with
    an ``#error`` in an earlier compiler. Raises ``ToolchainError`` with the fix if there are none.
    """
    refused = []
    if folders := _complete(*_wheel_folders()):
        return folders
    for toolkit in device.toolkits():
        if not (folders := _complete(Path(toolkit.include))):
            continue
        if toolkit.fits(nvrtc_version()):
            return folders
        refused.append(f"those of the toolkit in {toolkit.include} are of CUDA {'.'.join(map(str, toolkit.version))}")
    compiler = ".".join(map(str, nvrtc_version()))
    reason = f" ({'; '.join(refused)})" if refused else ""
    raise ToolchainError(f"there are no CUDA headers that fit the compiler, NVRTC {compiler}{reason}: {WHEELS}")


def _wheel_folders() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec else ()
    return [Path(place) / "cu13" / "include" for place in places or ()]


def _complete(*roots: Path) -> tuple[Path, ...]:
    """Return the folders in and below ``roots`` that hold all headers which kernels include, or nothing."""
    folders = [folder for root in roots for folder in (root, root / "cccl")]
    found = []
    for header in ("cooperative_groups.h", "crt/host_defines.h", "cuda/pipeline"):
        holders = [folder for folder in folders if (folder / header).is_file()]
        if not holders:
            return ()
        found.append(holders[0])
    return tuple(dict.fromkeys(found))


def _versions(folders: tuple[Path, ...]) -> tuple[object, ...]:
    found: list[object] = [nvrtc_version(), *map(str, folders)]
    for name in ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-cccl", "nvidia-cuda-crt"):
        try:
            found.append(metadata.version(name))
        except metadata.PackageNotFoundError:
            found.append(str(device.toolkits()))
    return tuple(found)


@cache
def _own_headers() -> tuple[tuple[str, str], ...]:
    return tuple((str(path.relative_to(INCLUDE)), path.read_text()) for path in sorted(INCLUDE.rglob("*.cuh")))
