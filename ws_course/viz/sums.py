"""Do two times add up? Measured times beside the sum of their parts."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ws_course.bench.intensity import Split
from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label

_DASH = {"color": palette.INK, "linestyle": (0, (3, 2)), "linewidth": 1.5}


def sums(ax: Axes, split: Split, *, provenance: Provenance, title: str = "") -> None:
    """Draw for each intensity the measured time as a dot, and the parts that ``split`` names stacked in a bar.

    A dashed mark shows the larger of the two parts alone: the time if they overlapped.
    """
    palette.dress(ax, grid="y")
    measured = dict(split.points)
    places = range(len(measured))
    load, compute = palette.LOADER, palette.COMPUTE
    for x, number in zip(places, measured, strict=True):
        work = number * split.product_ms
        for start, height, colour in ((0, split.fixed_ms, load), (split.fixed_ms, work, compute)):
            ax.bar(x, height, 0.6, bottom=start, color=colour, edgecolor=palette.edge(colour), linewidth=0.8)
        overlapped = max(split.fixed_ms, work)
        ax.plot((x - 0.36, x + 0.36), (overlapped,) * 2, **_DASH, path_effects=palette.outlined())
        words = f"{measured[number]:.3f} ms"
        ax.annotate(
            words,
            (x, max(measured[number], split.at(number))),
            (0, 9),
            textcoords="offset points",
            ha="center",
            **palette.SMALL,
        )
    dots = {"color": palette.PAPER, "markeredgecolor": palette.INK, "markersize": 7, "linestyle": "none"}
    (dot,) = ax.plot(places, list(measured.values()), "o", **dots)
    parts = [Patch(facecolor=colour, edgecolor=palette.edge(colour)) for colour in (compute, load)]
    words = {
        "measured": dot,
        f"products, {split.product_ms:.3f} ms each": parts[0],
        f"everything else, {split.fixed_ms:.3f} ms": parts[1],
        "the larger part alone": Line2D([], [], **_DASH),
    }
    ax.legend(words.values(), words, loc="upper left", frameon=False, fontsize=palette.SMALL_SIZE)
    ax.set_xticks(places, measured)
    ax.set_xlim(-0.6, len(measured) - 0.4)
    ax.set_ylim(0, 1.15 * max(*measured.values(), split.at(max(measured))))
    ax.set_ylabel("milliseconds", **palette.TEXT)
    ax.set_xlabel("products for each tile (intensity)", loc="left", **palette.TEXT)
    palette.title(ax, title)
    label(ax, provenance)
