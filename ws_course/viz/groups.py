"""One thread's asynchronous copies, group by group: still on their way, surely landed, or read too early."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label

Step = tuple[str, int]

# Fill and hatch of each state; the hatched blue is that of a stage that is being filled.
STATES = {
    "may be in flight": (palette.LOADER, "///"),
    "has landed": (palette.LOADER, ""),
    "is read": (palette.COMPUTE, ""),
    "is read too early": (palette.ALARM, "xxx"),
}


def group_states(program: Sequence[Step]) -> list[dict[int, str]]:
    """Return for each step of one thread's program the state of every group that it has committed so far.

    A step is ``("commit", group)``, ``("wait", n)``, after which at most the latest ``n`` groups may be in flight
    (PTX ISA, ``cp.async.wait_group``), or ``("use", group)``. Raises ``ValueError`` for another step, and for the use
    of a group that was never committed.
    """
    flying: list[int] = []
    seen: list[int] = []
    states = []
    for what, number in program:
        used = None
        if what == "commit":
            flying.append(number)
            seen.append(number)
        elif what == "wait":
            del flying[: max(0, len(flying) - number)]
        elif what == "use" and number in seen:
            used = number
        else:
            raise ValueError(f"({what!r}, {number}): a step is commit, wait, or the use of a committed group")
        now = {group: "may be in flight" if group in flying else "has landed" for group in seen}
        if used is not None:
            now[used] = "is read too early" if used in flying else "is read"
        states.append(now)
    return states


def commit_groups(ax: Axes, program: Sequence[Step], *, provenance: Provenance, title: str = "") -> None:
    """Draw one column for each step of a thread's program and one row for each group, coloured by its state.

    ``program`` is that of :func:`group_states`. A group's row ends with its last use.
    """
    states = group_states(program)
    groups = list(dict.fromkeys(number for what, number in program if what == "commit"))
    last_use = {number: at for at, (what, number) in enumerate(program) if what == "use"}
    palette.dress(ax)
    for at, now in enumerate(states):
        for group, state in now.items():
            if at <= last_use.get(group, len(program)):
                _cell(ax, at, groups.index(group), state)
    words = {"commit": "commit\n{}", "wait": "wait\n≤ {}", "use": "read\n{}"}
    ax.set_xticks([at + 0.5 for at in range(len(program))], [words[what].format(n) for what, n in program])
    ax.set_yticks([row + 0.5 for row in range(len(groups))], [f"group {group}" for group in groups])
    ax.tick_params(length=0, labelsize=palette.SMALL_SIZE)
    ax.xaxis.tick_top()
    ax.spines[["left", "bottom"]].set_visible(False)
    for at in (at for at, (what, _) in enumerate(program) if what == "wait"):
        ax.axvspan(at, at + 1, color=palette.WAITING, alpha=0.5, zorder=0, linewidth=0)
    ax.set_xlim(0, len(program))
    ax.set_ylim(len(groups), 0)
    shown = [state for state in STATES if any(state in now.values() for now in states)]
    patches = [
        Patch(facecolor=STATES[s][0], hatch=STATES[s][1], edgecolor=palette.PAPER, linewidth=0, label=s) for s in shown
    ]
    ax.legend(
        handles=patches,
        loc="upper left",
        bbox_to_anchor=(0, -0.01),
        ncols=len(patches),
        frameon=False,
        borderaxespad=0.2,
        fontsize=palette.SMALL_SIZE,
        handlelength=1.6,
        columnspacing=1.4,
    )
    palette.title(ax, title, pad=12)
    label(ax, provenance)


def _cell(ax: Axes, column: int, row: int, state: str) -> None:
    fill, hatch = STATES[state]
    inset = 0.06
    box = {"xy": (column + inset, row + 2 * inset), "width": 1 - 2 * inset, "height": 1 - 4 * inset}
    ax.add_patch(Rectangle(**box, facecolor=fill, edgecolor=palette.PAPER, hatch=hatch, linewidth=0))
