"""Step through a timeline: what does each warp do now, and who waits for whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from itertools import groupby

import numpy as np
from ipywidgets import HTML, Image, IntSlider, Layout, VBox
from matplotlib.colors import to_rgb

from ws_course.runtime.result import Span
from ws_course.viz import Provenance, figure, palette, timeline, timeline_height
from ws_course.viz.figures import DPI, SHARPNESS, encode, pixels
from ws_course.viz.provenance import Origin
from ws_course.viz.spans import rows
from ws_course.widgets.fallback import picture_bundle

_DOING = {"load": "loading", "compute": "computing", "store": "storing", "wait": "waiting at"}


class TimelineViewer:
    """Show spans as a timeline with a slider over its events; what comes later is dimmed.

    ``spans``, ``provenance``, ``blocks`` and ``unit`` are those of :func:`ws_course.viz.timeline`. On a page where
    nothing moves the whole timeline is shown.
    """

    def __init__(
        self,
        spans: Sequence[Span],
        *,
        provenance: Provenance,
        blocks: Collection[int] | None = None,
        unit: str = "ns",
        width: float = 9.0,
        title: str = "timeline",
    ) -> None:
        self.rows = rows(spans, blocks)
        drawing, ax = figure(width, timeline_height(spans, blocks))
        timeline(ax, spans, provenance=provenance, blocks=blocks, unit=unit, title=title)
        # An order has ticks, a measurement has a time.
        self._moment = "tick {}" if provenance.origin is Origin.EMULATED else f"{{}} {unit}"
        shown = {(block, warp) for block, _, warp in self.rows}
        self.spans = [span for span in spans if (span.block, span.warp) in shown]
        self.title, self.alt = title, drawing.describe()
        # Drawn once; a step only dims pixels to the right of its moment.
        self._pixels = pixels(drawing)
        self._area = ax.get_window_extent()
        self._range = ax.get_xlim()
        self.moments = sorted({at for span in self.spans for at in (span.start, span.end)})
        self.step = IntSlider(
            value=len(self.moments) - 1, max=len(self.moments) - 1, description="step", layout=Layout(width="100%")
        )
        self.words = HTML()
        self.image = Image(format="png", width=round(width * DPI), layout=Layout(max_width="100%"))
        self.step.observe(self._update, "value")
        self.view = VBox([self.step, self.image, self.words], layout=Layout(max_width=f"{round(width * DPI)}px"))
        self._update()

    def _update(self, _change: dict | None = None) -> None:
        moment = self.moments[self.step.value]
        self.image.value = encode(self._until(moment))
        words = f"{self._moment.format(moment)}: {self.describe(moment)}"
        self.words.value = f"<span role='status'>{escape(words)}</span>"

    def _until(self, moment: int) -> np.ndarray:
        """Return the picture with everything after ``moment`` dimmed and a line at it."""
        picture = self._pixels.copy()
        area = self._area
        share = (moment - self._range[0]) / (self._range[1] - self._range[0])
        x, right = round(SHARPNESS * (area.x0 + share * area.width)), round(SHARPNESS * area.x1)
        top, bottom = picture.shape[0] - round(SHARPNESS * area.y1), picture.shape[0] - round(SHARPNESS * area.y0)
        later = picture[top:bottom, x:right]
        later[:] = 0.25 * later + 0.75 * 255 * np.array(to_rgb(palette.PAPER))
        picture[top:bottom, x - SHARPNESS : x + SHARPNESS] = 255 * np.array(to_rgb(palette.ALARM))
        return picture

    def describe(self, moment: int) -> str:
        """Return in words what the warps do just after ``moment``, neighbours with the same work together."""
        now = {(s.block, s.warp): s for s in self.spans if s.start <= moment < s.end}
        several = len({block for block, _, _ in self.rows}) > 1

        def doing(row: tuple[int, str, int]) -> tuple[int, str, str]:
            block, role, warp = row
            span = now.get((block, warp))
            if span is None:
                return block, role, "between two jobs" if self._later(block, warp, moment) else "finished"
            what = (
                span.name.strip() or "a barrier"
                if span.work == "wait"
                else f"tile {span.item}"
                if span.item >= 0
                else ""
            )
            return block, role, f"{_DOING[span.work]} {what}".strip()

        phrases = []
        for (block, role, words), group in groupby(self.rows, doing):
            warps = [warp for _, _, warp in group]
            name = f"warp{'s' if len(warps) > 1 else ''} {_numbers(warps)}"
            phrases.append(f"{f'block {block} ' if several else ''}{role} {name}: {words}")
        return "; ".join(phrases)

    def _later(self, block: int, warp: int, moment: int) -> bool:
        return any((s.block, s.warp) == (block, warp) and s.start > moment for s in self.spans)

    def __repr__(self) -> str:
        return f"<TimelineViewer: {self.title}>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return picture_bundle(self.view, repr(self), encode(self._pixels), self.alt)


def _numbers(warps: Sequence[int]) -> str:
    """Return "3", "1–4" for neighbours, or "1, 3, 6"."""
    together = len(warps) > 2 and warps[-1] - warps[0] == len(warps) - 1
    return f"{warps[0]}–{warps[-1]}" if together else ", ".join(map(str, warps))
