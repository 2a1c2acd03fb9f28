"""The emulator backend: rewrite, compile for this CPU, run each schedule in its own process, tell what it found."""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ws_course.build import host, signature
from ws_course.build.nvrtc import CompileError, Diagnostic, ToolchainError
from ws_course.emulator.rewrite import RewriteError, Rewritten, rewrite
from ws_course.emulator.symbolize import Lines
from ws_course.faults import Fault, FaultKind, Site
from ws_course.runtime.arguments import Array, Bound, Map, bind
from ws_course.runtime.backends import BackendError
from ws_course.runtime.kernel import Kernel
from ws_course.runtime.launch import Launch
from ws_course.runtime.names import parameter_names
from ws_course.runtime.result import Result, Span

DEVICE = "CPU emulator"
PAGE = 4096
HEADERS = (
    "the emulator knows cooperative_groups.h, cuda_pipeline.h, cuda/barrier, cuda/pipeline, cuda/ptx, cuda/atomic, "
    "cuda/std/* and ws/*.cuh"
)


class EmulatorBackend:
    """Run kernels on this CPU with every check on: races, barriers, bounds, uninitialised shared memory."""

    name = "emulator"

    def compile(self, kernel: Kernel) -> tuple[Fault, ...]:
        """Compile only, and return what the compiler says (empty: it compiles)."""
        try:
            _build(kernel)
        except (RewriteError, CompileError) as error:
            return _compile_faults(error, kernel)
        except ToolchainError as error:
            raise BackendError(str(error)) from None
        return ()

    def run(
        self,
        kernel: Kernel,
        args: tuple,
        launch: Launch,
        *,
        seeds: int = 1,
        trace: bool = False,
        timeout: float = 30.0,
        checks: bool = True,
    ) -> Result:
        """Run ``seeds`` schedules; see :meth:`ws_course.runtime.kernel.Kernel.run`.

        The arrays hold what the first schedule wrote; a fault of any schedule is reported once, with its seeds.
        """
        return self.run_in_order([Step(kernel, args, launch)], seeds=seeds, trace=trace, timeout=timeout, checks=checks)

    def run_in_order(
        self, steps: Sequence[Step], *, seeds: int = 1, trace: bool = False, timeout: float = 30.0, checks: bool = True
    ) -> Result:
        """Run several launches on the same arrays, one after another as on one stream; see :meth:`run`."""
        if seeds < 1:
            raise ValueError(f"seeds={seeds}: try at least one schedule")
        ready = []
        for step in steps:
            try:
                rewritten, library = _build(step.kernel, checks)
            except (RewriteError, CompileError) as error:
                return Result(self.name, DEVICE, 0.0, faults=_compile_faults(error, step.kernel))
            except ToolchainError as error:
                raise BackendError(str(error)) from None
            bound = bind(_parameters(library), step.args, step.kernel.entry)
            launch = step.launch
            if rewritten.cluster and launch.cluster == (1, 1, 1):
                launch = Launch(launch.grid, launch.block, rewritten.cluster, launch.smem, launch.cooperative)
            ready.append(_Ready(step.kernel, library, bound, launch, step.overlaps))
        try:
            runner = host.runner()
        except ToolchainError as error:
            raise BackendError(str(error)) from None
        memory = _Memory(ready)
        begin = time.monotonic()
        first: _Outcome | None = None
        outputs = []
        faults: dict[tuple, Fault] = {}
        tried = []
        for seed in range(1, seeds + 1):
            left = timeout - (time.monotonic() - begin)
            if left <= 0 and tried:
                break
            outcome = _run_once(runner, ready, memory, seed, trace and seed == 1, max(left, 0.1))
            tried.append(seed)
            outputs.append(tuple(outcome.arrays))
            for fault in outcome.faults:
                key = (fault.kind, fault.file, fault.line, fault.object.partition("[")[0])
                known = faults.get(key, fault)
                faults[key] = known if seed in known.seeds else replace(known, seeds=(*known.seeds, seed))
            if first is None:
                first = outcome
            if any(f.kind is FaultKind.TIMEOUT for f in outcome.faults):
                break
        # Only now: every schedule starts from what the caller passed.
        for array, content, written in zip(memory.arrays, first.arrays, memory.written, strict=True):
            if written:
                array[...] = content
        return Result(
            self.name,
            DEVICE,
            time.monotonic() - begin,
            faults=tuple(faults.values()),
            spans=first.spans,
            seeds=tuple(tried),
            outputs=tuple(outputs),
            printed=first.printed,
            stats=first.stats,
        )


@dataclass(frozen=True)
class Step:
    """Name one launch of several; ``overlaps``: it may start before the one before it has finished.

    That is programmatic dependent launch: the kernel calls ``cudaGridDependencySynchronize()`` before it touches what
    the other writes.
    """

    kernel: Kernel
    args: tuple
    launch: Launch
    overlaps: bool = False


@dataclass(frozen=True)
class _Ready:
    """A step that is compiled and whose arguments fit."""

    kernel: Kernel
    library: Path
    bound: Bound
    launch: Launch
    overlaps: bool


class _Memory:
    """The distinct arrays of all steps, and where each lies in the file that the runner maps."""

    def __init__(self, steps: Sequence[_Ready]):
        self.arrays: list[np.ndarray] = []
        self.written: list[bool] = []
        self._places: dict[tuple[int, int], int] = {}
        for step in steps:
            for array, written in zip(step.bound.arrays, step.bound.written, strict=True):
                at = self._places.setdefault((array.ctypes.data, array.nbytes), len(self.arrays))
                if at == len(self.arrays):
                    self.arrays.append(array)
                    self.written.append(False)
                self.written[at] |= written
        # An empty page around each array, so that an access past the end meets no other.
        self._offsets, at = [], PAGE
        for array in self.arrays:
            self._offsets.append(at)
            at += -(-array.nbytes // PAGE) * PAGE + PAGE
        self.size = at if self.arrays else 0

    def where(self, array: np.ndarray) -> str:
        """Return offset, bytes and element size as the job file wants them."""
        offset = self._offsets[self._places[array.ctypes.data, array.nbytes]]
        return f"{offset} {array.nbytes} {array.dtype.itemsize}"

    def write(self, path: Path) -> None:
        with path.open("wb") as f:
            f.truncate(self.size)
            for array, offset in zip(self.arrays, self._offsets, strict=True):
                f.seek(offset)
                f.write(array.tobytes())

    def read(self, path: Path) -> list[np.ndarray]:
        content = path.read_bytes() if self.size else b""
        return [
            np.frombuffer(content, a.dtype, a.size, offset).reshape(a.shape)
            for a, offset in zip(self.arrays, self._offsets, strict=True)
        ]


class _Outcome:
    """What one schedule left behind."""

    def __init__(self, faults, spans, arrays, printed, stats):
        self.faults, self.spans, self.arrays, self.printed, self.stats = faults, spans, arrays, printed, stats


@functools.lru_cache(maxsize=64)
def _rewritten(source: str, entry: str, file: str) -> Rewritten:
    return rewrite(source, entry, file)


def _build(kernel: Kernel, checks: bool = True) -> tuple[Rewritten, Path]:
    rewritten = _rewritten(kernel.source, kernel.entry, kernel.file)
    text = rewritten.text + signature.appendix(kernel.entry, 'extern "C" __attribute__((used)) const')
    return rewritten, host.compile_kernel(text, kernel.file, kernel.defines, checks)


@functools.lru_cache(maxsize=64)
def _parameters(library: Path) -> tuple[signature.Parameter, ...]:
    return signature.read(library.read_bytes())


@functools.lru_cache(maxsize=16)
def _lines(library: Path, file: str) -> Lines:
    return Lines(library, file)


def _compile_faults(error: RewriteError | CompileError, kernel: Kernel) -> tuple[Fault, ...]:
    if isinstance(error, RewriteError):
        return (Fault(FaultKind(error.kind), error.message, hint=error.hint, file=kernel.file, line=error.line),)
    faults = []
    for d in error.diagnostics[:10]:
        message, hint = d.message, ""
        if "No such file or directory" in message:
            hint = HEADERS
        faults.append(
            Fault(FaultKind.COMPILE_ERROR, message, hint=hint, file=d.file, line=d.line, column=_column(d, kernel))
        )
    return tuple(faults)


def _column(diagnostic: Diagnostic, kernel: Kernel) -> int:
    """Return where on the kernel's own line the error starts; 0 where the rewriter changed that line."""
    lines = kernel.source.splitlines()
    if diagnostic.file != kernel.file or not 1 <= diagnostic.line <= len(lines):
        return 0
    rewritten = _rewritten(kernel.source, kernel.entry, kernel.file).text.splitlines()
    return diagnostic.character(kernel.source) if lines[diagnostic.line - 1] in rewritten else 0


def _run_once(
    runner: Path, steps: Sequence[_Ready], memory: _Memory, seed: int, trace: bool, timeout: float
) -> _Outcome:
    last = steps[-1].kernel
    with tempfile.TemporaryDirectory(prefix="ws-emulate-") as place:
        job, arena, report = (Path(place) / n for n in ("job", "arena", "report"))
        memory.write(arena)
        lines = [f"arena {memory.size}", f"limit {timeout:.3f}"]
        for step in steps:
            lines += _job_lines(step, memory, seed, trace)
        job.write_text("\n".join(lines) + "\n")

        def lost(fault: Fault, printed: str = "") -> _Outcome:
            return _Outcome((fault,), (), [a.copy() for a in memory.arrays], printed, {})

        try:
            command = [str(runner), str(job), str(arena), str(report)]
            done = subprocess.run(command, capture_output=True, timeout=timeout + 5)
        except subprocess.TimeoutExpired:
            message = f"the kernel did not end within {timeout:.0f} s and was stopped"
            return lost(Fault(FaultKind.TIMEOUT, message, file=last.file))
        printed = done.stdout[: 1 << 20].decode(errors="replace")
        if not report.is_file():
            reason = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
            fault = Fault(
                FaultKind.LAUNCH_ERROR,
                f"the emulated kernel died without a report ({reason})",
                hint="it may have written through a wild pointer, or used more memory than there is",
                file=last.file,
            )
            return lost(fault, printed)
        data = json.loads(report.read_text(errors="replace"))
        if data["usage_error"]:
            raise ValueError(f"{last.entry}: {data['usage_error']}")
        faults = tuple(_fault(f, steps) for f in data["faults"])
        spans = tuple(Span(b, w, work, start, end, item, name) for b, w, work, start, end, item, name in data["spans"])
        return _Outcome(faults, spans, memory.read(arena), printed, {"switches": data["switches"]})


def _job_lines(step: _Ready, memory: _Memory, seed: int, trace: bool) -> list[str]:
    launch, bound = step.launch, step.bound
    lines = [
        f"launch {int(step.overlaps)} {step.library}",
        *(f"{what} {' '.join(map(str, getattr(launch, what)))}" for what in ("grid", "block", "cluster")),
        f"smem {launch.smem}",
        f"cooperative {int(launch.cooperative)}",
        f"seed {seed}",
        f"trace {int(trace)}",
    ]
    names = parameter_names(step.kernel.source, step.kernel.entry)
    for i, argument in enumerate(bound.arguments):
        name = names[i] if i < len(names) and " " not in names[i] else f"argument{i}"
        if isinstance(argument, Array):
            lines.append(f"array {name} {memory.where(bound.arrays[argument.index])}")
        elif isinstance(argument, Map):
            where = memory.where(bound.arrays[argument.index])
            lines.append(f"map {name} {where} {argument.map.emulated().hex()}")
        else:
            lines.append(f"scalar {name} {argument.data.hex()}")
    return lines


def _line_of(place: dict, steps: Sequence[_Ready], callers: Sequence[int] = ()) -> tuple[str, int]:
    if place.get("line") and not place["file"].startswith("/"):
        return place["file"], place["line"]
    step = steps[min(place.get("library", len(steps) - 1), len(steps) - 1)]
    # A call site in a header counts as the line that led there.
    return step.kernel.file, _lines(step.library, step.kernel.file).line(place.get("pc", 0), callers)


def _fault(data: dict, steps: Sequence[_Ready]) -> Fault:
    place = data["place"]
    file, line = _line_of(place, steps, data["callers"])
    others = []
    if caller := _caller(place, line, steps, data["callers"]):
        others.append(Site(file, caller, what="called from here"))
    for other in data["others"]:
        where = _line_of(other, steps) if other.get("line") or other.get("pc") else ("", 0)
        others.append(Site(*where, *(_known(other[k]) for k in ("block", "warp", "lane")), what=other["what"]))
    return Fault(
        FaultKind(data["kind"]),
        data["message"],
        hint=data["hint"],
        file=file,
        line=line,
        object=data["object"],
        others=tuple(others),
        **{k: _known(place[k]) for k in ("block", "warp", "lane")},
    )


def _caller(place: dict, line: int, steps: Sequence[_Ready], callers: Sequence[int]) -> int:
    """Return the line that called the function in which the fault lies, 0 if that is the kernel itself."""
    step = steps[min(place.get("library", len(steps) - 1), len(steps) - 1)]
    chain = _lines(step.library, step.kernel.file).chain([place["pc"], *callers] if place.get("pc") else callers)
    after = chain[chain.index(line) + 1 :] if line in chain else chain
    return next((n for n in after if n != line), 0)


def _known(number: int) -> int | None:
    return number if number >= 0 else None
