"""What each step bought: speed-ups around 1, with their uncertainty, ties and losses in words."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from ws_course.bench.steps import Bought
from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label

COLOUR = {"faster": "#6A3885", "slower": palette.ALARM, "a tie": palette.WAITING}


def steps(
    ax: Axes,
    bought: Sequence[Bought],
    *,
    provenance: Provenance,
    title: str = "",
    beside: Sequence[Bought] = (),
) -> None:
    """Draw one horizontal bar a step, from 1 (no change) to its speed-up, the first step at the top.

    The whisker is the uncertainty of both medians together: where it reaches 1 the step is a tie, which is hatched and
    said. ``beside`` are the steps of the panels next to this one: all panels then have one scale. Raises ``ValueError``
    when there is no step.
    """
    if not bought:
        raise ValueError("there is no step to draw: the record has no pair of kernels at this occupancy")
    palette.dress(ax, grid="x")
    for y, one in enumerate(bought):
        colour = COLOUR[one.verdict]
        hatch = palette.HATCH["wait"] if one.verdict == "a tie" else ""
        look = {"color": colour, "edgecolor": palette.edge(colour), "linewidth": 0.8, "hatch": hatch}
        ax.barh(y, one.speedup - 1, 0.62, left=1, **look)
        ends = (one.speedup - one.uncertainty, one.speedup + one.uncertainty)
        ink = {"color": palette.INK, "linewidth": 1.1, "path_effects": palette.outlined()}
        ax.plot(ends, (y, y), marker="|", markersize=7, **ink)
        words = "a tie" if one.verdict == "a tie" else f"{one.speedup:.2f}× {'' if one.speedup > 1 else '(slower)'}"
        after = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(words.strip(), (max(1.0, *ends), y), **after, **palette.SMALL)
    ax.axvline(1, color=palette.INK, linewidth=1.1)
    ax.set_yticks(range(len(bought)), [f"{one.step.what}\n{one.step.short}{_sms(one)}" for one in bought])
    ax.tick_params(axis="y", labelsize=palette.SMALL_SIZE)
    ax.set_ylim(len(bought) - 0.5, -0.5)
    low = min(1.0, *(one.speedup - one.uncertainty for one in (*bought, *beside)))
    high = max(1.0, *(one.speedup + one.uncertainty for one in (*bought, *beside)))
    room = max(high - low, 0.05)
    ax.set_xlim(low - 0.06 * room, high + 0.28 * room)  # the words at the ends of the bars need the rest
    ax.set_xlabel(
        "speed-up of the step alone; bars start at 1 (whisker: uncertainty of the medians)", loc="left", **palette.SMALL
    )
    palette.title(ax, title)
    label(ax, provenance)


def _sms(one: Bought) -> str:
    """Return how many SMs take part where clusters leave some out."""
    before, after = one.sms
    return "" if before == after else f", {after} of {before} SMs"
