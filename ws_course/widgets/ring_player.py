"""Be the warps: make the four calls of a pipeline by hand, and see which of them return."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from html import escape

from ipywidgets import HTML, Button, HBox, Image, Layout, VBox
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ws_course.model.ring import CALLS, Ring
from ws_course.viz import Provenance, palette, stage_diagram
from ws_course.viz.arrivals import arrivals
from ws_course.viz.figures import DPI, Picture, png
from ws_course.widgets.fallback import picture_bundle

_SHOWN = 6  # lines of the log
_WIDTH, _HEIGHT = 8.4, 3.1


class RingPlayer:
    """Show the ring of a pipeline with a button for each call of each warp.

    ``stages``, ``producers`` and ``consumers`` are those of :class:`ws_course.model.ring.Ring`; ``names`` gives warps a
    name beside their number, such as ``{0: "loader"}``. On a page where nothing moves, the untouched ring is shown.
    """

    def __init__(
        self,
        stages: int = 2,
        producers: Collection[int] = (0,),
        consumers: Collection[int] = (1,),
        names: Mapping[int, str] | None = None,
    ) -> None:
        self._begin = partial(Ring, stages, producers, consumers)
        self.ring = self._begin()
        self.log: list[str] = []
        self.buttons: dict[tuple[int, str], Button] = {}
        rows = [self._row(warp, (names or {}).get(warp, "")) for warp in self.ring.warps]
        self.land = Button(description="copies land", icon="download", layout=Layout(width="12em"))
        self.restart = Button(description="start again", icon="refresh", layout=Layout(width="12em"))
        self.land.on_click(lambda _: self._say(self.ring.land()))
        self.restart.on_click(self._start_again)
        self.image = Image(format="png", width=round(_WIDTH * DPI), layout=Layout(max_width="100%"))
        self.words = HTML()
        self.view = VBox([*rows, HBox([self.land, self.restart]), self.image, self.words])
        self._refresh()

    def _row(self, warp: int, name: str) -> HBox:
        cells = [HTML(f"<b>warp {warp}</b> {escape(name)}", layout=Layout(width="12em"))]
        for call in CALLS:
            if self.ring.allowed(warp, call):
                self.buttons[warp, call] = Button(description=call, layout=Layout(width="12em"))
                self.buttons[warp, call].on_click(lambda _, call=call: self._say(self.ring.call(warp, call)))
                cells.append(self.buttons[warp, call])
        return HBox(cells, layout=Layout(flex_flow="row wrap"))

    def _say(self, sentence: str) -> None:
        self.log.append(sentence)
        self._refresh()

    def _start_again(self, _button: Button) -> None:
        self.ring, self.log = self._begin(), []
        self._refresh()

    def _refresh(self) -> None:
        for (warp, call), button in self.buttons.items():
            button.disabled = warp in self.ring.waiting
            button.button_style = "warning" if self.ring.waiting.get(warp) == call else ""
        self.image.value = png(self.draw())
        lines = [f"{n}. {line}" for n, line in enumerate(self.log, start=1)][-_SHOWN:]
        self.words.value = f"<div role='status'>{'<br>'.join(map(escape, lines)) or 'Make the first call.'}</div>"

    def draw(self) -> Picture:
        """Return the picture: the state of the stages at the left, the counts of their barriers at the right."""
        provenance = Provenance.modelled("the counting rules of cuda::pipeline")
        # Axes at fixed places: a layout that is solved anew takes as long as the drawing.
        picture = Picture(figsize=(_WIDTH, _HEIGHT), dpi=DPI, facecolor=palette.PAPER)
        FigureCanvasAgg(picture)
        left, right = picture.add_axes((0.01, 0.14, 0.38, 0.74)), picture.add_axes((0.5, 0.22, 0.48, 0.66))
        stage_diagram(left, self.ring.states, provenance=Provenance.schematic(), title="stages")
        arrivals(right, self.ring.full, self.ring.empty, provenance=provenance, title="barriers")
        return picture

    def __repr__(self) -> str:
        kind = "unified" if self.ring.producers == self.ring.consumers else "partitioned"
        return f"<RingPlayer: {kind}, {self.ring.stages} stage{'s' if self.ring.stages != 1 else ''}>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        picture = self.draw()
        return picture_bundle(
            self.view, repr(self), png(picture), f"{picture.describe()}: {', '.join(self.ring.states)}"
        )
