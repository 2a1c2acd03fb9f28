"""What a kernel is called in a figure, its colour and its marker: the same whichever rungs a figure shows."""

from __future__ import annotations

from ws_course.kernels import catalog
from ws_course.viz import palette

_LADDER = [spec.name for spec in catalog.LADDER]


def name(kernel: str) -> str:
    """Return the words of a kernel's name without its family: ``tile_03_pipeline_unified`` is "03 pipeline unified"."""
    return " ".join(kernel.split("_")[1:]) or kernel


def colour(kernel: str) -> str:
    """Return the colour of a kernel by its place on the ladder; ``MUTED`` for a kernel that is not on it."""
    return palette.rung(_LADDER.index(kernel), len(_LADDER)) if kernel in _LADDER else palette.MUTED


def marker(kernel: str) -> str:
    """Return the marker shape of a kernel by its place on the ladder; the last shape for one that is not on it."""
    return palette.marker(_LADDER.index(kernel) if kernel in _LADDER else -1)
