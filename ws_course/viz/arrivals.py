"""How far each barrier of a pipeline is: arrivals that have come, of the arrivals that complete its phase."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from ws_course.model.ring import Barrier
from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label


def arrivals(
    ax: Axes, full: Sequence[Barrier], empty: Sequence[Barrier], *, provenance: Provenance, title: str = ""
) -> None:
    """Draw one row a barrier, ``full[s]`` and ``empty[s]`` of each stage: an outline that arrivals fill.

    Arrivals at ``full`` have the producers' colour and those at ``empty`` the consumers'.
    """
    palette.dress(ax)
    rows = [
        (f"{name}[{stage}]", barriers[stage], colour)
        for stage in range(len(full))
        for name, barriers, colour in (("full", full, palette.LOADER), ("empty", empty, palette.COMPUTE))
    ]
    most = max(barrier.expected for _, barrier, _ in rows)
    for y, (_, barrier, colour) in enumerate(rows):
        ax.barh(y, barrier.arrived, 0.6, color=colour, edgecolor=palette.edge(colour), linewidth=0.8)
        ax.barh(y, barrier.expected, 0.6, fill=False, edgecolor=palette.MUTED, linewidth=1.1)
        words = f"{barrier.arrived} of {barrier.expected}, phase {barrier.phase}"
        at = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(words, (barrier.expected, y), **at, annotation_clip=False, **palette.SMALL)
    ax.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 1.75 * most)
    ax.set_xticks(sorted({0, *(barrier.expected for _, barrier, _ in rows)}))
    ax.set_xlabel("arrivals (threads)", loc="left", **palette.SMALL)
    palette.title(ax, title)
    label(ax, provenance)
