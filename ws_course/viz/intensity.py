"""Times over arithmetic intensity, as lines: where a line starts is what the kernel does not hide."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from ws_course.bench.intensity import Split
from ws_course.viz import palette, rungs
from ws_course.viz.lines import spread_out
from ws_course.viz.provenance import Provenance, label


def over_intensity(ax: Axes, splits: Sequence[Split], *, provenance: Provenance, title: str = "") -> None:
    """Draw each kernel's times and its line, in milliseconds from zero; where there is no time, the line is dashed."""
    palette.dress(ax, grid="y")
    widest = max(x for split in splits for x, _ in split.points)
    highest = max(y for split in splits for _, y in split.points)
    dots = {"markersize": 6, "clip_on": False, "linestyle": ""}
    for split in splits:
        colour = rungs.colour(split.kernel)
        first, last = split.points[0][0], split.points[-1][0]
        ax.plot([first, last], [split.at(first), split.at(last)], color=colour, linewidth=1.8)
        ax.plot([0, first], [split.fixed_ms, split.at(first)], color=colour, linewidth=1.4, linestyle=(0, (3, 2)))
        shape = rungs.marker(split.kernel)
        ax.plot(
            *zip(*split.points, strict=True), marker=shape, color=colour, markeredgecolor=palette.edge(colour), **dots
        )
    heights = spread_out([split.at(last) for split in splits], gap=0.065 * highest)
    beside = ax.get_yaxis_transform()
    for split, at in zip(splits, heights, strict=True):
        colour = rungs.colour(split.kernel)
        shape = rungs.marker(split.kernel)
        ax.plot(1.03, at, shape, transform=beside, color=colour, markeredgecolor=palette.edge(colour), **dots)
        words = f"{rungs.name(split.kernel)}: {split.fixed_ms:.3f} + {split.product_ms:.3f} × intensity"
        ax.annotate(words, (1.055, at), xycoords=beside, va="center", **palette.SMALL, annotation_clip=False)
    ax.set_xticks([0, *sorted({x for split in splits for x, _ in split.points})])
    ax.set_xlim(0, widest + 0.15)
    ax.set_ylim(0, 1.08 * highest)
    ax.set_xlabel("intensity (how often each product is done)", loc="left", **palette.TEXT)
    ax.set_ylabel("milliseconds", **palette.TEXT)
    palette.title(ax, title)
    label(ax, provenance)
