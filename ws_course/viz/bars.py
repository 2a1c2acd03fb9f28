"""Bars from zero: the ladder of kernels against its limit, and plain bars that show their spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ws_course.bench.record import Measurement
from ws_course.viz import palette, rungs
from ws_course.viz.provenance import Provenance, label

SPREAD = "median, whisker 25th–75th percentile"


@dataclass(frozen=True)
class Bar:
    """Hold one bar: a name, a value, the ends of its whisker, and the series it belongs to ("1 CTA per SM").

    ``value``, ``low`` and ``high`` share a unit (milliseconds in a ladder); ``low`` and ``high`` are ``None`` for one
    number without spread. Bars of one name are drawn next to each other. ``hidden`` keeps the place and shows a
    question mark: the reader predicts first. ``hatch`` is Matplotlib's pattern for a bar that a ladder sets apart.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    series: str = ""
    colour: str = ""
    hidden: bool = False
    hatch: str = ""

    @classmethod
    def from_times(
        cls,
        name: str,
        times: Sequence[float],
        series: str = "",
        colour: str = "",
        hidden: bool = False,
        hatch: str = "",
    ) -> Bar:
        """Summarise repetitions as median and 25th to 75th percentile; raise ``ValueError`` if there is none."""
        times = np.asarray(times, dtype=float)
        if times.size == 0 or not np.isfinite(times).all():
            raise ValueError(f"{name}: a bar needs at least one repetition and only finite times, not {times.tolist()}")
        low, middle, high = np.percentile(times, (25, 50, 75))
        return cls(name, float(middle), float(low), float(high), series, colour, hidden, hatch)

    @classmethod
    def of(cls, measurement: Measurement, series: str = "", hidden: bool = False) -> Bar:
        """Make the bar of a measurement, in milliseconds, with the name and colour of its rung."""
        kernel = measurement.kernel
        return cls.from_times(rungs.name(kernel), measurement.times_ms, series, rungs.colour(kernel), hidden)

    @property
    def end(self) -> float:
        """Return the largest value that is drawn: the upper end of the whisker, or the value."""
        return self.value if self.high is None else max(self.value, self.high)


def ladder(
    ax: Axes,
    bars: Sequence[Bar],
    *,
    provenance: Provenance,
    limit_ms: float | None = None,
    limit_name: str = "limit",
    guesses: Mapping[str, float] | None = None,
    title: str = "",
) -> None:
    """Draw one horizontal bar a rung, in milliseconds from zero, with the limit and the share of it that is reached.

    Rungs run from top to bottom in the order of their first bar. The share is ``limit_ms / value``: a kernel as fast
    as the limit reaches 100%. ``guesses`` are the reader's predictions in milliseconds by name, drawn as
    dashed outlines.
    """
    palette.dress(ax)
    guesses = guesses or {}
    after = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
    names = list(dict.fromkeys(bar.name for bar in bars))
    for y, thickness, bar in _rows(bars, names):
        colour = bar.colour or palette.rung(names.index(bar.name), len(names))
        if bar.hidden:
            # A guess writes its own text at this place.
            ax.annotate("" if bar.name in guesses else "?", (0, y), **after, **palette.TEXT)
            continue
        ax.barh(y, bar.value, thickness, color=colour, edgecolor=palette.edge(colour), linewidth=0.8)
        on = palette.text_on(colour)
        if bar.hatch:
            ax.barh(y, bar.value, thickness, fill=False, edgecolor=on, linewidth=0, hatch=bar.hatch, alpha=0.5)
        _whisker(ax, bar, y)
        share = f"  ({limit_ms / bar.value:.0%})" if limit_ms else ""
        clear = max(bar.end, limit_ms or 0, guesses.get(bar.name, 0))
        ax.annotate(f"{bar.value:.3f} ms{share}", (clear, y), **after, **palette.SMALL)
        if bar.series:
            casing = palette.outlined(colour, 5) if bar.hatch else None
            ax.annotate(bar.series, (0, y), **after, fontsize=palette.SMALL_SIZE, color=on, path_effects=casing)
    for name, guess in guesses.items():
        y = names.index(name)
        ax.barh(
            y,
            guess,
            0.8,
            fill=False,
            edgecolor=palette.INK,
            linewidth=1.3,
            linestyle=(0, (3, 2)),
            path_effects=palette.outlined(),
        )
        if all(bar.hidden for bar in bars if bar.name == name):
            clear = max(guess, limit_ms or 0)
            ax.annotate(f"your guess: {guess:.3f} ms", (clear, y), **after, **palette.SMALL)
    if limit_ms:
        ax.axvline(limit_ms, color=palette.LIMIT, linestyle=(0, (5, 3)), linewidth=1.3, path_effects=palette.outlined())
        above = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center"}
        at = {"xycoords": ("data", "axes fraction")}
        ax.annotate(f"{limit_name}: {limit_ms:.3f} ms (100%)", (limit_ms, 1), **at, **above, **palette.SMALL)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    # The texts at the ends of the bars need about a third of the longest bar.
    ends = [bar.end for bar in bars if not bar.hidden] + list(guesses.values()) + [limit_ms or 0]
    ax.set_xlim(0, 1.4 * max(ends) or 1)
    spread = f" ({SPREAD})" if any(bar.high is not None for bar in bars) else ""
    ax.set_xlabel(f"milliseconds{spread}", loc="left", **palette.SMALL)
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
            str(bar.value)
            if isinstance(bar.value, int)
            else f"{bar.value:#.3g}".rstrip("."),  # a count has no decimals
            (x, bar.end),
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
    ax.set_ylim(0, 1.15 * max(bar.end for bar in bars))
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
    # One line with end marks: an error bar is four artists, and a widget redraws them all.
    ends, place = (bar.low, bar.high), (at, at)
    xs, ys, mark = (place, ends, "_") if upright else (ends, place, "|")
    ax.plot(xs, ys, marker=mark, color=palette.INK, linewidth=1.1, markersize=7, path_effects=palette.outlined())
