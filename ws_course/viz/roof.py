"""The roofline: what memory and arithmetic allow, and where kernels stand under it.

Model: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model" (CACM 52(4), 2009):
attainable FLOP/s = min(peak, intensity × bandwidth).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ws_course.viz import palette
from ws_course.viz.lines import spread_out
from ws_course.viz.provenance import Provenance, label


@dataclass(frozen=True)
class Point:
    """Place one kernel: arithmetic intensity in FLOP per byte, rate in TFLOP/s."""

    name: str
    intensity: float
    tflop_s: float
    colour: str = ""


def attainable(intensity: float, bandwidth_gb_s: float, peak_tflop_s: float | None) -> float:
    """Return the roof in TFLOP/s above ``intensity`` (FLOP/byte); without a known peak only memory limits."""
    return min(intensity * bandwidth_gb_s / 1000, math.inf if peak_tflop_s is None else peak_tflop_s)


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
    palette.dress(ax)
    ridge = peak_tflop_s * 1000 / bandwidth_gb_s if peak_tflop_s else None
    at = [p.intensity for p in points] + ([ridge] if ridge else [])
    low, high = min(at) / 6, max(at) * 12
    top = attainable(high, bandwidth_gb_s, peak_tflop_s)
    bottom = min([p.tflop_s for p in points] + [attainable(low, bandwidth_gb_s, None)]) / 2
    bend = [ridge] if ridge else []
    xs = [low, *bend, high]
    ys = [attainable(x, bandwidth_gb_s, peak_tflop_s) for x in xs]
    ax.loglog(xs, ys, color=palette.LIMIT, linewidth=1.6)
    ax.fill_between(xs, ys, 2.5 * top, color=palette.RULE, alpha=0.35, linewidth=0)
    ax.set_xlim(low, high)
    ax.set_ylim(bottom, 2.5 * top)
    # Named along its slope, inside the shaded region that no kernel can reach.
    start = low * 1.25
    slope = math.degrees(math.atan2(attainable(start, bandwidth_gb_s, None), start))
    ax.text(
        start,
        1.3 * attainable(start, bandwidth_gb_s, None),
        f"copy bandwidth {bandwidth_gb_s / 1000:.2f} TB/s",
        rotation=slope,
        rotation_mode="anchor",
        transform_rotates_text=True,
        **palette.SMALL,
    )
    if peak_tflop_s:
        ax.annotate(
            f"{peak_name} {peak_tflop_s:.0f} TFLOP/s",
            (high, peak_tflop_s),
            xytext=(-4, 4),
            ha="right",
            textcoords="offset points",
            **palette.SMALL,
        )
    decades = math.log10(2.5 * top / bottom)
    heights = spread_out([math.log10(p.tflop_s) for p in points], gap=0.075 * decades)
    for i, (point, height) in enumerate(zip(points, heights, strict=True)):
        colour = point.colour or palette.rung(i, len(points))
        ax.plot(
            point.intensity,
            point.tflop_s,
            palette.marker(i),
            color=colour,
            markersize=7,
            markeredgecolor=palette.edge(colour),
        )
        ax.annotate(
            f"{point.name}: {point.tflop_s:.3g} TFLOP/s",
            (point.intensity, point.tflop_s),
            xytext=(point.intensity * 1.5, 10**height),
            textcoords="data",
            va="center",
            **palette.SMALL,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkB": 4, "relpos": (0, 0.5)},
        )
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(10))
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("arithmetic intensity, FLOP per byte", loc="left", **palette.TEXT)
    ax.set_ylabel("TFLOP/s", **palette.TEXT)
    palette.title(ax, title)
    label(ax, provenance)
