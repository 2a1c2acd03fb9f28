"""What a kernel is called in a figure, its colour and its marker: the same whichever rungs a figure shows."""

from __future__ import annotations

from ws_course.kernels import catalog
from ws_course.viz import palette

_LADDER = [spec.name for spec in catalog.LADDER]
_HOPPER = [spec.name for spec in catalog.HOPPER]
_PLACES = _LADDER + _HOPPER


def name(kernel: str) -> str:
    """Return the words of a kernel's name without its family: ``tile_03_pipeline_unified`` is "03 pipeline unified"."""
    return " ".join(kernel.split("_")[1:]) or kernel


def colour(kernel: str) -> str:
    """Return the colour of a kernel by its place on the ladder; ``MUTED`` for a kernel that is not on it."""
    for rungs, hopper in ((_LADDER, False), (_HOPPER, True)):
        if kernel in rungs:
            return palette.rung(rungs.index(kernel), len(rungs), hopper)
    return palette.MUTED


def marker(kernel: str) -> str:
    """Return the marker shape of a kernel by its place on the ladder; the last shape for one that is not on it."""
    return palette.marker(_PLACES.index(kernel) if kernel in _PLACES else -1)
