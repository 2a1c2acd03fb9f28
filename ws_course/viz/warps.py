"""Throughput over the warps that are resident on an SM: how far a kernel scales, and how far somebody said it would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from ws_course.bench.record import Measurement, Record
from ws_course.viz import palette, rungs
from ws_course.viz.lines import spread_out
from ws_course.viz.provenance import Provenance, label

SHAPES = ("o", "s", "^", "D")


def fastest(record: Record, kernel: str) -> tuple[Measurement, ...]:
    """Return a kernel's fastest measurement for each number of resident warps per SM, fewest warps first.

    Raises ``KeyError`` if the record does not have the kernel.
    """
    measured = record.select(kernel)
    if not measured:
        raise KeyError(f"{record.label} has no {kernel}")
    best: dict[int, Measurement] = {}
    for m in sorted(measured, key=lambda m: -m.median_ms):
        best[m.warps_per_sm] = m
    return tuple(best[warps] for warps in sorted(best))


def resident_warps(
    ax: Axes,
    record: Record,
    kernels: Sequence[str],
    *,
    provenance: Provenance,
    claims: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    title: str = "",
) -> None:
    """Draw TB/s, from zero, against resident warps per SM: every measurement, and a line through each fastest one.

    ``claims`` are dotted lines, by name, through points (warps per SM, TB/s). The name stands below the line; one that
    goes above the copy bandwidth leaves the figure, which says so.
    """
    palette.dress(ax, grid="y")
    limit = record.limits["copy_gb_s"] / 1000
    top = 1.22 * limit
    ends = []
    for i, kernel in enumerate(kernels):
        colour, shape = palette.rung(i, len(kernels)), SHAPES[i % len(SHAPES)]
        everything = [(m.warps_per_sm, m.gb_s / 1000) for m in record.select(kernel)]
        best = [(m.warps_per_sm, m.gb_s / 1000) for m in fastest(record, kernel)]
        ax.scatter(*zip(*everything, strict=True), s=9, marker=shape, color=colour, alpha=0.35, linewidths=0)
        look = {"marker": shape, "markersize": 5, "markeredgecolor": palette.edge(colour), "clip_on": False}
        ax.plot(*zip(*best, strict=True), color=colour, linewidth=1.8, label=rungs.name(kernel), **look)
        ends.append((best[-1][1], rungs.name(kernel), colour, shape))
    ax.axhline(limit, color=palette.LIMIT, linestyle=(0, (5, 3)), linewidth=1.4)
    ends.append((limit, f"a plain copy: {limit:.2f} TB/s", palette.LIMIT, ""))
    for name, points in (claims or {}).items():
        ax.plot(*zip(*points, strict=True), color=palette.ALARM, linestyle=(0, (1.2, 1.6)), linewidth=2)
        (x0, y0), (x, y) = points[-2:]
        ink = {**palette.SMALL, "color": palette.ALARM}
        if y <= top:
            below = {"xytext": (0, -4), "textcoords": "offset points", "ha": "center", "va": "top"}
            ax.annotate(name, (0.6 * x0 + 0.4 * x, 0.6 * y0 + 0.4 * y), **below, **ink)
            continue
        leaves = 0.985 * top
        at = x0 + (x - x0) * (leaves - y0) / (y - y0)
        words = f"{name}\n… {y:.0f} TB/s at {x:g} warps"
        ax.annotate(words, (at, leaves), xytext=(7, 0), textcoords="offset points", va="top", **ink)
    heights = spread_out([y for y, *_ in ends], gap=0.07 * top)
    beside = ax.get_yaxis_transform()
    for (_, name, colour, shape), at in zip(ends, heights, strict=True):
        if shape:
            dot = {"color": colour, "markeredgecolor": palette.edge(colour), "markersize": 6, "clip_on": False}
            ax.plot(1.025, at, shape, transform=beside, **dot)
        ax.annotate(name, (1.045, at), xycoords=beside, va="center", annotation_clip=False, **palette.SMALL)
    ax.set_xlim(0, 65)
    ax.set_xticks([1, 8, 16, 24, 32, 40, 48, 56, 64])
    ax.set_ylim(0, top)
    ax.set_xlabel("resident warps per SM (faint: CTAs of other sizes, slower)", loc="left", **palette.TEXT)
    ax.set_ylabel("TB/s, read and written", **palette.TEXT)
    palette.title(ax, title)
    label(ax, provenance)
