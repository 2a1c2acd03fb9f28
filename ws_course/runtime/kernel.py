"""A CUDA kernel as a value: source text, entry point, compile-time constants. Backends know how to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ws_course.faults import Fault
from ws_course.runtime.launch import Dim, Launch
from ws_course.runtime.result import Result
from ws_course.runtime.spans import Window


@dataclass(frozen=True)
class Kernel:
    """Name one ``__global__`` function in a piece of CUDA C++.

    ``source`` is the text, ``entry`` the function's name (or a template instance such as ``"scale<4>"``), ``file`` the
    name that messages use, ``defines`` the preprocessor constants (``-DSTAGES=3``).
    """

    source: str
    entry: str
    file: str = "kernel.cu"
    defines: Mapping[str, int | str] = field(default_factory=dict)

    @classmethod
    def from_file(cls, path: str | Path, entry: str | None = None, **defines: int | str) -> Kernel:
        """Read a ``.cu`` file; the entry defaults to the file's stem."""
        path = Path(path)
        return cls(path.read_text(encoding="utf-8-sig", errors="replace"), entry or path.stem, path.name, defines)

    def compile(self, backend: str = "auto") -> tuple[Fault, ...]:
        """Compile without running: return one ``compile-error`` fault for each error, and nothing when all is well.

        ``backend`` is as in :meth:`run`. Raises ``BackendError`` with the fix when this machine lacks the compiler.
        """
        from ws_course.runtime import backends

        return backends.get(backend).compile(self)

    def run(
        self,
        *args,
        grid: Dim,
        block: Dim,
        cluster: Dim = 1,
        smem: int = 0,
        cooperative: bool = False,
        backend: str = "auto",
        seeds: int = 1,
        trace: bool | Window = False,
        timeout: float = 30.0,
        checks: bool = True,
    ) -> Result:
        """Compile, launch in a subprocess and wait; NumPy arrays are arguments and are updated in place.

        ``backend`` is "gpu", "emulator" or "auto" (the GPU if this machine has one that can run CUDA 13). ``seeds``
        is the number of schedules the emulator tries; ``trace`` keeps spans (on a GPU, in ns, those of a ``Window`` if
        one is given; :mod:`ws_course.runtime.spans`); ``timeout`` is in seconds.
        ``checks=False`` makes the emulator several times as fast by not looking at single loads and stores (no races,
        bounds, uninitialised reads; deadlocks and barrier misuse are still found). Mistakes in
        the kernel come back as ``Result.faults``; mistakes in the call (argument count, dtype, launch numbers) raise
        ``ValueError`` or ``TypeError``; a backend that this machine lacks raises ``BackendError`` with the fix.
        """
        from ws_course.runtime import backends

        launch = Launch(grid, block, cluster, smem, cooperative)
        return backends.get(backend).run(self, args, launch, seeds=seeds, trace=trace, timeout=timeout, checks=checks)
