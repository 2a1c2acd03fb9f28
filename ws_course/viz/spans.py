"""Timelines: what each warp does, in which order, grouped by block and role."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ws_course.runtime.result import Span
from ws_course.trace.roles import role, rows
from ws_course.viz import palette
from ws_course.viz.provenance import Origin, Provenance, label

__all__ = ["ORDER_AXIS", "role", "rows", "timeline", "timeline_height"]

ORDER_AXIS = "logical ticks — an order, not a time"


def timeline_height(spans: Sequence[Span], blocks: Collection[int] | None = None) -> float:
    """Return a good figure height in inches for these spans."""
    return 1.5 + 0.26 * max(1, len(rows(spans, blocks)))


def timeline(
    ax: Axes,
    spans: Sequence[Span],
    *,
    provenance: Provenance,
    blocks: Collection[int] | None = None,
    unit: str = "ns",
    title: str = "",
    roles: Mapping[int, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> None:
    """Draw one row a warp, grouped by block and role, coloured by work: load, compute, store, wait.

    ``blocks`` keeps only those blocks. ``roles`` names warps whose work alone does not tell their role ({1: "sender"}),
    ``names`` gives the legend another word for a work ({"wait": "gap"}). The axis is in ``unit``, except for an
    emulated order, whose ticks are no time.
    Raises ``ValueError`` if no span is left, and for a kind of work that has no colour.
    """
    order = rows(spans, blocks, roles)
    if not spans:
        raise ValueError("there are no spans to draw: run with trace=True, with one tile or more")
    if not order:
        there = ", ".join(map(str, sorted({span.block for span in spans})))
        raise ValueError(f"no spans in blocks {blocks}: there are spans of blocks {there}")
    unknown = {span.work for span in spans} - set(palette.WORK)
    if unknown:
        raise ValueError(f"no colour for the work {sorted(unknown)}: a span is one of {sorted(palette.WORK)}")
    palette.dress(ax, grid="x")
    # A gap between groups: half a row between roles, one row between blocks.
    place, y, previous = {}, 0.0, None
    for row in order:
        if previous and row[:2] != previous[:2]:
            y += 0.5 if row[0] == previous[0] else 1.0
        place[row[0], row[2]], previous, y = y, row, y + 1
    kept = [span for span in spans if (span.block, span.warp) in place]
    first, last = min(s.start for s in kept), max(s.end for s in kept)
    for work in ("wait", "load", "compute", "store"):
        for key, at in place.items():
            mine = [s for s in kept if s.work == work and (s.block, s.warp) == key]
            # Waiting is thinner than work: it recedes in grey print as well.
            half = 0.22 if work == "wait" else 0.4
            ax.broken_barh(
                [(s.start, s.end - s.start) for s in mine],
                (at - half, 2 * half),
                facecolors=palette.WORK[work],
                edgecolors=palette.edge(palette.WORK[work]),
                linewidth=0.5,
                hatch=palette.HATCH[work],
            )
    _number(ax, kept, place, last - first)
    _name_rows(ax, order, place)
    margin = 0.005 * (last - first)
    ax.set_xlim(first - margin, last + margin)
    ax.set_ylim(y - 0.4, -0.6)
    emulated = provenance.origin is Origin.EMULATED if isinstance(provenance, Provenance) else False
    ax.set_xlabel(ORDER_AXIS if emulated else f"time ({unit})", loc="left", **palette.SMALL)
    works = {span.work for span in kept}
    patches = [
        Patch(
            facecolor=colour,
            edgecolor=palette.edge(colour),
            hatch=palette.HATCH[work],
            label=(names or {}).get(work, work),
        )
        for work, colour in palette.WORK.items()
        if work in works
    ]
    ax.legend(
        handles=patches,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=4,
        frameon=False,
        borderaxespad=0.1,
        borderpad=0.2,
        fontsize=palette.SMALL_SIZE,
        handlelength=1.4,
        columnspacing=1.2,
    )
    palette.title(ax, title, pad=22)
    label(ax, provenance)


def _number(ax: Axes, kept: Sequence[Span], place: dict, extent: float) -> None:
    """Write the tile's number into every span that is wide enough for it."""
    inches = ax.figure.get_size_inches()[0] * ax.get_position().width
    for span in kept:
        text = f"{palette.LETTER[span.work]}{span.item}"
        room = inches * 72 * (span.end - span.start) / max(extent, 1)
        if span.item >= 0 and span.work != "wait" and room > 6.5 * len(text):
            ax.annotate(
                text,
                ((span.start + span.end) / 2, place[span.block, span.warp]),
                ha="center",
                va="center_baseline",
                fontsize=palette.SMALL_SIZE - 1,
                color=palette.text_on(palette.WORK[span.work]),
            )


def _name_rows(ax: Axes, order: Sequence[tuple[int, str, int]], place: dict) -> None:
    """Label each warp, and each group of warps once, at its first row."""
    names, previous = [], None
    for block, name, warp in order:
        group = f"block {block} {name}" if (block, name) != previous else ""
        names.append(f"{group}   warp {warp:>2}" if group else f"warp {warp:>2}")
        previous = (block, name)
    ax.set_yticks([place[block, warp] for block, _, warp in order], names)
    ax.tick_params(axis="y", length=0, labelsize=palette.SMALL_SIZE)
