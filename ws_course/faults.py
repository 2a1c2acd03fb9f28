"""What can be wrong with a kernel: one enum and one record, used by backends, checks, exercises and grading."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum


class FaultKind(StrEnum):
    """Name the class of a mistake; the value is what JSON output and exercises use."""

    DEADLOCK = "deadlock"
    RACE = "race"
    ILLEGAL_COLLECTIVE = "illegal-collective"
    BARRIER_MISUSE = "barrier-misuse"
    UNINITIALISED_READ = "uninitialised-read"
    OUT_OF_BOUNDS = "out-of-bounds"
    MISSING_PROXY_FENCE = "missing-proxy-fence"
    DSMEM_AFTER_EXIT = "dsmem-after-exit"
    LAUNCH_ERROR = "launch-error"
    COMPILE_ERROR = "compile-error"
    TIMEOUT = "timeout"
    WRONG_RESULT = "wrong-result"
    NOT_EMULATED = "not-emulated"


@dataclass(frozen=True)
class Site:
    """Say where in the kernel something happened: file and line (1-based), block index, warp, lane."""

    file: str = ""
    line: int = 0
    block: int | None = None
    warp: int | None = None
    lane: int | None = None
    what: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        parts = (("block", self.block), ("warp", self.warp), ("lane", self.lane))
        who = [f"{name} {value}" for name, value in parts if value is not None]
        return " ".join(p for p in (place, f"({', '.join(who)})" if who else "", self.what) if p)


@dataclass(frozen=True)
class Fault:
    """Describe one mistake in words a student understands.

    ``message`` is one plain sentence; ``hint`` (may be empty) says what usually causes it; ``object`` names the
    variable or barrier (``full[1]``); ``others`` are the further places involved (the second access of a race, the
    waiting warps of a deadlock); ``column`` is where on the line a compile error starts (1-based; 0: not known).
    """

    kind: FaultKind
    message: str
    hint: str = ""
    file: str = ""
    line: int = 0
    block: int | None = None
    warp: int | None = None
    lane: int | None = None
    object: str = ""
    others: tuple[Site, ...] = field(default=())
    seeds: tuple[int, ...] = field(default=())
    column: int = 0

    def to_json(self) -> dict:
        """Return the fault as a dictionary of JSON values."""
        return {**asdict(self), "kind": self.kind.value}

    @classmethod
    def from_json(cls, data: dict) -> Fault:
        """Rebuild a fault from :meth:`to_json` (unknown keys raise ``TypeError``)."""
        sites = tuple(Site(**s) for s in data.get("others", ()))
        rest = {k: v for k, v in data.items() if k not in ("kind", "others", "seeds")}
        return cls(kind=FaultKind(data["kind"]), others=sites, seeds=tuple(data.get("seeds", ())), **rest)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        lines = [f"{self.kind.value}: {place}{self.message}"]
        lines += [f"    {site}" for site in self.others]
        if self.hint:
            lines.append(f"    usual cause: {self.hint}")
        return "\n".join(lines)
