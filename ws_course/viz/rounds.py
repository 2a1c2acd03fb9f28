"""Time over the number of tiles: a staircase, as many tiles wide as the GPU holds CTAs at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label


def rounds(
    ax: Axes,
    curves: Mapping[str, Sequence[tuple[int, float]]],
    ctas: int,
    *,
    provenance: Provenance,
    model: tuple[float, float] | None = None,
    title: str = "",
) -> None:
    """Draw milliseconds, from zero, against tiles: one row of dots a schedule, a line where a new round begins.

    ``curves`` holds pairs (tiles, milliseconds) by the schedule's name. ``model`` is (milliseconds before the first
    tile, milliseconds of a round): its steps are drawn behind the dots. Raises ``ValueError`` without a point, and
    for fewer than one CTA.
    """
    if ctas < 1:
        raise ValueError(f"ctas={ctas}: a round needs one CTA at least that works at once")
    if not any(curves.values()):
        raise ValueError("there is nothing to draw: give each schedule its pairs of tiles and milliseconds")
    palette.dress(ax, grid="y")
    most = max(tiles for points in curves.values() for tiles, _ in points)
    highest = max(ms for points in curves.values() for _, ms in points)
    if model:
        before, each = model
        edges = [n * ctas for n in range(-(-most // ctas) + 1)]
        steps = [before + each * n for n in range(1, len(edges))]
        highest = max(highest, *steps)
        ax.stairs(steps, edges, baseline=None, color=palette.MUTED, linewidth=1.6, linestyle=(0, (4, 2)))
        ax.plot([], [], color=palette.MUTED, linewidth=1.6, linestyle=(0, (4, 2)), label="whole rounds (modelled)")
    for n, (name, points) in enumerate(curves.items()):
        tiles, ms = np.array(sorted(points)).T
        # Schedules that agree would hide each other: the earlier ones have larger, open markers.
        size, full = 9 - 3 * n, n == len(curves) - 1
        colour = palette.rung(n, len(curves))
        look = {"markerfacecolor": colour if full else "none", "markeredgecolor": colour, "markeredgewidth": 1.3}
        ax.plot(tiles, ms, linestyle="none", marker=palette.marker(n), markersize=size, label=name, **look)
    for n in range(1, -(-most // ctas)):
        ax.axvline(n * ctas, color=palette.RULE, linewidth=1.1, zorder=0)
    whole = range(0, most + 1, ctas)
    ax.set_xticks(whole, [str(tiles) for tiles in whole])
    ax.set_xlim(0, 1.02 * most)
    ax.set_ylim(0, 1.08 * highest)
    ax.set_xlabel(f"tiles ({ctas} CTAs at once)", loc="left", **palette.SMALL)
    ax.set_ylabel("ms", **palette.SMALL)
    ax.legend(loc="upper left", frameon=False, fontsize=palette.SMALL_SIZE)
    palette.title(ax, title)
    label(ax, provenance)
