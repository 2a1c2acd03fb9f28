"""Drag a pipeline: stages, roles, latency, intensity and CTAs move the modelled timeline and its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from textwrap import fill

from ipywidgets import HTML, Dropdown, FloatLogSlider, HBox, Image, IntSlider, Layout, SelectionSlider, VBox
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ws_course.bench.record import Measurement, Record, load
from ws_course.kernels import catalog
from ws_course.model import pipeline
from ws_course.model.machine import MAX_CTAS, Machine
from ws_course.model.pipeline import Pipeline, Prediction
from ws_course.problem import TileProblem
from ws_course.trace.timeline import Timeline
from ws_course.viz import Bar, Provenance, ladder, palette, rungs, timeline
from ws_course.viz.figures import DPI, Picture, png
from ws_course.viz.spans import rows
from ws_course.widgets.fallback import picture_bundle

ROLES = {
    "tile_00_one_buffer": "no roles, one buffer",
    "tile_01_double_buffer": "no roles, double buffer in registers",
    "tile_02_cp_async": "no roles, asynchronous copies",
    "tile_03_pipeline_unified": "no roles, barriers per stage",
    "tile_04_two_roles": "loader warps",
    "tile_04_pipeline_roles": "loader and storer warps",
    "tile_06_bulk_copy": "one loading thread (bulk copies)",
    "tile_07_tma_tensor": "one loading thread, C by the copy engine",
    "tile_09_persistent": "one loading, one storing thread",
}
"""Which kernel stands for which division into roles."""

TILES = 16384
STAGES = range(1, 7)
INTENSITIES = (1, 2, 4, 8)
_SHOWN, _CTAS = 5, 2  # tiles of each CTA in the timeline, and CTAs
_WIDTH, _HEIGHT = 9.4, 4.6


class PipelineModel:
    """Show the model of a pipeline with a knob for each of its numbers, and the measured time where there is one.

    ``kernel`` (of :data:`ROLES`), ``stages``, ``intensity`` and ``ctas_per_sm`` set where the knobs start. ``machine``
    is what the model computes with (default: the packaged micro-benchmarks), ``records`` where measurements are looked
    up (default: the packaged sets). CTAs that do not fit on an SM have no time: the picture says why. On a page that
    keeps no widget state (:mod:`ws_course.widgets.fallback`) the picture shows the start. Raises ``KeyError`` for a
    kernel that stands for no division into roles, ``ValueError`` for a number that its knob does not have.
    """

    def __init__(
        self,
        kernel: str = "tile_06_bulk_copy",
        *,
        stages: int = 3,
        intensity: int = 1,
        ctas_per_sm: int = 1,
        machine: Machine | None = None,
        records: tuple[Record, ...] | None = None,
    ) -> None:
        if kernel not in ROLES:
            raise KeyError(f"{kernel} stands for no division into roles here: there are {', '.join(ROLES)}")
        _expect("stages", stages, STAGES)
        _expect("ctas_per_sm", ctas_per_sm, range(1, MAX_CTAS + 1))
        _expect("intensity", intensity, INTENSITIES)
        self.machine = machine or pipeline.machine()
        self._records = _packaged() if records is None else records
        style = {"description_width": "8em"}
        knob = {"layout": Layout(width="auto"), "style": style}
        self.roles = Dropdown(
            options=[(words, name) for name, words in ROLES.items()], value=kernel, description="roles", **knob
        )
        self.stages = IntSlider(value=stages, min=STAGES[0], max=STAGES[-1], description="stages", **knob)
        self.ctas = IntSlider(value=ctas_per_sm, min=1, max=MAX_CTAS, description="CTAs per SM", **knob)
        self.intensity = SelectionSlider(options=INTENSITIES, value=intensity, description="intensity", **knob)
        self.latency = FloatLogSlider(
            value=1.0, base=2, min=-2, max=3, step=0.25, description="latency ×", readout_format=".2f", **knob
        )
        self.words = HTML()
        self.image = Image(format="png", layout=Layout(width="100%", max_width=f"{round(_WIDTH * DPI)}px"))
        knobs = (self.roles, self.stages, self.ctas, self.intensity, self.latency)
        for each in knobs:
            each.observe(self._refresh, "value")
        columns = [VBox([self.roles, self.latency]), VBox([self.stages, self.ctas, self.intensity])]
        for column in columns:
            column.layout = Layout(flex="1 1 320px", min_width="0")
        self.view = VBox([HBox(columns, layout=Layout(flex_flow="row wrap")), self.image, self.words])
        self._refresh()

    # What the knobs say.

    @property
    def kernel(self) -> str:
        """Return the kernel that stands for the chosen roles."""
        return self.roles.value

    @property
    def pipeline(self) -> Pipeline:
        """Return the pipeline of the knobs; raise ``ValueError`` where its CTAs do not fit on an SM."""
        return pipeline.of(self.kernel, self._params, self.ctas.value)

    @property
    def misfit(self) -> str:
        """Return why the CTAs of the knobs do not fit on an SM, "" where they do."""
        return pipeline.misfit(self.kernel, self._params, self.ctas.value)

    @property
    def _params(self) -> dict[str, int]:
        """Return the constants of the knobs; a kernel without a ring of stages keeps its own number."""
        params = {"INTENSITY": self.intensity.value}
        if "STAGES" in catalog.get(self.kernel).defaults:
            fewest = 2 if self.kernel in ("tile_02_cp_async", "tile_03_pipeline_unified") else 1
            params["STAGES"] = max(self.stages.value, fewest)
        return params

    @property
    def prediction(self) -> Prediction:
        """Return what the model says of :attr:`pipeline`, with the latency of the knob; raises as that."""
        factor = self.latency.value
        slower = {key: factor * ns for key, ns in self.machine.latency.items()}
        machine = replace(self.machine, latency=slower) if factor != 1 else self.machine
        return pipeline.predict(self.pipeline, machine, TileProblem(TILES, intensity=self.intensity.value))

    @property
    def measured(self) -> tuple[Measurement, Record] | None:
        """Return the measurement of exactly this configuration, if any: the fastest over constants without a knob."""
        if self.latency.value != 1:
            return None
        for record in self._records:
            try:
                return record.find(self.kernel, self.ctas.value, **self._params), record
            except KeyError:
                continue
        return None

    # From knobs to picture.

    def _refresh(self, _change: dict | None = None) -> None:
        self.stages.disabled = "STAGES" not in catalog.get(self.kernel).defaults
        self.image.value = png(self.draw())
        self.words.value = f"<div role='status'>{escape(self.describe())}</div>"

    def describe(self) -> str:
        """Return in words what the model says, and what was measured."""
        if self.misfit:
            return f"This {self.misfit}. Take fewer stages or fewer CTAs."
        p, found = self.prediction, self.measured
        problem = TileProblem(TILES, intensity=self.intensity.value)
        said = (
            f"Modelled: {p.ms:.3f} ms, {problem.bytes / p.ms / 1e6:.0f} GB/s; at least one CTA multiplies "
            f"{p.computing:.0%} of the time, {p.stages_in_flight:.1f} stages of an SM are in flight on average, "
            f"a load waits {p.wait_ns:.0f} ns for other SMs."
        )
        if found is None:
            return f"{said} No measurement has this configuration."
        measurement, record = found
        ms = measurement.median_ms
        return f"{said} Measured: {ms:.3f} ms ({record.label}); the model says {p.ms / ms - 1:+.0%}."

    def draw(self) -> Picture:
        """Return the picture: the timeline of one SM above, modelled and measured time below."""
        if self.misfit:
            return self._draw_misfit()
        p, found = self.prediction, self.measured
        modelled = Provenance.modelled(self.machine.source)
        # Axes at fixed places: a layout that is solved anew takes as long as the drawing.
        picture = Picture(figsize=(_WIDTH, _HEIGHT), dpi=DPI, facecolor=palette.PAPER)
        FigureCanvasAgg(picture)
        above, below = picture.add_axes((0.15, 0.43, 0.83, 0.46)), picture.add_axes((0.15, 0.17, 0.83, 0.12))
        shown = pipeline.timeline(p, _SHOWN)
        factor = "" if self.latency.value == 1 else f", latency × {self.latency.value:.2f}"
        part = f", the first {_CTAS} shown" if p.pipeline.ctas > _CTAS else ""
        title = f"one SM: {shown.title}{part}{factor}"
        timeline(above, shown.spans, provenance=modelled, blocks=range(_CTAS), unit=shown.unit, title=title)
        above.set_yticks(above.get_yticks(), _row_names(shown))
        bars = [Bar("modelled", p.ms, colour=palette.rung(1, 3))]
        provenance = modelled
        if found:
            measurement, record = found
            bars.append(Bar.from_times("measured", measurement.times_ms, colour=palette.rung(2, 3)))
            provenance = modelled & Provenance.recorded(record)
        ladder(below, bars, provenance=provenance)
        return picture

    def _draw_misfit(self) -> Picture:
        """Return a picture of the same size, with the reason in place of times."""
        picture = Picture(figsize=(_WIDTH, _HEIGHT), dpi=DPI, facecolor=palette.PAPER)
        FigureCanvasAgg(picture)
        style = {"fontsize": palette.TITLE_SIZE, "color": palette.ALARM}
        picture.text(0.5, 0.5, fill(self.describe(), 64), ha="center", va="center", **style)
        return picture

    def __repr__(self) -> str:
        stages = pipeline.of(self.kernel, self._params, 1).stages  # one CTA fits at every knob
        ctas = self.ctas.value
        return (
            f"<PipelineModel: {rungs.name(self.kernel)}, {stages} stage{'s' if stages != 1 else ''}, "
            f"{ctas} CTA{'s' if ctas != 1 else ''} per SM, intensity {self.intensity.value}, {self.machine.source}>"
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        return picture_bundle(self.view, repr(self), png(self.draw()), f"{self!r}: {self.describe()}")


def _expect(name: str, value: int, allowed: Sequence[int]) -> None:
    if value not in allowed:
        raise ValueError(f"{name}={value!r}: the knob has {', '.join(map(str, allowed))}")


def _row_names(shown: Timeline) -> list[str]:
    """Name the rows of a modelled timeline: a row is no warp there, but the loads into one stage, or a kind of work."""
    names, previous = [], None
    for block, role, row in rows(shown.spans):
        what = f"load {row}" if role == "loader" else role
        if block >= _CTAS:
            break
        names.append(what if block == previous else f"CTA {block}  {what}")
        previous = block
    return names


def _packaged() -> tuple[Record, ...]:
    found = []
    for name in ("hopper-ladder", "tile-ladder"):
        try:
            found.append(load(name))
        except FileNotFoundError:
            continue
    return tuple(found)
