"""Two parts of a kernel's time: what grows with the arithmetic, and what stays when there is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ws_course.bench.record import Record


@dataclass(frozen=True)
class Split:
    """Hold the line ``fixed_ms + INTENSITY * product_ms`` through a kernel's times.

    ``points`` are pairs (INTENSITY, median milliseconds). ``product_ms`` is what one more product of every tile costs;
    ``fixed_ms`` is everything that is not hidden behind the products: loads, stores, barriers.
    """

    kernel: str
    ctas_per_sm: int
    points: tuple[tuple[int, float], ...]
    fixed_ms: float
    product_ms: float

    @property
    def misfit(self) -> float:
        """Return the largest relative distance of a measurement from the line."""
        return max(abs(self.at(intensity) / ms - 1) for intensity, ms in self.points)

    def at(self, intensity: float) -> float:
        """Return the line's milliseconds at an intensity."""
        return self.fixed_ms + intensity * self.product_ms


def split(record: Record, kernel: str, ctas_per_sm: int = 1, **params: int) -> Split:
    """Fit the line by least squares of relative errors through the kernel's times at every INTENSITY of the record.

    Of several constants that ``params`` leave free the fastest count at each intensity. Raises ``KeyError`` if fewer
    than three intensities were measured: two points always lie on a line.
    """
    found = record.select(kernel, ctas_per_sm, **params)
    intensities = sorted({m.params["INTENSITY"] for m in found})
    if len(intensities) < 3:
        raise KeyError(
            f"{record.label} has {kernel} with {params} at {ctas_per_sm} CTA/SM and {len(intensities)} intensities: "
            "a line needs 3"
        )
    points = tuple((i, record.find(kernel, ctas_per_sm, **{**params, "INTENSITY": i}).median_ms) for i in intensities)
    # Relative errors: the longest time would otherwise decide alone, and the short ones are those that are asked about.
    product, fixed = np.polyfit(*zip(*points, strict=True), deg=1, w=[1 / ms for _, ms in points])
    return Split(kernel, ctas_per_sm, points, float(fixed), float(product))
