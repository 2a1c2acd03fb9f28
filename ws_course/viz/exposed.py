"""Arithmetic and what it does not hide, one bar a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ws_course.bench.intensity import Split
from ws_course.viz import palette, rungs
from ws_course.viz.provenance import Provenance, label


def exposed(ax: Axes, splits: Sequence[Split], *, provenance: Provenance, title: str = "") -> None:
    """Draw for each kernel one bar from zero in milliseconds at intensity 1: arithmetic, then what is exposed."""
    palette.dress(ax, grid="x")
    names = [rungs.name(split.kernel) for split in splits]
    for y, split in enumerate(splits):
        parts = (("compute", 0.0, split.product_ms), ("wait", split.product_ms, split.fixed_ms))
        for work, start, width in parts:
            colour = palette.WORK[work]
            look = {"edgecolor": palette.edge(colour), "linewidth": 0.8, "hatch": palette.HATCH[work]}
            ax.barh(y, width, 0.66, left=start, color=colour, **look)
        after = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        words = f"{split.product_ms:.3f} + {split.fixed_ms:.3f} ms"
        ax.annotate(words, (split.at(1), y), **after, **palette.SMALL)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(0, 1.35 * max(split.at(1) for split in splits))
    ax.set_xlabel("milliseconds at intensity 1", loc="left", **palette.SMALL)
    words = {"compute": "arithmetic", "wait": "not hidden behind it"}
    handles = [
        Patch(
            facecolor=palette.WORK[w], edgecolor=palette.edge(palette.WORK[w]), hatch=palette.HATCH[w], label=words[w]
        )
        for w in words
    ]
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2, "frameon": False, "borderaxespad": 0.1}
    ax.legend(handles=handles, fontsize=palette.SMALL_SIZE, handlelength=1.4, **above)
    palette.title(ax, title, pad=22)
    label(ax, provenance)
