"""The ring of buffers behind every pipeline: its stages, who owns each, and where producer and consumer stand."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Wedge

from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label

# Fill and hatch of each state: blue holds what the producer made, hatched is on its way, orange is in use.
STATES = {
    "empty": (palette.PAPER, ""),
    "filling": (palette.LOADER, "///"),
    "full": (palette.LOADER, ""),
    "draining": (palette.COMPUTE, ""),
}


def stage_diagram(
    ax: Axes,
    stages: Sequence[str],
    *,
    provenance: Provenance,
    producer: int | None = None,
    consumer: int | None = None,
    title: str = "",
) -> None:
    """Draw the stages of a pipeline as a ring, clockwise from the top.

    ``stages`` gives the state of each: "empty", "filling", "full" or "draining" (``ValueError`` for another).
    ``producer`` and ``consumer`` are the stages that the two work on next.
    """
    wrong = sorted(set(stages) - set(STATES))
    if wrong or not stages:
        raise ValueError(f"stages must be one or more of {', '.join(STATES)}, not {list(stages)}")
    palette.dress(ax)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-1.75, 1.75)
    ax.set_ylim(-1.32, 1.32)
    step = 360 / len(stages)
    for i, state in enumerate(stages):
        fill, hatch = STATES[state]
        start = 90 - (i + 1) * step
        ax.add_patch(
            Wedge((0, 0), 1.0, start, start + step, width=0.6, facecolor=fill, edgecolor=palette.INK, linewidth=1.4)
        )
        if hatch:
            ax.add_patch(
                Wedge(
                    (0, 0),
                    1.0,
                    start,
                    start + step,
                    width=0.6,
                    fill=False,
                    hatch=hatch,
                    linewidth=0,
                    edgecolor=palette.PAPER,
                )
            )
        # Beyond six stages there is no room for the word; colour and hatch still say it.
        words = f"{i}\n{state}" if len(stages) <= 6 else f"{i}"
        box = {"facecolor": fill, "edgecolor": "none", "pad": 0.8} if hatch else None
        ax.text(
            *_at(i, step, 0.71),
            words,
            ha="center",
            va="center",
            fontsize=palette.SMALL_SIZE,
            linespacing=1.15,
            color=palette.text_on(fill),
            bbox=box,
        )
    apart = 0.35 if producer == consumer else 0
    pointers = (("producer", producer, palette.LOADER, apart), ("consumer", consumer, palette.COMPUTE, -apart))
    for who, stage, colour, beside in pointers:
        if stage is not None:
            _pointer(ax, who, stage, step, colour, beside)
    palette.title(ax, title)
    label(ax, provenance)


def _at(stage: int, step: float, radius: float, beside: float = 0) -> tuple[float, float]:
    angle = math.radians(90 - (stage + 0.5) * step) - beside
    return radius * math.cos(angle), radius * math.sin(angle)


def _pointer(ax: Axes, who: str, stage: int, step: float, colour: str, beside: float) -> None:
    x, y = _at(stage, step, 1.28, beside)
    ax.annotate(
        who,
        _at(stage, step, 1.01, beside),
        xytext=(x, y),
        ha="left" if x > 0.2 else "right" if x < -0.2 else "center",
        va="center",
        fontsize=palette.TEXT_SIZE,
        fontweight="bold",
        color=palette.INK,
        arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 2.2, "shrinkA": 1},
    )
