"""The few shapes that the drawings of the lessons are made of: a canvas in inches, boxes, arrows, lanes of work."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from ws_course.viz import palette
from ws_course.viz.figures import Picture, figure
from ws_course.viz.provenance import Provenance, label


def canvas(width: float, height: float, title: str) -> tuple[Picture, Axes]:
    """Return a figure with one Axes whose coordinates are inches, (0, 0) at the lower left, already stamped."""
    picture, ax = figure(width, height + 0.55)
    palette.dress(ax)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(0, width)
    ax.set_ylim(0, height)
    palette.title(ax, title)
    label(ax, Provenance.schematic())
    return picture, ax


def box(
    ax: Axes,
    x: float,
    y: float,
    width: float,
    height: float,
    text: str = "",
    *,
    colour: str = palette.PAPER,
    hatch: str = "",
    size: float = palette.TEXT_SIZE,
    weight: str = "normal",
    top: bool = False,
) -> None:
    """Draw a rounded box with its lower left corner at (x, y); ``top`` writes the text at its upper edge."""
    outline = {"boxstyle": "round,pad=0,rounding_size=0.06"}
    line = palette.MUTED if colour == palette.PAPER else palette.edge(colour)
    ax.add_patch(FancyBboxPatch((x, y), width, height, facecolor=colour, edgecolor=line, linewidth=1.1, **outline))
    if hatch:
        # A second patch: the lines of a hatch take the colour of the edge.
        marks = {"fill": False, "hatch": hatch, "edgecolor": palette.PAPER, "linewidth": 0}
        ax.add_patch(FancyBboxPatch((x, y), width, height, **marks, **outline))
    ax.text(
        x + width / 2,
        y + height - 0.09 if top else y + height / 2,
        text,
        ha="center",
        va="top" if top else "center",
        fontsize=size,
        fontweight=weight,
        color=palette.text_on(colour),
        linespacing=1.3,
    )


def arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str = "",
    *,
    colour: str = palette.INK,
    bend: float = 0.0,
    dashed: bool = False,
    at: tuple[float, float] | None = None,
    align: str = "center",
) -> None:
    """Draw an arrow; ``bend`` curves it, ``at`` is where its text stands (default: above its middle)."""
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=13,
            linewidth=1.7,
            color=colour,
            linestyle=(0, (4, 2)) if dashed else "-",
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=0,
            shrinkB=0,
        )
    )
    x, y = at or ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.08)
    ax.text(x, y, text, ha=align, va="center" if at else "bottom", **palette.SMALL, linespacing=1.3)


def note(ax: Axes, x: float, y: float, text: str, *, align: str = "left", strong: bool = False) -> None:
    """Write text, vertically centred on ``y``."""
    weight = "bold" if strong else "normal"
    ax.text(x, y, text, ha=align, va="center", **palette.SMALL, fontweight=weight, linespacing=1.35)


def lane(
    ax: Axes, y: float, name: str, work: Sequence[tuple[float, float, str, str]], *, left: float, height: float = 0.3
) -> None:
    """Draw one row of a time line centred on ``y``: ``work`` holds (start, end, kind, text), kind as in a span."""
    ax.text(left - 0.12, y, name, ha="right", va="center", **palette.SMALL)
    for start, end, kind, text in work:
        # Waiting is thinner, as in the timelines of real runs.
        tall = 0.55 * height if kind == "wait" else height
        colour = palette.WORK[kind]
        ax.add_patch(
            Rectangle(
                (left + start, y - tall / 2),
                end - start,
                tall,
                facecolor=colour,
                edgecolor=palette.edge(colour),
                linewidth=0.7,
                hatch=palette.HATCH[kind],
            )
        )
        ax.text(
            left + (start + end) / 2,
            y,
            text,
            ha="center",
            va="center_baseline",
            fontsize=palette.SMALL_SIZE - 0.5,
            color=palette.text_on(colour),
        )


def key(ax: Axes, x: float, y: float, kinds: Sequence[str] = ("load", "compute", "store", "wait")) -> None:
    """Draw the legend of the work colours in one row that starts at (x, y)."""
    for i, kind in enumerate(kinds):
        colour = palette.WORK[kind]
        at = x + 0.95 * i
        ax.add_patch(
            Rectangle(
                (at, y - 0.07),
                0.2,
                0.14,
                facecolor=colour,
                edgecolor=palette.edge(colour),
                linewidth=0.7,
                hatch=palette.HATCH[kind],
            )
        )
        note(ax, at + 0.27, y, kind)
