"""Measurements with everything that makes them numbers: device, versions, date, method, every repetition, the check."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

SCHEMA = 1
RECORDS = Path(__file__).parent / "records"

FIXED = {"TILE": 64, "INTENSITY": 1, "COMPUTE_THREADS": 128, "SHARE": 1}
"""What :meth:`Record.find` takes for constants that are not given: comparisons hold them equal."""

UNWRITTEN = {"TILE": 64, "SHARE": 1}
"""What a measurement without these constants had: records did not write them down while they were always the same."""


@dataclass(frozen=True)
class Measurement:
    """Hold one kernel's times with given constants and launch.

    ``params`` are compile-time constants, ``problem`` holds name, tiles, tile, share, bytes and flops, ``launch`` grid,
    block, smem (dynamic, bytes), cluster (CTAs), sms (that the grid fills) and, where the compiler was told, promised
    (CTAs per SM), ``resources`` registers a thread,
    static_smem and local memory in bytes, ``times_ms`` every repetition in milliseconds, ``check`` ok, max_error and
    tolerance of the result before it was timed.
    """

    kernel: str
    params: Mapping[str, int]
    ctas_per_sm: int
    problem: Mapping[str, object]
    launch: Mapping[str, int]
    times_ms: tuple[float, ...]
    check: Mapping[str, object]
    resources: Mapping[str, int] = field(default_factory=dict)

    @property
    def median_ms(self) -> float:
        """Return the median time in milliseconds."""
        return median(self.times_ms)

    @property
    def spread(self) -> float:
        """Return the interquartile range divided by the median: how far two runs of the same thing differ."""
        ordered = sorted(self.times_ms)
        return (_quantile(ordered, 0.75) - _quantile(ordered, 0.25)) / self.median_ms

    @property
    def warps_per_sm(self) -> int:
        """Return the warps that are resident on one SM."""
        return self.ctas_per_sm * self.launch["block"] // 32

    @property
    def uncertainty(self) -> float:
        """Return how far off the median may be, as a share of it: the half width of a notch, 1.57 IQR / sqrt(n).

        Medians whose notches do not overlap differ at about the 5 % level (McGill, Tukey, Larsen, "Variations of box
        plots", The American Statistician 32, 1978).
        """
        return 1.57 * self.spread / math.sqrt(len(self.times_ms))

    @property
    def gb_s(self) -> float:
        """Return the bytes that the problem must move, read and written, over the median time, in 10^9 bytes/s."""
        return int(self.problem["bytes"]) / self.median_ms / 1e6

    @property
    def tflop_s(self) -> float:
        """Return the floating-point operations of the problem divided by the median time, in 10^12/s."""
        return int(self.problem["flops"]) / self.median_ms / 1e9

    def to_json(self) -> dict:
        """Return the measurement as a dictionary of JSON values."""
        return {
            "kernel": self.kernel,
            "params": dict(self.params),
            "ctas_per_sm": self.ctas_per_sm,
            "problem": dict(self.problem),
            "launch": dict(self.launch),
            "resources": dict(self.resources),
            "times_ms": [round(t, 6) for t in self.times_ms],
            "check": dict(self.check),
        }

    @classmethod
    def from_json(cls, data: Mapping) -> Measurement:
        """Rebuild a measurement; raise ``ValueError`` for one that cannot be believed."""
        times = tuple(data["times_ms"])
        if not times or not all(math.isfinite(t) and t > 0 for t in times):
            raise ValueError(f"the times of {data['kernel']} are not all positive numbers: {times}")
        if data["check"].get("ok") is not True:
            raise ValueError(f"{data['kernel']} {data['params']} was timed with a wrong result: {data['check']}")
        return cls(**{**data, "times_ms": times})


@dataclass(frozen=True)
class Record:
    """Hold one set of measurements that were taken together on one device.

    ``limits`` holds what the same run measured as the device's ceilings, ``copy_gb_s`` (read + written) and
    ``fp32_tflop_s``; ``live`` tells numbers that were measured in this session from numbers read from a file.
    """

    set: str
    device: Mapping[str, object]
    versions: Mapping[str, str]
    date: str
    method: Mapping[str, object]
    limits: Mapping[str, float]
    measurements: tuple[Measurement, ...]
    live: bool = False

    @property
    def label(self) -> str:
        """Return where the numbers come from: "recorded (NVIDIA H200, 2026-11-29)" or "measured now (…)"."""
        return (
            f"measured now ({self.device['name']})" if self.live else f"recorded ({self.device['name']}, {self.date})"
        )

    def select(self, kernel: str | None = None, ctas_per_sm: int | None = None, **params: int) -> list[Measurement]:
        """Return the measurements that match everything given; a constant that a kernel lacks does not match."""
        return [
            m
            for m in self.measurements
            if kernel in (None, m.kernel)
            and ctas_per_sm in (None, m.ctas_per_sm)
            and all(m.params.get(name, UNWRITTEN.get(name)) == value for name, value in params.items())
        ]

    def find(self, kernel: str, ctas_per_sm: int | str = 1, **params: int) -> Measurement:
        """Return the fastest measurement that matches; ``ctas_per_sm="best"`` leaves the occupancy free.

        Constants that are not given are free too, except those in :data:`FIXED`, which have the value there. Raises
        ``KeyError`` with what was measured if nothing matches.
        """
        fixed = {name: value for name, value in FIXED.items() if name not in params}
        found = [
            m
            for m in self.select(kernel, None if ctas_per_sm == "best" else ctas_per_sm, **params)
            if all(m.params.get(name, value) == value for name, value in fixed.items())
        ]
        if not found:
            have = sorted({f"{dict(m.params)} at {m.ctas_per_sm} CTA/SM" for m in self.select(kernel)})
            raise KeyError(
                f"{self.label} has no {kernel} with {fixed | params} at {ctas_per_sm} CTA/SM; "
                f"it has {'; '.join(have) or 'nothing of that kernel'}"
            )
        return min(found, key=lambda m: m.median_ms)

    def save(self, path: str | Path) -> Path:
        """Write the record as JSON, one measurement a line, and return the path."""
        head = {
            "schema": SCHEMA,
            "set": self.set,
            "device": dict(self.device),
            "versions": dict(self.versions),
            "date": self.date,
            "method": dict(self.method),
            "limits": dict(self.limits),
        }
        lines = ",\n".join("    " + json.dumps(m.to_json()) for m in self.measurements)
        text = json.dumps(head, indent=2)
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{text[:-2]},\n  "measurements": [\n{lines}\n  ]\n}}\n', encoding="utf-8")
        return path


def read(path: str | Path) -> Record:
    """Read a record; raise ``ValueError`` for another schema, a failed check or times that are no times."""
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    if data.pop("schema", None) != SCHEMA:
        raise ValueError(f"{path} is no record of schema {SCHEMA}: write it again with `ws-course record`")
    return Record(**{**data, "measurements": tuple(map(Measurement.from_json, data["measurements"]))})


def load(set_name: str, device: str | None = None) -> Record:
    """Return the packaged record ``set_name``: of ``device`` ("NVIDIA H200"), else the latest one.

    Raises ``FileNotFoundError`` with the sets and devices that exist.
    """
    wanted = f"{slug(device)}_{set_name}.json" if device else f"*_{set_name}.json"
    found = [read(path) for path in sorted(RECORDS.glob(wanted))]
    if not found:
        have = ", ".join(sorted(path.stem for path in RECORDS.glob("*.json"))) or "none"
        raise FileNotFoundError(f"there is no record {wanted}: there are {have}")
    return max(found, key=lambda record: record.date)


def slug(device: str) -> str:
    """Return a device name as part of a file name: "NVIDIA H200" is "nvidia-h200"."""
    return "-".join("".join(c if c.isalnum() else " " for c in device.lower()).split())


def _quantile(ordered: list[float], share: float) -> float:
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])
