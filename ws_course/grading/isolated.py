"""Start a fresh, isolated Python that has run nothing of a learner's, and talk to it in lines of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

_PACKAGE_ROOT = str(Path(__file__).parents[2])
# What a compiler and the emulator need from the environment; secrets and PYTHON… settings stay behind.
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "XDG_CACHE_HOME", "LD_LIBRARY_PATH", "CXX")


def ask(module: str, request: object, *, files: Mapping[str, bytes] | None = None, timeout: float) -> list[dict]:
    """Send a JSON request to the ``main`` of a module in a process of its own; return the JSON lines it answered.

    The process runs ``python -I`` (no user site, no current folder on the path) in an empty temporary folder that holds
    only ``files`` (content by path). After ``timeout`` seconds its process group is killed, and then fewer lines come
    back than were asked for. Lines that are not JSON objects are dropped.
    """
    start = f"import sys; sys.path.insert(0, {_PACKAGE_ROOT!r}); from {module} import main; main()"
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # Files, not pipes: a stray child that keeps a pipe open could hold up whoever reads it.
    with (
        tempfile.TemporaryDirectory(prefix="ws-grade-") as folder,
        tempfile.TemporaryFile() as question,
        tempfile.TemporaryFile() as answer,
    ):
        for name, content in (files or {}).items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        question.write(json.dumps(request).encode())
        question.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", start],
            stdin=question,
            stdout=answer,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**environment, "IPYTHONDIR": folder},
            start_new_session=True,
        )
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _kill_group(process)
            process.wait()
        answer.seek(0)
        return [parsed for line in answer if isinstance(parsed := _parse(line), dict)]


def _parse(line: bytes) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _kill_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # it has ended, and so have its children


def private_output() -> TextIO:
    """Keep the way back to the parent for this process alone: return it as a text file, and send stdout elsewhere.

    Descriptor 1, which children inherit, then leads to nowhere, and so does standard input: code that prints, or that
    guesses the format, cannot write an answer.
    """
    way_back = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    return way_back
