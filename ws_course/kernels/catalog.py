"""The catalog: one entry per kernel file, with its constants, its launch numbers and its excerpts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).parent
INCLUDE = FOLDER / "include"  # holds ws/*.cuh
ARCHS = ("sm_80", "sm_90a", "sm_100a")  # what a kernel is compiled for in the tests


@dataclass(frozen=True)
class KernelSpec:
    """Describe one kernel file: what it claims, which constants it takes and how it is launched.

    ``file`` is relative to the folder of this module and ``name`` is the ``__global__`` function in it. ``choices``
    lists the values that are taught and measured for each constant, ``defaults`` the one that is used when a call does
    not say; a constant outside ``choices`` is allowed if the kernel's ``static_assert`` lines allow it. ``derived``
    holds constants that follow from the others.
    """

    name: str
    file: str
    title: str
    claim: str
    lesson: str
    defaults: Mapping[str, int]
    choices: Mapping[str, tuple[int, ...]]
    threads: Callable[[Mapping[str, int]], int]
    shared: Callable[[Mapping[str, int]], int]
    derived: Mapping[str, Callable[[Mapping[str, int]], int]] = field(default_factory=dict)
    archs: tuple[str, ...] = ARCHS

    @property
    def path(self) -> Path:
        """Return the path of the ``.cu`` file."""
        return FOLDER / self.file

    @cached_property
    def source(self) -> str:
        """Return the text of the ``.cu`` file."""
        return self.path.read_text(encoding="utf-8")

    def defines(self, **params: int) -> dict[str, int]:
        """Return every constant that the file needs, the defaults overridden by ``params``.

        Raises ``ValueError`` for a constant that the kernel does not have or that is not a positive integer.
        """
        for name, value in params.items():
            if name in self.derived:
                raise ValueError(f"{name} of {self.name} follows from its other constants: leave it out")
            if name not in self.defaults:
                known = ", ".join(self.defaults)
                raise ValueError(f"{self.name} has no constant {name}: it takes {known}")
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}={value!r}: a constant of {self.name} is an integer of at least 1")
        constants = {**self.defaults, **params}
        return {**constants, **{name: rule(constants) for name, rule in self.derived.items()}}

    def block(self, **params: int) -> int:
        """Return the number of threads of one block; raises as :meth:`defines`."""
        return self.threads(self.defines(**params))

    def smem(self, **params: int) -> int:
        """Return the dynamic shared memory of one block in bytes; raises as :meth:`defines`."""
        return self.shared(self.defines(**params))

    def excerpt(self, anchor: str) -> str:
        """Return the lines between ``// [anchor]`` and ``// [/anchor]``; raise ``KeyError`` naming the anchors."""
        lines = self.source.splitlines()
        try:
            first, last = lines.index(f"// [{anchor}]"), lines.index(f"// [/{anchor}]")
        except ValueError:
            raise KeyError(f"{self.file} has no anchor {anchor!r}: it has {', '.join(self.anchors)}") from None
        return "\n".join(lines[first + 1 : last])

    @property
    def anchors(self) -> tuple[str, ...]:
        """Return the names that :meth:`excerpt` knows, in the order of the file."""
        return tuple(
            line[4:-1] for line in self.source.splitlines() if line.startswith("// [") and line[4] != "/" and line[-1] == "]"
        )


def _compute_threads(constants: Mapping[str, int]) -> int:
    return (constants["TILE"] // 4) ** 2  # a 4x4 piece of C each


LADDER: tuple[KernelSpec, ...] = (
    KernelSpec(
        name="tile_00_one_buffer",
        file="tile/tile_00_one_buffer.cu",
        title="one buffer, __syncthreads",
        claim="Load time and compute time add up: while one happens, the other does not.",
        lesson="01",
        defaults={"TILE": 64, "INTENSITY": 1},
        choices={"TILE": (32, 64), "INTENSITY": (1, 2, 4, 8)},
        derived={"COMPUTE_THREADS": _compute_threads},
        threads=lambda c: c["COMPUTE_THREADS"],
        shared=lambda c: 0,
    ),
)


def get(name: str) -> KernelSpec:
    """Return the kernel called ``name``; raise ``KeyError`` with the names that exist."""
    for spec in LADDER:
        if spec.name == name:
            return spec
    raise KeyError(f"no kernel is called {name!r}: there are {', '.join(spec.name for spec in LADDER)}")
