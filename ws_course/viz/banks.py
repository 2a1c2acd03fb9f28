"""Show in which banks of shared memory the pieces lie that a warp reads together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ws_course.viz import palette
from ws_course.viz.provenance import Provenance, label

PIECES = 8
"""Pieces of 16 bytes in a line of 128 bytes, which goes once round the 32 banks of 4 bytes (CUDA C++ Programming Guide,
"Shared Memory")."""


def most_in_one_place(place: Callable[[int], int], read: Mapping[int, str]) -> int:
    """Return how many of the pieces ``read`` lie in the same four banks, at most: they are served one after another."""
    columns = [place(piece) % PIECES for piece in read]
    return max(columns.count(column) for column in columns)


def banks(
    ax: Axes,
    place: Callable[[int], int],
    read: Mapping[int, str],
    *,
    lines: int,
    provenance: Provenance,
    title: str = "",
) -> None:
    """Draw ``lines`` lines of 128 bytes, piece by piece: each piece is 16 bytes in four banks.

    ``place(piece)`` says where a piece lies, counted from the first line, and must be one-to-one; ``read`` names the
    pieces that one instruction reads together. They are filled, the others show their numbers. Raises ``ValueError``
    where nothing is read or a piece lies outside the lines.
    """
    count = PIECES * lines
    if not read:
        raise ValueError("nothing is read: name at least one piece")
    if sorted(map(place, range(count))) != list(range(count)):
        raise ValueError(f"the {count} pieces do not lie in {count} places: draw whole groups of lines")
    palette.dress(ax)
    for piece in range(count):
        y, x = divmod(place(piece), PIECES)
        filled = piece in read
        colour = palette.COMPUTE if filled else palette.PAPER
        edge = {"edgecolor": palette.edge(colour) if filled else palette.RULE, "linewidth": 1.1 if filled else 0.7}
        ax.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, zorder=2 if filled else 1, **edge))
        ink = palette.text_on(colour) if filled else palette.MUTED
        words = read[piece] if filled else str(piece)
        ax.text(x + 0.5, y + 0.5, words, ha="center", va="center", fontsize=palette.SMALL_SIZE, color=ink)
    ax.set_xlim(0, PIECES)
    ax.set_ylim(lines, 0)
    ax.set_xticks([x + 0.5 for x in range(PIECES)], [f"{4 * x}–{4 * x + 3}" for x in range(PIECES)])
    ax.set_yticks([y + 0.5 for y in range(lines)], range(lines))
    ax.tick_params(length=0, labelsize=palette.SMALL_SIZE)
    most = most_in_one_place(place, read)
    ax.set_xlabel(f"banks; {most} of {len(read)} pieces in the same four banks", loc="left", **palette.TEXT)
    ax.set_ylabel("line of 128 bytes", **palette.TEXT)
    palette.title(ax, title)
    label(ax, provenance)
