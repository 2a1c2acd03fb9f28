"""Bytes on their way to the SMs, counted at three places: what sharing saves, and where it saves nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label

PLACES = {
    "sm_in_bytes": "arrive at SMs",
    "l2_read_bytes": "asked of L2",
    "dram_read_bytes": "read from device memory",
}
"""The counters of :mod:`ws_course.bench.counters` that are drawn, from the SM outwards, and their words."""

MARK = "prediction for L2"


@dataclass(frozen=True)
class Traffic:
    """Hold the bytes of one launch by the names of :data:`PLACES`, and, if there is one, a prediction for L2."""

    name: str
    counted: Mapping[str, float]
    predicted: float | None = None


def traffic(ax: Axes, launches: Sequence[Traffic], *, provenance: Provenance, title: str = "") -> None:
    """Draw for each launch one upright bar a place, in megabytes (10^6 bytes) from zero, and the prediction as a dash.

    ``counted`` may be a launch of the packaged counters. Raises ``ValueError`` when there is no launch.
    """
    if not launches:
        raise ValueError("there is no launch to draw: give at least one Traffic")
    palette.dress(ax, grid="y")
    shown = {}
    wide = 0.8 / len(PLACES)
    highest = max(max(x.predicted or 0, *(x.counted[place] for place in PLACES)) for x in launches) / 1e6
    for i, (place, words) in enumerate(PLACES.items()):
        colour = palette.rung(i, len(PLACES))
        for n, x in enumerate(launches):
            at, value = n + (i - 1) * wide, x.counted[place] / 1e6
            look = {"color": colour, "edgecolor": palette.edge(colour), "linewidth": 0.8}
            shown.setdefault(words, ax.bar(at, value, 0.94 * wide, **look))
            # Inside and upright: three numbers side by side are wider than their bars.
            text = {"fontsize": palette.SMALL_SIZE, "color": palette.text_on(colour)}
            ax.annotate(f"{value:.0f}", (at, 0.02 * highest), rotation=90, ha="center", va="bottom", **text)
    dash = {"color": palette.INK, "linestyle": (0, (2, 1.5)), "linewidth": 1.6, "path_effects": palette.outlined()}
    for n, x in enumerate(launches):
        if x.predicted is not None:
            (line,) = ax.plot((n - 0.62 * wide, n + 0.62 * wide), (x.predicted / 1e6,) * 2, **dash)
            shown.setdefault(MARK, line)
    ax.set_xticks(range(len(launches)), [x.name for x in launches])
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.6, len(launches) - 0.4)
    ax.set_ylim(0, 1.2 * highest)
    ax.set_ylabel("megabytes", **palette.TEXT)
    look = {"frameon": False, "fontsize": palette.SMALL_SIZE, "handlelength": 1.4}
    ax.legend(shown.values(), shown, loc="upper right", ncols=len(shown), **look)
    palette.title(ax, title)
    label(ax, provenance, below_ticks=max(x.name.count("\n") + 1 for x in launches))
