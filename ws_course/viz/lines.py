"""Curves over the number of resident CTAs: where occupancy does for free what a kernel does by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ws_course.bench.record import Record
from ws_course.viz import palette, rungs
from ws_course.viz.provenance import Provenance, label


@dataclass(frozen=True)
class Curve:
    """Hold one rung's times: ``points`` are pairs (CTAs per SM, milliseconds)."""

    name: str
    points: tuple[tuple[int, float], ...]
    colour: str = ""
    marker: str = ""

    @classmethod
    def of(cls, record: Record, kernel: str, **params: int) -> Curve:
        """Make the curve of a kernel: its fastest time at each occupancy with ``params``, INTENSITY 1 unless given.

        Raises ``KeyError`` if nothing matches.
        """
        occupancies = sorted({m.ctas_per_sm for m in record.select(kernel)}) or [1]
        matching = {"INTENSITY": 1, **params}
        kept = [n for n in occupancies if record.select(kernel, n, **matching)] or occupancies[:1]
        points = tuple((n, record.find(kernel, n, **matching).median_ms) for n in kept)
        return cls(rungs.name(kernel), points, rungs.colour(kernel), rungs.marker(kernel))


def occupancy(
    ax: Axes,
    curves: Sequence[Curve],
    *,
    provenance: Provenance,
    limit_ms: float | None = None,
    limit_name: str = "limit",
    title: str = "",
) -> None:
    """Draw milliseconds, from zero, against resident CTAs per SM, one curve a rung, each named at its right end."""
    palette.dress(ax, grid="y")
    widest = max(x for curve in curves for x, _ in curve.points)
    highest = max(y for curve in curves for _, y in curve.points)
    ends = []
    dots = {"markersize": 6, "clip_on": False}
    for i, curve in enumerate(curves):
        colour = curve.colour or palette.rung(i, len(curves))
        shape = curve.marker or palette.marker(i)
        points = sorted(curve.points)
        ax.plot(
            *zip(*points, strict=True),
            color=colour,
            marker=shape,
            linewidth=1.8,
            markeredgecolor=palette.edge(colour),
            **dots,
        )
        ends.append((points[-1][1], curve.name, colour, shape))
    if limit_ms:
        ax.axhline(limit_ms, color=palette.LIMIT, linestyle=(0, (5, 3)), linewidth=1.4)
        ends.append((limit_ms, f"{limit_name} {limit_ms:.3f} ms", palette.LIMIT, ""))
    ax.set_ylim(0, 1.08 * highest)
    heights = spread_out([y for y, *_ in ends], gap=0.058 * 1.08 * highest)
    # Names stand at the height of their curve's end, with its marker: a legend in reading order.
    beside = ax.get_yaxis_transform()
    for (_, name, colour, shape), at in zip(ends, heights, strict=True):
        ax.plot(1.03, at, shape, transform=beside, color=colour, markeredgecolor=palette.edge(colour), **dots)
        ax.annotate(name, (1.055, at), xycoords=beside, va="center", **palette.SMALL, annotation_clip=False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(min(x for curve in curves for x, _ in curve.points) - 0.15, widest + 0.15)
    ax.set_xlabel("resident CTAs per SM", loc="left", **palette.TEXT)
    ax.set_ylabel("milliseconds", **palette.TEXT)
    palette.title(ax, title)
    label(ax, provenance)


def spread_out(values: Sequence[float], gap: float) -> list[float]:
    """Return ``values`` moved as little as a simple sweep can so that neighbours are at least ``gap`` apart."""
    order = sorted(range(len(values)), key=values.__getitem__)
    clusters: list[list[float]] = []
    for value in (values[i] for i in order):
        clusters.append([value])
        # Two clusters that touch become one; a cluster is centred on the mean of its values.
        while len(clusters) > 1 and _low(clusters[-1], gap) - _high(clusters[-2], gap) < gap:
            last = clusters.pop()
            clusters[-1] += last
    placed = [_low(cluster, gap) + k * gap for cluster in clusters for k in range(len(cluster))]
    result = [0.0] * len(values)
    for i, value in zip(order, placed, strict=True):
        result[i] = value
    return result


def _low(cluster: list[float], gap: float) -> float:
    return sum(cluster) / len(cluster) - gap * (len(cluster) - 1) / 2


def _high(cluster: list[float], gap: float) -> float:
    return sum(cluster) / len(cluster) + gap * (len(cluster) - 1) / 2
