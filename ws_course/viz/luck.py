"""How often a wrong kernel was right all the same."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from ws_course.bench.probes import Luck
from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label


def luck(ax: Axes, counts: Mapping[str, Luck], *, provenance: Provenance, unit: str, title: str = "") -> None:
    """Draw a bar from 0 to 100% for each count, by its name, with the numbers beside it; ``unit`` is what was counted.

    The first count is drawn at the top.
    """
    palette.dress(ax, grid="x")
    for y, count in enumerate(counts.values()):
        share = 100 * count.share
        ax.barh(y, 100, 0.62, color=palette.PAPER, edgecolor=palette.RULE, linewidth=0.8)
        ax.barh(y, share, 0.62, color=palette.MUTED, edgecolor=palette.edge(palette.MUTED), linewidth=0.8)
        words = f"{count.right:,} of {count.tried:,}"
        ax.annotate(words, (100, y), xytext=(6, 0), textcoords="offset points", va="center", **palette.SMALL)
    ax.set_yticks(range(len(counts)), counts)
    ax.set_ylim(len(counts) - 0.5, -0.5)
    ax.set_xlim(0, 122)
    ax.set_xticks((0, 25, 50, 75, 100))
    ax.set_xlabel(f"% of {unit} with the right values", loc="left", **palette.SMALL)
    palette.title(ax, title)
    label(ax, provenance)
