"""One run as a timeline: the spans of every warp, and what they are worth (an order, a time, a model)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ws_course.runtime.result import Span

TICKS = "ticks"
"""The unit of an emulated order: ticks count events, they are no time."""


@dataclass(frozen=True)
class Timeline:
    """Hold the spans of one run and say where they come from.

    ``unit`` is "ns" or :data:`TICKS`; ``label`` is the provenance in words: "emulated order", "recorded (NVIDIA H200,
    2026-11-29)", "measured now (…)" or "modelled (…)". The n-th tile of a CTA (0-based, in the order of its ``item``
    numbers) goes through ring slot ``n % stages``; ``stages`` is 0 for a kernel without a ring. ``kernel`` and
    ``params`` name what ran; ``facts`` holds whatever else is known: the problem, the launch, the device,
    its clock, what tracing cost. Where only some tiles of each CTA were kept, ``facts["keep"]`` says which. NumPy
    numbers and arrays become those of Python, which every file format knows.
    """

    title: str
    spans: tuple[Span, ...]
    label: str
    unit: str = "ns"
    stages: int = 0
    kernel: str = ""
    params: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "spans", tuple(_plain_span(span) for span in self.spans))
        for name in ("stages", "params", "facts"):
            object.__setattr__(self, name, _plain(getattr(self, name)))

    @property
    def is_piece(self) -> bool:
        """Return whether the spans are cut from a longer run, so that nothing is known of the time around them."""
        return "keep" in self.facts

    def before(self, block: int) -> int:
        """Return how many tiles the CTA had taken before the first one in ``spans``; 0 where the run was kept whole.

        The emulator has counted them (``facts["before"]``), and so has a GPU where a warp only loads: then the piece
        begins with the next tile after ``facts["clock"]["skipped"]`` that goes through slot 0. Elsewhere tile n of a
        CTA is fixed, and ``facts["keep"]`` says which is the first.
        """
        if not self.is_piece:
            return 0
        skipped = self.facts.get("clock", {}).get("skipped", {})
        if block in skipped:
            return skipped[block] + (-skipped[block] % self.stages if self.stages else 0)
        return self.facts.get("before", {}).get(block, self.facts["keep"][0])


def _plain_span(span: Span) -> Span:
    numbers = {name: getattr(span, name) for name in ("block", "warp", "start", "end", "item")}
    if not any(isinstance(number, np.generic) for number in numbers.values()):
        return span
    return replace(span, **{name: _plain(number) for name, number in numbers.items()})


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {_plain(key): _plain(inner) for key, inner in value.items()}
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value
