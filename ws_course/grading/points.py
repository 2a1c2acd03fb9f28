"""What a test cell calls: points are earned when nothing is raised, so everything that is not a pass must raise."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from ws_course.check import Case, Verdict, check_kernel
from ws_course.faults import Fault, FaultKind
from ws_course.runtime import Kernel

# What a kernel file may include: the headers that the course's GPU compiler has as well.
_ALLOWED = re.compile(
    r"<?(cooperative_groups(/\w+)*\.h|cuda/(std/)?\w+|cuda_(pipeline|awbarrier|fp16|bf16|fp8)\.h|ws/\w+\.cuh)>?"
)
_INCLUDE = re.compile(
    r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(include\w*|import|embed)\b[ \t]*(.*?)[ \t]*(?://.*)?$", re.MULTILINE
)
_ASM = re.compile(r"\b(?:asm|__asm|__asm__)\b")


class NotPassed(AssertionError):
    """Say that a kernel earned no points, and why; ``verdict`` holds the faults."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(str(verdict))
        self.verdict = verdict

    @property
    def reason(self) -> str:
        """Return the kind of the first fault, such as ``race``."""
        return self.verdict.faults[0].kind.value if self.verdict.faults else "not-run"

    def _render_traceback_(self) -> list[str]:
        # A learner needs the verdict; the lines of Python between the cell and here would only hide it.
        return [str(self)]


def grade(kernel: Kernel, cases: Iterable[Case], *, seeds: int = 10, timeout: float = 5.0) -> Verdict:
    """Check a kernel in the emulator, on any machine: return the verdict if it passed, raise :class:`NotPassed` if not.

    The emulator is the judge even where there is a GPU: it finds races that a GPU hides. ``seeds`` is how many
    schedules it tries for each case, ``timeout`` the seconds that one case may take. A kernel that includes other than
    the course's headers, or holds assembly, does not pass. Raises ``RuntimeError`` under an autograder that runs the
    learner's notebook, which could change everything here.
    """
    if os.environ.get("NBGRADER_EXECUTION") == "autograde":  # set by nbgrader, not passed on to our grading process
        raise RuntimeError(
            "nbgrader is running the learner's notebook, where no test can be trusted: start it in the project's folder"
            ", whose nbgrader_config.py grades in a process of its own (docs/grading.md)"
        )
    refused = foreign(kernel)
    if refused:
        cases = tuple(cases)
        raise NotPassed(Verdict(kernel.entry, (), len(cases), "emulator", faults=refused))
    verdict = check_kernel(kernel, cases, backend="emulator", seeds=seeds, timeout=timeout)
    if not verdict.ok:
        raise NotPassed(verdict)
    return verdict


def foreign(kernel: Kernel) -> tuple[Fault, ...]:
    """Return a ``compile-error`` fault for each include and each piece of assembly that no graded kernel may have."""
    # A backslash at the end of a line joins it to the next before the preprocessor looks.
    source = re.sub(r"\\[ \t]*\n", "", kernel.source)
    faults = []
    for match in _INCLUDE.finditer(source):
        if match[1] != "include" or not _ALLOWED.fullmatch(match[2].strip('"')):
            line = source.count("\n", 0, match.start()) + 1
            message = (
                f"#{match[1]} {match[2]}: a graded kernel includes only cooperative_groups, cuda/… and ws/… headers."
            )
            faults.append(Fault(FaultKind.COMPILE_ERROR, message, file=kernel.file, line=line))
    if match := _ASM.search(source):
        line = source.count("\n", 0, match.start()) + 1
        faults.append(
            Fault(
                FaultKind.COMPILE_ERROR,
                "a graded kernel has no assembly: use the names of <cuda/ptx>.",
                file=kernel.file,
                line=line,
            )
        )
    return tuple(faults)
