"""A process that runs kernels, so that a kernel that hangs or crashes costs one launch and not the session.

The worker stays alive between launches (a CUDA context takes most of a second to make) and is replaced after any
fault. Arrays travel through a file that both processes map; answers come back over a pipe.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from ws_course.build.nvrtc import Cubin
from ws_course.faults import Fault, FaultKind
from ws_course.runtime.arguments import Array, Bound, Map, Value
from ws_course.runtime.backends import BackendError
from ws_course.runtime.launch import Launch
from ws_course.runtime.spans import Window

START_TIMEOUT = 120.0
"""Seconds that the first contact with the GPU may take; on a cold machine the driver alone can take many."""

PRINT_LIMIT = 1 << 20
"""The most bytes of printf output that come back from one launch."""

_ALIGN = 256
_CHILD = "import sys; from ws_course.runtime.gpu_worker import main; main(sys.argv[1:])"


@dataclass(frozen=True)
class Job:
    """Describe one launch; ``window`` (resolved) asks for what a kernel built with tracing writes down."""

    cubin: Cubin
    arguments: tuple[Array | Value | Map, ...]
    launch: Launch
    file: str
    window: Window | None = None


@dataclass(frozen=True)
class Answer:
    """Hold what came of one launch; ``seconds`` is the kernel's time on the GPU.

    ``records`` is what a traced kernel wrote (:func:`ws_course.runtime.spans.layout`), ``mhz`` the nominal SM clock.
    """

    seconds: float = 0.0
    faults: tuple[Fault, ...] = ()
    printed: str = ""
    stats: dict = field(default_factory=dict)
    records: np.ndarray | None = None
    mhz: float = 0.0


@dataclass(frozen=True)
class _Exchange:
    """Say where arrays lie in the shared file: (offset, bytes, whether the kernel may write) for each."""

    path: str
    pieces: tuple[tuple[int, int, bool], ...]


class Worker:
    """The parent's end: start a process, hand it jobs, and kill it when it takes too long."""

    _shared: Worker | None = None

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._pipe: _Duplex | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._printed: Path | None = None

    @classmethod
    def shared(cls) -> Worker:
        """Return this process's worker; it starts with its first job and ends with this process."""
        if cls._shared is None or cls._shared._owner != os.getpid():
            cls._shared = cls()
            atexit.register(cls._shared.stop)
        return cls._shared

    def run(self, job: Job, bound: Bound, timeout: float) -> Answer:
        """Run one job within ``timeout`` seconds; arrays that the kernel wrote are updated in place if it succeeds."""
        with self._lock, tempfile.TemporaryDirectory(prefix="ws-course-") as folder:
            try:
                self._start()
                exchange = _put(Path(folder) / "arrays", bound)
                self._pipe.send((job, exchange))
                if not self._pipe.poll(timeout):
                    printed = self._read_printed()
                    self.stop()
                    return Answer(timeout, (_timeout_fault(timeout, job.file),), printed)
                answer: Answer = self._pipe.recv()
            except (EOFError, OSError):
                return Answer(0.0, (self._died(job.file),), self._read_printed())
            except BaseException:  # an interrupt from the keyboard: the kernel must not run on behind it
                self.stop()
                raise
            if answer.faults:
                self.stop()
            else:
                _take(exchange, bound)
            return answer

    def stop(self) -> None:
        """End the process, whatever it is doing; the next job starts a new one."""
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(30)
        if self._pipe is not None:
            self._pipe.close()
        if self._printed is not None:
            self._printed.unlink(missing_ok=True)
        self._process = self._pipe = self._printed = None

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.stop()
        to_child, from_parent = os.pipe()
        to_parent, from_child = os.pipe()
        handle, printed = tempfile.mkstemp(prefix="ws-course-printed-")
        self._printed = Path(printed)
        home = str(Path(__file__).parents[2])
        paths = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(to_child), str(from_child), printed],
            pass_fds=(to_child, from_child),
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt from the keyboard reaches this process only
            env={**os.environ, "PYTHONPATH": paths},
        )
        for mine in (to_child, from_child, handle):
            os.close(mine)
        self._pipe = _Duplex(Connection(to_parent, writable=False), Connection(from_parent, readable=False))
        if not self._pipe.poll(START_TIMEOUT):
            self.stop()
            raise BackendError(f"the GPU did not answer within {START_TIMEOUT:.0f} s: see whether nvidia-smi answers")
        problem = self._pipe.recv()
        if problem:
            self.stop()
            raise BackendError(f"the GPU cannot be used: {problem}; run `ws-course doctor`")

    def _read_printed(self) -> str:
        try:
            return self._printed.read_bytes()[:PRINT_LIMIT].decode(errors="replace") if self._printed else ""
        except OSError:
            return ""

    def _died(self, file: str) -> Fault:
        code = self._process.wait(10) if self._process is not None else None
        self.stop()
        reason = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        return Fault(FaultKind.LAUNCH_ERROR, f"The process that ran the kernel ended by itself ({reason}).", file=file)


@dataclass
class _Duplex:
    """Two one-way pipes as one connection."""

    reader: Connection
    writer: Connection

    def send(self, thing: object) -> None:
        self.writer.send(thing)

    def recv(self) -> object:
        return self.reader.recv()

    def poll(self, timeout: float) -> bool:
        return self.reader.poll(timeout)

    def close(self) -> None:
        self.reader.close()
        self.writer.close()


def _timeout_fault(timeout: float, file: str) -> Fault:
    return Fault(
        FaultKind.TIMEOUT,
        f"The kernel did not end within {timeout:g} s and was stopped.",
        "a deadlock (a barrier that waits for more threads than arrive) or an endless loop; run it with "
        'backend="emulator", which says who waits where',
        file=file,
    )


def _raw(array: np.ndarray) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))


def _put(path: Path, bound: Bound) -> _Exchange:
    pieces, offset = [], 0
    for array, written in zip(bound.arrays, bound.written, strict=True):
        pieces.append((offset, array.nbytes, written))
        offset += -(-array.nbytes // _ALIGN) * _ALIGN
    with path.open("wb") as file:
        file.truncate(max(offset, 1))
        for (start, _, _), array in zip(pieces, bound.arrays, strict=True):
            file.seek(start)
            file.write(_raw(array))
    return _Exchange(str(path), tuple(pieces))


def _take(exchange: _Exchange, bound: Bound) -> None:
    with open(exchange.path, "rb") as file:
        for (start, size, written), array in zip(exchange.pieces, bound.arrays, strict=True):
            if written and size:
                file.seek(start)
                file.readinto(_raw(array))


# ---- the child ----


def serve(reader: Connection, writer: Connection, printed: str) -> None:
    """Answer jobs until the other end closes or the parent dies."""
    from ws_course.runtime import gpu

    threading.Thread(target=_follow_parent, args=(os.getppid(),), daemon=True).start()
    try:
        gpu.start()
    except Exception as error:
        writer.send(f"{type(error).__name__}: {error}")
        return
    writer.send("")
    while True:
        try:
            job, exchange = reader.recv()
        except EOFError:
            return
        answer = _execute(job, exchange, printed)
        writer.send(answer)
        if answer.faults:
            return


def _follow_parent(parent: int) -> None:
    """End this process when the parent is gone, also while a kernel hangs."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _execute(job: Job, exchange: _Exchange, printed: str) -> Answer:
    from ws_course.runtime import gpu

    stats: dict = {}
    os.ftruncate(1, 0)
    os.lseek(1, 0, os.SEEK_SET)
    with open(exchange.path, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
        try:
            function = gpu.Function(job.cubin)
            stats = {
                "registers": function.registers,
                "static_smem": function.static_smem,
                "local": function.local,
                "ctas_per_sm": function.ctas_per_sm(job.launch.threads, job.launch.smem),
            }
            arrays = [gpu.upload(np.frombuffer(shared[at : at + n], np.uint8)) for at, n, _ in exchange.pieces]
            fire = function.prepare(gpu.arguments_of(Bound(job.arguments, (), ()), arrays), job.launch)
            recording = function.arm(job.launch, job.window) if job.window else None
            seconds = gpu.elapsed_ms(fire) / 1e3
            gpu.synchronize()
            for (at, size, written), array in zip(exchange.pieces, arrays, strict=True):
                if written and size:
                    shared[at : at + size] = gpu.download(array).tobytes()
            records = recording.read() if recording else None
            return Answer(seconds, (), _flush(printed), stats, records, gpu.nominal_mhz())
        except Exception as error:
            return Answer(0.0, (gpu.explain(error, job.file),), _flush(printed), stats)


def _flush(printed: str) -> str:
    """Return what the kernel printed: the driver writes it to the C library's stdout at a synchronisation."""
    ctypes.CDLL(None).fflush(None)
    with open(printed, "rb") as file:
        return file.read(PRINT_LIMIT).decode(errors="replace")


def main(arguments: list[str]) -> None:
    """Run the child: two file descriptors and the file that takes what kernels print."""
    to_child, to_parent, printed = arguments
    serve(Connection(int(to_child), writable=False), Connection(int(to_parent), readable=False), printed)
