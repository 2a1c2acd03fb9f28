"""How far predictions are from what was measured, kernel by kernel."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from ws_course.model.pipeline import Error, median_error
from ws_course.viz import palette, rungs
from ws_course.viz.provenance import Provenance, label

AIM = 0.15  # what the median error should stay under


def prediction_errors(ax: Axes, errors: Sequence[Error], *, provenance: Provenance, title: str = "") -> None:
    """Draw one row a kernel, by name, with a dot for each configuration, its error in percent, and the median as a bar.

    Right of zero the model is too slow, left of it too fast; the band is within 15%. Raises ``ValueError`` without
    errors.
    """
    if not errors:
        raise ValueError("there is nothing to compare: no prediction has a measurement beside it")
    palette.dress(ax, grid="x")
    kernels = sorted({e.measurement.kernel for e in errors})
    widest = max(0.2, 1.05 * max(abs(e.relative) for e in errors))
    ax.axvspan(-AIM, AIM, color=palette.RULE, alpha=0.4, linewidth=0)
    ax.axvline(0, color=palette.INK, linewidth=1.2)
    for y, kernel in enumerate(kernels):
        relative = sorted(e.relative for e in errors if e.measurement.kernel == kernel)
        # Dots of one row are spread a little, always the same way, so that equal ones can be told apart.
        spread = 0.24 * np.cos(2.4 * np.arange(len(relative)))
        colour = rungs.colour(kernel)
        ax.plot(
            relative, y + spread, "o", color=colour, markeredgecolor=palette.edge(colour), markersize=3.6, alpha=0.8
        )
        middle = median(relative)
        ax.plot([middle, middle], [y - 0.36, y + 0.36], color=palette.INK, linewidth=2, path_effects=palette.outlined())
        own = median_error([e for e in errors if e.measurement.kernel == kernel])
        words = f"{own:.1%} ({len(relative)} cases)"
        beside = {"xycoords": ax.get_yaxis_transform(), "xytext": (8, 0), "textcoords": "offset points"}
        ax.annotate(words, (1, y), va="center", annotation_clip=False, **beside, **palette.SMALL)
    ax.annotate(
        "median |error|",
        (1, 1),
        xycoords="axes fraction",
        xytext=(8, 4),
        textcoords="offset points",
        annotation_clip=False,
        **palette.SMALL,
    )
    ax.set_yticks(range(len(kernels)), [rungs.name(kernel) for kernel in kernels])
    ax.set_ylim(len(kernels) - 0.5, -0.5)
    ax.set_xlim(-widest, widest)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    words = f"predicted / measured − 1 (median of all {len(errors)}: {median_error(errors):.1%}; band: ±{AIM:.0%})"
    ax.set_xlabel(words, loc="left", **palette.SMALL)
    palette.title(ax, title)
    label(ax, provenance)
