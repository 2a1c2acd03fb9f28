"""One colour per role and one set of sizes, for every figure, widget and page of the course.

The role colours are three of the eight that Okabe and Ito chose to be told apart by colour-blind readers ("Color
Universal Design", 2008); ``tests/viz/test_palette.py`` simulates that. Colour is never the only sign: bars carry
text, waiting is hatched, rungs have their own markers. Figures have an opaque paper background, so they read the
same on a light and on a dark page.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.patheffects import withStroke

LOADER = "#0072B2"
COMPUTE = "#E69F00"
STORER = "#009E73"
WAITING = "#D3D6DB"

PAPER = "#FFFFFF"
INK = "#1B1F24"
MUTED = "#5B636E"
RULE = "#D5D9E0"
LIMIT = INK
ALARM = "#B3261E"

# A span's work and a warp's role are two words for the same colour.
WORK = {"load": LOADER, "compute": COMPUTE, "store": STORER, "wait": WAITING}
ROLE = {"loader": LOADER, "compute": COMPUTE, "storer": STORER, "waiting": WAITING}
HATCH = {"load": "", "compute": "", "store": "", "wait": "////"}
LETTER = {"load": "L", "compute": "C", "store": "S", "wait": ""}

# Points. 10 is the size of the text beside a figure in a notebook.
TITLE_SIZE = 11.5
TEXT_SIZE = 10
SMALL_SIZE = 8.5
TEXT = {"fontsize": TEXT_SIZE, "color": INK}
SMALL = {"fontsize": SMALL_SIZE, "color": INK}

# Light to dark in one hue that is no role's: the order of the ladder survives grey printing.
_RUNGS = LinearSegmentedColormap.from_list("rungs", ["#CDB4D9", "#9A6BB0", "#6A3885", "#3B1650"])
# The rungs that need Hopper go on in another hue that is no role's either.
_HOPPER = LinearSegmentedColormap.from_list("hopper", ["#E9B8C6", "#C96A87", "#94305A", "#571030"])
_MARKERS = "os^Dv*Xp"


def rung(index: int, count: int, hopper: bool = False) -> str:
    """Return the colour of rung ``index`` (0-based) of a ladder of ``count`` rungs; raise ``ValueError`` outside it.

    ``hopper`` takes the second hue, for the rungs that need Hopper.
    """
    if not 0 <= index < count:
        raise ValueError(f"rung {index} is not on a ladder of {count} rungs: use 0 to {count - 1}")
    return to_hex((_HOPPER if hopper else _RUNGS)(index / (count - 1) if count > 1 else 1.0))


def marker(index: int) -> str:
    """Return the marker shape of rung ``index``; they repeat after eight."""
    return _MARKERS[index % len(_MARKERS)]


def edge(colour: str) -> tuple[float, float, float]:
    """Return a darker shade of ``colour`` for outlines, so that light fills stand out from the paper."""
    return tuple(0.62 * c for c in to_rgb(colour))


def text_on(colour: str) -> str:
    """Return ``INK`` or ``PAPER``, whichever is easier to read on ``colour`` (WCAG 2 relative luminance)."""
    return INK if contrast(colour, INK) >= contrast(colour, PAPER) else PAPER


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def dress(ax: Axes, *, grid: str = "") -> None:
    """Give any Axes the look of the course; ``grid`` is "x", "y" or "" and says across which axis values are read."""
    ax.figure.set_facecolor(PAPER)
    ax.set_facecolor(PAPER)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(RULE)
    ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=TEXT_SIZE - 1, length=3)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=RULE, linewidth=0.6)


def title(ax: Axes, text: str, pad: float = 10) -> None:
    """Set the title at the left, where reading starts; ``pad`` points leave room for a line of text below it."""
    ax.set_title(text, loc="left", fontsize=TITLE_SIZE, fontweight="bold", color=INK, pad=pad)


def outlined(colour: str = PAPER, points: float = 2.4) -> list[withStroke]:
    """Return the path effect that keeps ink readable across dark bars or a hatch: a casing of ``colour``."""
    return [withStroke(linewidth=points, foreground=colour)]
