"""Tables of a record: what each rung takes, and what specialization alone buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ws_course.bench.record import FIXED, Measurement, Record
from ws_course.kernels.catalog import HOPPER, LADDER, get


@dataclass(frozen=True)
class Row:
    """Hold one rung at one occupancy; ``speedup`` is against the first rung at the same occupancy rule."""

    title: str
    measurement: Measurement
    share_of_copy: float
    speedup: float


def ladder(record: Record, ctas_per_sm: int | str = 1, **params: int) -> tuple[Row, ...]:
    """Return a row per rung: its fastest measurement at ``ctas_per_sm`` (or "best") with the constants in ``params``.

    A constant that a rung does not have is ignored for it. ``share_of_copy`` is GB/s over the copy bandwidth of the
    same run.
    """
    rows: list[Row] = []
    for spec in (*LADDER, *HOPPER):
        if not record.select(spec.name):
            continue
        m = record.find(spec.name, ctas_per_sm, **_own(spec.name, params))
        first = rows[0].measurement.median_ms if rows else m.median_ms
        rows.append(Row(spec.title, m, m.gb_s / record.limits["copy_gb_s"], first / m.median_ms))
    return tuple(rows)


@dataclass(frozen=True)
class Pair:
    """Compare one unified and one partitioned pipeline of the same stages, occupancy and compute threads.

    ``roles`` has loader, compute and storer warps; ``two_roles`` has no storers (None where it was not measured).
    """

    stages: int
    ctas_per_sm: int
    intensity: int
    unified: Measurement
    roles: Measurement
    two_roles: Measurement | None

    @property
    def speedup(self) -> float:
        """Return the unified time divided by the specialized time: above 1, specialization pays."""
        return self.unified.median_ms / self.roles.median_ms

    @property
    def decided(self) -> bool:
        """Return whether the difference is larger than the spread of both."""
        return abs(self.speedup - 1) > self.unified.spread + self.roles.spread


def specialization(record: Record, intensity: int = 1, **params: int) -> tuple[Pair, ...]:
    """Return what specialization alone buys: ``tile_03`` against ``tile_04``, everything else the same.

    Both have the same compute threads; a pair has the same STAGES, CTAs per SM and INTENSITY. Of ``tile_04`` the
    fastest numbers of loader and storer warps count, unless ``params`` fixes them.
    """
    pairs = []
    same = {**FIXED, "INTENSITY": intensity, **params}
    for unified in record.select("tile_03_pipeline_unified", **_own("tile_03_pipeline_unified", same)):
        ctas, equal = unified.ctas_per_sm, {**same, "STAGES": unified.params["STAGES"]}
        roles, two_roles = (
            record.find(name, ctas, **_own(name, equal)) if record.select(name, ctas, **_own(name, equal)) else None
            for name in ("tile_04_pipeline_roles", "tile_04_two_roles")
        )
        if roles:
            pairs.append(Pair(equal["STAGES"], ctas, intensity, unified, roles, two_roles))
    return tuple(sorted(pairs, key=lambda pair: (pair.ctas_per_sm, pair.stages)))


def _own(kernel: str, params: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in params.items() if name in get(kernel).defaults}


def text(record: Record) -> str:
    """Return the tables of a record: those that its set has something for."""
    if record.set == "warps-sweep":
        return warps_text(record)
    return f"{ladder_text(record)}\n{specialization_text(record)}"


def warps_text(record: Record) -> str:
    """Return what every kernel takes at each number of resident warps, at its best constants, as text."""
    kernels = list(dict.fromkeys(m.kernel for m in record.measurements))
    body = [["warps per SM", *kernels]]
    for warps in sorted({m.warps_per_sm for m in record.measurements}):
        row = [str(warps)]
        for kernel in kernels:
            times = [m.median_ms for m in record.select(kernel) if m.warps_per_sm == warps]
            row.append(f"{min(times):.3f} ms" if times else "")
        body.append(row)
    return f"fastest of all blocks and stages, {record.label}\n{table(body)}"


def ladder_text(record: Record, intensity: int = 1) -> str:
    """Return the ladder as text, at one CTA per SM and at each rung's best occupancy, with its provenance."""
    lines = []
    for ctas in (1, "best"):
        rows = ladder(record, ctas, INTENSITY=intensity)
        lines.append(f"{'1 CTA per SM' if ctas == 1 else 'best occupancy'}, intensity {intensity}, {record.label}")
        body = [["rung", "constants", "CTA/SM", "ms", "GB/s", "of copy", "speed-up"]]
        for row in rows:
            m = row.measurement
            body.append(
                [row.title, _constants(m), str(m.ctas_per_sm), f"{m.median_ms:.3f}", f"{m.gb_s:.0f}"]
                + [f"{row.share_of_copy:.0%}", f"{row.speedup:.2f}x"]
            )
        moved, worked = limits_ms(record, intensity)
        copy = record.limits["copy_gb_s"]
        body.append(["limit: bytes / copy bandwidth", "", "", f"{moved:.3f}", f"{copy:.0f}", "100%", ""])
        body.append(["limit: operations / fp32 rate", "", "", f"{worked:.3f}", "", "", ""])
        lines += [table(body), ""]
    return "\n".join(lines)


def limits_ms(record: Record, intensity: int = 1) -> tuple[float, float]:
    """Return what the problem costs at the device's limits, in ms: moving its bytes, and doing its operations."""
    problem = record.select(**{**FIXED, "INTENSITY": intensity})[0].problem
    return problem["bytes"] / record.limits["copy_gb_s"] / 1e6, problem["flops"] / record.limits["fp32_tflop_s"] / 1e9


def specialization_text(record: Record, intensity: int = 1) -> str:
    """Return :func:`specialization` as text."""
    body = [["CTA/SM", "stages", "unified ms", "roles ms", "warps", "specialization buys", "without storers ms"]]
    for p in specialization(record, intensity):
        verdict = f"{p.speedup:.2f}x" if p.decided else f"{p.speedup:.2f}x (within the spread)"
        warps = "{LOADER_WARPS} load, {STORER_WARPS} store".format(**p.roles.params)
        times = [f"{p.unified.median_ms:.3f}", f"{p.roles.median_ms:.3f}"]
        without = f"{p.two_roles.median_ms:.3f}" if p.two_roles else ""
        body.append([str(p.ctas_per_sm), str(p.stages), *times, warps, verdict, without])
    return f"same stages, occupancy and compute threads, intensity {intensity}, {record.label}\n{table(body)}"


def _constants(m: Measurement) -> str:
    short = {"STAGES": "stages", "LOADER_WARPS": "loaders", "STORER_WARPS": "storers"}
    return ", ".join(f"{m.params[name]} {word}" for name, word in short.items() if name in get(m.kernel).defaults)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as text with aligned columns; the first row is the head, the first two columns are words."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    text = [
        "  ".join(
            cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in [text[0], "-" * len(text[0]), *text[1:]])
