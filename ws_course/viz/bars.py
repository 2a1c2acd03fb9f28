"""Bars from zero: the ladder of kernels against its limit, and plain bars that show their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes

from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label

SPREAD = "bar: median, whisker: 10th to 90th percentile"


@dataclass(frozen=True)
class Bar:
    """Hold one bar: a name, a value, the ends of its whisker, and the series it belongs to ("1 CTA per SM").

    ``value``, ``low`` and ``high`` share a unit (milliseconds in a ladder); ``low`` and ``high`` are ``None`` for one
    number without spread. Bars of one name are drawn next to each other.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    series: str = ""
    colour: str = ""

    @classmethod
    def from_times(cls, name: str, times: Sequence[float], series: str = "", colour: str = "") -> Bar:
        """Summarise repetitions as median and 10th to 90th percentile; raise ``ValueError`` if there is none."""
        times = np.asarray(times, dtype=float)
        if times.size == 0 or not np.isfinite(times).all():
            raise ValueError(f"{name}: a bar needs at least one repetition and only finite times, not {times.tolist()}")
        low, middle, high = np.percentile(times, (10, 50, 90))
        return cls(name, float(middle), float(low), float(high), series, colour)


def ladder(
    ax: Axes,
    bars: Sequence[Bar],
    *,
    provenance: Provenance,
    limit_ms: float | None = None,
    limit_name: str = "limit",
    title: str = "",
) -> None:
    """Draw one horizontal bar a rung, in milliseconds from zero, with the limit and the share of it that is reached.

    Rungs run from top to bottom in the order of their first bar. The share is ``limit_ms / value``: a kernel that is
    as fast as the limit reaches 100%.
    """
    palette.dress(ax, grid="x")
    names = list(dict.fromkeys(bar.name for bar in bars))
    rows = _rows(bars, names)
    for y, thickness, bar in rows:
        colour = bar.colour or palette.rung(names.index(bar.name), len(names))
        ax.barh(y, bar.value, thickness, color=colour, edgecolor=palette.edge(colour), linewidth=0.8)
        _whisker(ax, bar, y)
        share = f"  ·  {limit_ms / bar.value:.0%} of the limit" if limit_ms else ""
        end = max(bar.value, bar.high or 0, limit_ms or 0)
        ax.annotate(
            f"{bar.value:.3f} ms{share}",
            (end, y),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            **palette.SMALL,
            path_effects=palette.outlined(),
        )
        if bar.series:
            ax.annotate(
                bar.series,
                (0, y),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=palette.SMALL_SIZE,
                color=palette.text_on(colour),
            )
    if limit_ms:
        ax.axvline(limit_ms, color=palette.LIMIT, linestyle=(0, (5, 3)), linewidth=1.3, path_effects=palette.outlined())
        ax.annotate(
            f"{limit_name}: {limit_ms:.3f} ms",
            (limit_ms, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            **palette.SMALL,
        )
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    # The texts at the ends of the bars need about two thirds of the longest bar.
    ax.set_xlim(0, 1.5 * max([bar.high or bar.value for bar in bars] + [limit_ms or 0]))
    spread = f"  ({SPREAD})" if any(bar.high is not None for bar in bars) else ""
    ax.set_xlabel(f"milliseconds, less is better{spread}", loc="left", **palette.SMALL)
    palette.title(ax, title, pad=20 if limit_ms else 10)
    label(ax, provenance)


def bars_with_spread(ax: Axes, bars: Sequence[Bar], *, provenance: Provenance, unit: str, title: str = "") -> None:
    """Draw upright bars from zero with their whiskers; ``unit`` names the axis ("TFLOP/s, more is better")."""
    palette.dress(ax, grid="y")
    for x, bar in enumerate(bars):
        colour = bar.colour or palette.rung(x, len(bars))
        ax.bar(x, bar.value, 0.62, color=colour, edgecolor=palette.edge(colour), linewidth=0.8)
        _whisker(ax, bar, x, upright=True)
        ax.annotate(
            f"{bar.value:#.3g}".rstrip("."),
            (x, max(bar.value, bar.high or 0)),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            **palette.SMALL,
        )
    # A character is about 0.08 inches wide at this size. Words are not broken: a kernel name must stay readable.
    room = int(ax.figure.get_size_inches()[0] * ax.get_position().width / len(bars) / 0.08)
    names = [
        "\n".join(line for part in (b.name, b.series) for line in wrap(part, max(room, 6), break_long_words=False))
        for b in bars
    ]
    ax.set_xticks(range(len(bars)), names)
    ax.set_ylim(0, 1.15 * max(max(bar.value, bar.high or 0) for bar in bars))
    ax.set_ylabel(unit, **palette.TEXT)
    if any(bar.high is not None for bar in bars):
        ax.set_xlabel(SPREAD, loc="left", fontsize=palette.SMALL_SIZE, color=palette.MUTED)
    palette.title(ax, title)
    label(ax, provenance, below_ticks=max(name.count("\n") + 1 for name in names))


def _rows(bars: Sequence[Bar], names: list[str]) -> list[tuple[float, float, Bar]]:
    rows = []
    for at, name in enumerate(names):
        group = [bar for bar in bars if bar.name == name]
        pitch = 0.8 / len(group)
        rows += [(at + (i - (len(group) - 1) / 2) * pitch, 0.86 * pitch, bar) for i, bar in enumerate(group)]
    return rows


def _whisker(ax: Axes, bar: Bar, at: float, upright: bool = False) -> None:
    if bar.low is None or bar.high is None:
        return
    ends = [[bar.value - bar.low], [bar.high - bar.value]]
    place, spread = ((at, bar.value), {"yerr": ends}) if upright else ((bar.value, at), {"xerr": ends})
    ax.errorbar(
        *place, **spread, color=palette.INK, capsize=3, linewidth=1.1, capthick=1.1, path_effects=palette.outlined()
    )
