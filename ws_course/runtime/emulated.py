"""The emulator backend: rewrite, compile for this CPU, run each schedule in its own process, tell what it found."""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
import time
from dataclasses import replace
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
MEMORY = 8192
"""Address space of one run, in MiB; what a run really touches is far less."""


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
        if seeds < 1:
            raise ValueError(f"seeds={seeds}: try at least one schedule")
        try:
            rewritten, library = _build(kernel, checks)
            runner = host.runner()
        except (RewriteError, CompileError) as error:
            return Result(self.name, DEVICE, 0.0, faults=_compile_faults(error, kernel))
        except ToolchainError as error:
            raise BackendError(str(error)) from None
        bound = bind(_parameters(library), args, kernel.entry)
        if rewritten.cluster and launch.cluster == (1, 1, 1):
            launch = Launch(launch.grid, launch.block, rewritten.cluster, launch.smem, launch.cooperative)
        begin = time.monotonic()
        first: _Outcome | None = None
        outputs = []
        faults: dict[tuple, Fault] = {}
        tried = []
        for seed in range(1, seeds + 1):
            left = timeout - (time.monotonic() - begin)
            if left <= 0 and tried:
                break
            outcome = _run_once(runner, library, kernel, bound, launch, seed, trace and seed == 1, max(left, 0.1))
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
        for array, content, written in zip(bound.arrays, first.arrays, bound.written, strict=True):
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
    runner: Path, library: Path, kernel: Kernel, bound: Bound, launch: Launch, seed: int, trace: bool, timeout: float
) -> _Outcome:
    names = parameter_names(kernel.source, kernel.entry)
    with tempfile.TemporaryDirectory(prefix="ws-emulate-") as place:
        job, arena, report = (Path(place) / n for n in ("job", "arena", "report"))
        offsets, size = _fill_arena(arena, bound)
        lines = [
            *(f"{what} {' '.join(map(str, getattr(launch, what)))}" for what in ("grid", "block", "cluster")),
            f"smem {launch.smem}",
            f"cooperative {int(launch.cooperative)}",
            f"seed {seed}",
            f"trace {int(trace)}",
            f"arena {size}",
            f"limits {timeout:.3f} {MEMORY}",
        ]
        for i, argument in enumerate(bound.arguments):
            name = names[i] if i < len(names) and " " not in names[i] else f"argument{i}"
            if isinstance(argument, Array):
                array = bound.arrays[argument.index]
                lines.append(f"array {name} {offsets[argument.index]} {array.nbytes} {array.dtype.itemsize}")
            elif isinstance(argument, Map):
                array = bound.arrays[argument.index]
                where = f"{offsets[argument.index]} {array.nbytes} {array.dtype.itemsize}"
                lines.append(f"map {name} {where} {argument.map.emulated().hex()}")
            else:
                lines.append(f"scalar {name} {argument.data.hex()}")
        job.write_text("\n".join(lines) + "\n")
        command = [str(runner), str(library), str(job), str(arena), str(report)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=timeout + 5)
        except subprocess.TimeoutExpired:
            fault = Fault(
                FaultKind.TIMEOUT, f"the kernel did not end within {timeout:.0f} s and was stopped", file=kernel.file
            )
            return _Outcome((fault,), (), [a.copy() for a in bound.arrays], "", {})
        printed = done.stdout[: 1 << 20].decode(errors="replace")
        if not report.is_file():
            reason = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
            fault = Fault(
                FaultKind.LAUNCH_ERROR,
                f"the emulated kernel died without a report ({reason})",
                hint="it may have written through a wild pointer, or used more memory than there is",
                file=kernel.file,
            )
            return _Outcome((fault,), (), [a.copy() for a in bound.arrays], printed, {})
        data = json.loads(report.read_text(errors="replace"))
        if data["usage_error"]:
            raise ValueError(f"{kernel.entry}: {data['usage_error']}")
        content = arena.read_bytes() if size else b""
        arrays = [
            np.frombuffer(content, a.dtype, a.size, offset).reshape(a.shape)
            for a, offset in zip(bound.arrays, offsets, strict=True)
        ]
        faults = tuple(_fault(f, library, kernel) for f in data["faults"])
        spans = tuple(Span(b, w, work, start, end, item, name) for b, w, work, start, end, item, name in data["spans"])
        return _Outcome(faults, spans, arrays, printed, {"switches": data["switches"]})


def _fill_arena(path: Path, bound: Bound) -> tuple[list[int], int]:
    """Lay the arrays out with an empty page around each, so that an access past the end meets no other array."""
    offsets, at = [], PAGE
    for array in bound.arrays:
        offsets.append(at)
        at += -(-array.nbytes // PAGE) * PAGE + PAGE
    if not bound.arrays:
        return [], 0
    with path.open("wb") as f:
        f.truncate(at)
        for array, offset in zip(bound.arrays, offsets, strict=True):
            f.seek(offset)
            f.write(array.tobytes())
    return offsets, at


def _line_of(place: dict, library: Path, kernel: Kernel, callers=()) -> tuple[str, int]:
    if "line" in place:
        file = place["file"]
        if file == kernel.file or not file or file.startswith("/") is False:
            return kernel.file, place["line"]
        return kernel.file, _lines(library, kernel.file).line(0, callers)
    return kernel.file, _lines(library, kernel.file).line(place["pc"], callers)


def _fault(data: dict, library: Path, kernel: Kernel) -> Fault:
    place = data["place"]
    file, line = _line_of(place, library, kernel, data["callers"])
    others = []
    for other in data["others"]:
        where = _line_of(other, library, kernel) if other.get("line") or other.get("pc") else ("", 0)
        others.append(
            Site(
                *where,
                *(v if v >= 0 else None for v in (other["block"], other["warp"], other["lane"])),
                what=other["what"],
            )
        )
    who = {k: v if v >= 0 else None for k, v in ((k, place[k]) for k in ("block", "warp", "lane"))}
    return Fault(
        FaultKind(data["kind"]),
        data["message"],
        hint=data["hint"],
        file=file,
        line=line,
        object=data["object"],
        others=tuple(others),
        **who,
    )
