"""What a scheduler's resident warps do in an average cycle: one issues, some could, the others wait for something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label

STATES: Mapping[str, tuple[str, ...]] = {
    "issues": ("selected",),
    "ready, another one issues": ("not_selected",),
    "short delay": (
        "wait",
        "dispatch_stall",
        "branch_resolving",
        "no_instruction",
        "imc_miss",
        "math_pipe_throttle",
        "gmma",
        "tex_throttle",
        "misc",
    ),
    "waits for shared memory": ("short_scoreboard", "mio_throttle"),
    "waits for data, or at an mbarrier": ("long_scoreboard", "lg_throttle", "membar", "drain", "sleeping"),
    "waits in __syncthreads()": ("barrier",),
}
"""Groups of the profiler's warp states (Nsight Compute, "Warp Scheduler States"), in the order in which they stack.

``mbarrier.try_wait`` counts as ``long_scoreboard``: the loader of a kernel with mbarriers is found there.
"""

# Purple can issue, grey cannot.
LOOK = {
    "issues": ("#6A3885", ""),
    "ready, another one issues": ("#CDB4D9", ""),
    "short delay": ("#7C8490", ""),
    "waits for shared memory": ("#A9B0BA", "...."),
    "waits for data, or at an mbarrier": (palette.WAITING, palette.HATCH["wait"]),
    "waits in __syncthreads()": ("#EDEFF2", "xxxx"),
}


def states(counted: Mapping[str, float]) -> dict[str, float]:
    """Return how many warps of one scheduler are in each of :data:`STATES` in an average cycle.

    ``counted`` are the counters of one launch (:class:`ws_course.bench.counters.Counted`). The profiler gives each
    state in cycles for each instruction issued; times the instructions issued in a cycle, that is a number of warps
    (Little's law), so that all states together are the resident warps, ``warps_active``.
    """
    issued = counted["issue_slots"]
    return {name: issued * sum(counted.get(f"stall_{state}", 0.0) for state in group) for name, group in STATES.items()}


def warp_states(
    ax: Axes,
    rows: Sequence[tuple[str, Mapping[str, float]]],
    *,
    provenance: Provenance,
    title: str = "",
    legend: bool = True,
) -> None:
    """Draw one stacked bar a row, a name and its counters, the first at the top: warps of one scheduler by state."""
    palette.dress(ax, grid="x")
    for y, (_, counted) in enumerate(rows):
        left = 0.0
        for name, warps in states(counted).items():
            colour, hatch = LOOK[name]
            edge = palette.PAPER if not hatch else palette.MUTED
            ax.barh(y, warps, 0.68, left=left, color=colour, hatch=hatch, edgecolor=edge, linewidth=0.6)
            if name == "issues":
                words = {**palette.SMALL, "color": palette.PAPER, "ha": "center", "va": "center_baseline"}
                ax.text(warps / 2, y, f"{warps:.2f}", **words)
            left += warps
    ax.axvline(1, color=palette.LIMIT, linestyle=(0, (5, 3)), linewidth=1.2)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows])
    ax.tick_params(axis="y", length=0, labelsize=palette.SMALL_SIZE)
    ax.set_ylim(len(rows) - 0.45, -0.55)
    ax.set_xlim(0, 1.04 * max(1.0, *(counted["warps_active"] for _, counted in rows)))
    ax.set_xlabel("warps of one scheduler", loc="left", **palette.SMALL)
    if legend:
        patches = [
            Patch(facecolor=c, hatch=h, edgecolor=palette.MUTED, linewidth=0.4, label=n) for n, (c, h) in LOOK.items()
        ]
        ax.figure.legend(
            handles=patches, loc="outside lower center", ncols=3, frameon=False, fontsize=palette.SMALL_SIZE
        )
    palette.title(ax, title)
    label(ax, provenance)
