"""What a kernel is called in a figure, and its colour: the same in every figure, whichever rungs it shows."""

from __future__ import annotations

from ws_course.kernels import catalog
from ws_course.viz import palette


def name(kernel: str) -> str:
    """Return the words of a kernel's name without its family: ``tile_03_pipeline_unified`` is "03 pipeline unified"."""
    return " ".join(kernel.split("_")[1:]) or kernel


def colour(kernel: str) -> str:
    """Return the colour of a kernel by its place on the ladder; ``MUTED`` for a kernel that is not on it."""
    ladder = [spec.name for spec in catalog.LADDER]
    return palette.rung(ladder.index(kernel), len(ladder)) if kernel in ladder else palette.MUTED
