"""Compile a rewritten kernel, and the emulator that runs it, with the C++ compiler of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ws_course import device
from ws_course.build.cache import Cache, folder, key
from ws_course.build.nvrtc import CompileError, Diagnostic, ToolchainError, header_folders

EMULATOR = Path(__file__).parent.parent / "emulator"
SHADOW = EMULATOR / "include"
STD = "-std=c++17"
NO_COMPILER = (
    "there is no C++ compiler to run kernels on this CPU with: install one (Debian, Ubuntu: apt install g++; "
    "Fedora: dnf install gcc-c++; "
    "conda: conda install cxx-compiler; or anywhere: pip install ziglang)"
)

KEEP = "free some space there, or set WS_COURSE_CACHE to a folder that can be written"

# Loads and stores become calls of the emulator's __tsan_* functions, misaligned pointers one of __ubsan_*. No frame may
# vanish: faults walk the stack.
_CHECKED = {
    "gcc": [
        "-fsanitize=thread,alignment",
        "-nodefaultlibs",
        "--param",
        "tsan-instrument-func-entry-exit=0",
        "--param",
        "tsan-distinguish-volatile=1",
    ],
    "clang": [
        "-Xclang",
        "-fsanitize=thread,alignment",
        "-Xclang",
        "-fsanitize-recover=alignment",
        "-mllvm",
        "-tsan-instrument-func-entry-exit=0",
        "-mllvm",
        "-tsan-distinguish-volatile=1",
    ],
}
_KERNEL = [
    "-O1",
    "-g",
    "-fPIC",
    "-fno-omit-frame-pointer",
    "-fno-threadsafe-statics",
    "-fno-strict-aliasing",
    "-fno-exceptions",
    "-fno-plt",
    "-w",
]
_RUNNER = ["-O3", "-g1", "-fno-omit-frame-pointer", "-Wall"]

_KERNELS = Cache("host")


def _compiler() -> device.Compiler:
    compiler = device.host_compiler()
    if compiler is None:
        raise ToolchainError(NO_COMPILER)
    return compiler


def _family(compiler: device.Compiler) -> str:
    return "gcc" if compiler.family == "gcc" else "clang"


@cache
def _sources() -> tuple[tuple[str, str], ...]:
    files = sorted(
        p for p in EMULATOR.rglob("*") if p.is_file() and (p.suffix in {".cpp", ".hpp"} or SHADOW in p.parents)
    )
    return tuple((str(p.relative_to(EMULATOR)), p.read_text()) for p in files)


def compile_kernel(text: str, file: str, defines: Mapping[str, int | str] | None = None, checks: bool = True) -> Path:
    """Compile host C++ from :func:`ws_course.emulator.rewrite.rewrite` to a shared library; the path is in the cache.

    ``file`` is the kernel's name in messages; without ``checks`` loads and stores are not looked at. Raises
    ``CompileError`` with file and line, ``ToolchainError`` where there is no compiler.
    """
    compiler = _compiler()
    # After the prelude and before the kernel: a constant called N must not reach the emulator's own headers.
    text = "".join(f"#define {name} {value}\n" for name, value in sorted((defines or {}).items())) + text
    includes = [f"-I{p}" for p in (SHADOW, EMULATOR.parent / "kernels" / "include", *header_folders())]
    options = [STD, *_KERNEL, *(_CHECKED[_family(compiler)] if checks else [])]
    name = key(text, file, options, str(compiler), includes, _sources()) + ".so"
    path = folder() / _KERNELS.kind / name
    if _kept(path):
        return path
    with tempfile.TemporaryDirectory(prefix="ws-build-") as place:
        source, library = Path(place) / "kernel.cpp", Path(place) / "kernel.so"
        source.write_text(text)
        command = [
            *compiler.command,
            *options,
            *includes,
            "-include",
            "ws_emu/prelude.h",
            "-x",
            "c++",
            str(source),
            "-shared",
            "-o",
            str(library),
        ]
        _run(command, file, place)
        _KERNELS.put(name, library.read_bytes())
    if not path.is_file():
        raise ToolchainError(f"the compiled kernel could not be kept in {folder()}: {KEEP}")
    return path


def runner() -> Path:
    """Return the emulator's executable, compiled once per version of the course."""
    compiler = _compiler()
    name = key(_RUNNER, str(compiler), _sources()) + ".run"
    path = folder() / _KERNELS.kind / name
    if _kept(path) and os.access(path, os.X_OK):
        return path
    with tempfile.TemporaryDirectory(prefix="ws-build-") as place:
        out = Path(place) / "runner"
        # One translation unit: the standard headers are read once, which halves the time.
        whole = Path(place) / "emulator.cpp"
        whole.write_text("".join(f'#include "{unit}"\n' for unit in sorted((EMULATOR / "cpp").glob("*.cpp"))))
        command = [*compiler.command, STD, *_RUNNER, f"-I{SHADOW}", str(whole), "-rdynamic", "-o", str(out), "-ldl"]
        try:
            _run(command, "the emulator", place)
        except CompileError as error:
            raise ToolchainError(
                f"the emulator does not compile with {compiler}: use g++ 11 or clang 14, or newer ({error})"
            ) from None
        _KERNELS.put(name, out.read_bytes(), executable=True)
    if not path.is_file():
        raise ToolchainError(f"the emulator could not be kept in {folder()}: {KEEP}")
    return path


def _kept(path: Path) -> bool:
    """Return whether the cache has the file, and mark it as used."""
    try:
        os.utime(path)
    except OSError:
        return False
    return True


def _run(command: list[str], file: str, place: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, cwd=place, env={**os.environ, "LC_ALL": "C"}
        )
    except subprocess.TimeoutExpired:
        raise CompileError((Diagnostic(file, 1, "error", "the compiler did not finish within 120 s"),), "") from None
    if done.returncode:
        found = diagnostics(done.stderr)
        raise CompileError(found or (Diagnostic(file, 1, "error", done.stderr.strip()[:2000]),), done.stderr)


def diagnostics(log: str) -> tuple[Diagnostic, ...]:
    """Return the errors of a g++ or clang++ log, in order."""
    pattern = re.compile(
        r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<message>.*)$", re.MULTILINE
    )
    return tuple(
        Diagnostic(m["file"], int(m["line"]), "error", m["message"], int(m["column"] or 0))
        for m in pattern.finditer(log)
    )
