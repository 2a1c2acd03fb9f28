"""The roofline: what memory and arithmetic allow, and where kernels stand under it.

Model: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model" (CACM 52(4), 2009):
attainable FLOP/s = min(peak, intensity × bandwidth).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ws_course.bench.record import Measurement, Record
from ws_course.viz import palette, rungs
from ws_course.viz.lines import spread_out
from ws_course.viz.provenance import Provenance, label

MOST_NAMES = 7
"""The most points that have their names beside them; of more, the fastest and the two slowest."""


@dataclass(frozen=True)
class Point:
    """Place one kernel: arithmetic intensity in FLOP per byte, rate in TFLOP/s."""

    name: str
    intensity: float
    tflop_s: float
    colour: str = ""
    marker: str = ""

    @classmethod
    def of(cls, measurement: Measurement) -> Point:
        """Make the point of a measurement, with the name and colour of its rung."""
        kernel, problem = measurement.kernel, measurement.problem
        intensity = problem["flops"] / problem["bytes"]
        return cls(rungs.name(kernel), intensity, measurement.tflop_s, rungs.colour(kernel), rungs.marker(kernel))


def attainable(intensity: float, bandwidth_gb_s: float, peak_tflop_s: float | None) -> float:
    """Return the roof in TFLOP/s above ``intensity`` (FLOP/byte); without a known peak only memory limits."""
    return min(intensity * bandwidth_gb_s / 1000, math.inf if peak_tflop_s is None else peak_tflop_s)


def limit_ms(record: Record, measurement: Measurement) -> float:
    """Return the least time in milliseconds that the roofline of ``record`` allows for a measurement's problem."""
    flops, moved = measurement.problem["flops"], measurement.problem["bytes"]
    roof = attainable(flops / moved, record.limits["copy_gb_s"], record.limits.get("fp32_tflop_s"))
    return flops / roof / 1e9


def roofline(
    ax: Axes,
    points: Sequence[Point],
    *,
    provenance: Provenance,
    bandwidth_gb_s: float,
    peak_tflop_s: float | None = None,
    peak_name: str = "peak",
    title: str = "",
) -> None:
    """Draw the roofs and the kernels on two logarithmic axes; ``bandwidth_gb_s`` is a measured copy bandwidth."""
    roofs(ax, points, bandwidth_gb_s, peak_tflop_s, peak_name)
    place(ax, points)
    palette.title(ax, title)
    label(ax, provenance)


def roofs(
    ax: Axes, around: Sequence[Point], bandwidth_gb_s: float, peak_tflop_s: float | None, peak_name: str = "peak"
) -> None:
    """Draw only what no kernel can pass, on axes that have room for the points ``around``."""
    palette.dress(ax)
    ridge = [peak_tflop_s * 1000 / bandwidth_gb_s] if peak_tflop_s else []
    at = [point.intensity for point in around] + ridge
    low, high = min(at) / 6, max(at) * 9
    xs = [low, *ridge, high]
    ys = [attainable(x, bandwidth_gb_s, peak_tflop_s) for x in xs]
    top = 5 * max(ys)
    ax.loglog(xs, ys, color=palette.LIMIT, linewidth=1.6)
    ax.fill_between(xs, ys, top, color=palette.RULE, alpha=0.35, linewidth=0)
    ax.set_xlim(low, high)
    ax.set_ylim(min([point.tflop_s for point in around] + ys) / 2, top)
    # The upper left corner is always above the slope.
    words = f"copy bandwidth\n{bandwidth_gb_s / 1000:.2f} TB/s"
    ax.text(0.03, 0.97, words, transform=ax.transAxes, va="top", **palette.SMALL)
    if peak_tflop_s:
        words = f"{peak_name}\n{peak_tflop_s:.0f} TFLOP/s"
        ax.text(0.98, 0.97, words, transform=ax.transAxes, ha="right", va="top", **palette.SMALL)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(10))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("arithmetic intensity, FLOP per byte", loc="left", **palette.TEXT)
    ax.set_ylabel("TFLOP/s", **palette.TEXT)


def place(ax: Axes, points: Sequence[Point]) -> list[Artist]:
    """Draw only the kernels, named beside their points as far as there is room; return what was drawn."""
    low, high = ax.get_ylim()
    named = list(points)
    if len(points) > MOST_NAMES:  # the fastest and the slowest
        order = sorted(points, key=lambda p: p.tflop_s)
        named = [p for p in points if p in order[:2] or p in order[2 - MOST_NAMES :]]
    heights = spread_out([math.log10(p.tflop_s) for p in named], gap=0.075 * math.log10(high / low))
    # Names hang below the highest point: above it is the roof.
    above = max(heights, default=0) - max((math.log10(p.tflop_s) for p in points), default=0)
    places = dict(zip(map(id, named), heights, strict=True))
    drawn = []
    for i, point in enumerate(points):
        colour = point.colour or palette.rung(i, len(points))
        shape, rim = point.marker or palette.marker(i), palette.edge(colour)
        drawn += ax.plot(point.intensity, point.tflop_s, shape, color=colour, markersize=7, markeredgecolor=rim)
        if id(point) not in places:
            continue
        height = places[id(point)]
        # A patch of paper keeps the roof from crossing the words.
        clear = {"facecolor": palette.PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 0.5}
        words = (point.intensity * 1.6, 10 ** (height - above))
        drawn += ax.plot(
            *zip((point.intensity, point.tflop_s), words, strict=True), color=colour, linewidth=0.8, zorder=1
        )
        drawn.append(
            ax.text(
                words[0] * 1.05,
                words[1],
                f"{point.name}: {point.tflop_s:.3g}",
                va="center",
                bbox=clear,
                **palette.SMALL,
            )
        )
    return drawn
