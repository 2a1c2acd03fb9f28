"""The seam: one protocol, two backends. Nothing above this module knows which one runs a kernel."""

from __future__ import annotations

from typing import Protocol

from ws_course.faults import Fault
from ws_course.runtime.kernel import Kernel
from ws_course.runtime.launch import Launch
from ws_course.runtime.result import Result
from ws_course.runtime.spans import Window


class BackendError(RuntimeError):
    """Say that this machine cannot run a kernel this way, and what to do about it."""


class Backend(Protocol):
    """Run kernels; see :meth:`ws_course.runtime.kernel.Kernel.run` for the contract."""

    name: str

    def run(
        self,
        kernel: Kernel,
        args: tuple,
        launch: Launch,
        *,
        seeds: int = 1,
        trace: bool | Window = False,
        timeout: float = 30.0,
        checks: bool = True,
    ) -> Result:
        """Run one launch in a subprocess and return what came of it."""
        ...

    def compile(self, kernel: Kernel) -> tuple[Fault, ...]:
        """Compile without running and return the compiler's errors as faults; a later :meth:`run` reuses the result."""
        ...


def get(name: str = "auto") -> Backend:
    """Return the backend called "gpu", "emulator" or "auto"; raise ``ValueError`` for another name."""
    if name == "auto":
        from ws_course import device

        name = "gpu" if device.has_gpu() else "emulator"
    if name == "gpu":
        from ws_course.runtime.gpu import GpuBackend

        return GpuBackend()
    if name == "emulator":
        from ws_course.runtime.emulated import EmulatorBackend

        return EmulatorBackend()
    raise ValueError(f'no backend is called {name!r}: use "auto", "gpu" or "emulator"')
