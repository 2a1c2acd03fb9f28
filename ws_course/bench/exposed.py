"""Split a kernel's time into arithmetic, which grows with the intensity, and the rest that arithmetic does not hide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ws_course.bench.record import FIXED, Record


@dataclass(frozen=True)
class Split:
    """Describe times in milliseconds by a line over the intensity: ``exposed_ms + arithmetic_ms * intensity``.

    ``arithmetic_ms`` is what each further product of every tile adds. ``exposed_ms`` is what remains when no arithmetic
    is left: loading, storing and waiting that nothing hides. ``misfit`` is the largest relative distance of a
    measurement from the line, so that a reader can see whether a line describes them at all.
    """

    kernel: str
    arithmetic_ms: float
    exposed_ms: float
    misfit: float

    def at(self, intensity: float) -> float:
        """Return the time in milliseconds that the line gives for an intensity."""
        return self.exposed_ms + self.arithmetic_ms * intensity


def split(record: Record, kernel: str, ctas_per_sm: int = 1, **params: int) -> Split:
    """Fit the line through the median times of a kernel at every intensity of the record (relative least squares).

    ``params`` should fix the kernel's other constants, so that all points are of one kernel; those in
    :data:`ws_course.bench.record.FIXED` are fixed already. Raises ``KeyError`` when fewer than three intensities were
    measured, since two points always lie on a line.
    """
    params = {**FIXED, **params}
    params.pop("INTENSITY", None)
    intensities = sorted({m.params["INTENSITY"] for m in record.select(kernel, ctas_per_sm, **params)})
    if len(intensities) < 3:
        raise KeyError(f"{record.label} has {kernel} with {params} at {len(intensities)} intensities: a line needs 3")
    times = np.array([record.find(kernel, ctas_per_sm, INTENSITY=i, **params).median_ms for i in intensities])
    line = np.stack([np.ones(len(times)), intensities], axis=1)
    (exposed, arithmetic), *_ = np.linalg.lstsq(line / times[:, None], np.ones(len(times)), rcond=None)
    misfit = float(np.abs(line @ (exposed, arithmetic) / times - 1).max())
    return Split(kernel, float(arithmetic), float(exposed), misfit)
