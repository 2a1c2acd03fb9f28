"""Compare rungs of the ladder: the reader predicts a speed-up, then the recorded or measured times appear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from ipywidgets import HTML, Button, Checkbox, FloatSlider, HBox, Image, Layout, SelectionSlider, ToggleButtons, VBox
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ws_course import device
from ws_course.bench.record import Measurement, Record, load
from ws_course.kernels import catalog
from ws_course.viz import Bar, Point, Provenance, label, ladder, limit_ms, palette, rungs
from ws_course.viz.figures import DPI, SHARPNESS, Picture, encode, pixels
from ws_course.viz.roof import place, roofs
from ws_course.widgets.fallback import picture_bundle

# What the reader can turn.
KNOBS = {
    "ctas_per_sm": "CTAs per SM",
    "STAGES": "stages",
    "LOADER_WARPS": "loader warps",
    "INTENSITY": "intensity",
    "SHARE": "tiles per B",
    "CLUSTER": "CTAs per cluster",
}
# How much a different value hurts when the nearest measurement is looked for: another intensity is another problem,
# another number of CTAs another occupancy, and so on down.
_WEIGHT = {"INTENSITY": 8.0, "SHARE": 8.0, "ctas_per_sm": 4.0, "CLUSTER": 3.0, "STAGES": 2.0, "LOADER_WARPS": 1.0}
# Constants that every rung has stay at their defaults, or a comparison would mix two changes.
_SHARED = frozenset.intersection(*(frozenset(spec.defaults) for spec in catalog.LADDER))
_SHARED_WEIGHT = 16.0
_USUAL = {**catalog.LADDER[-1].defaults, "CLUSTER": 1}

# Inches.
_HEIGHT, _LADDER_WIDTH, _ROOF_WIDTH = 3.4, 5.6, 3.9


@dataclass(frozen=True)
class Found:
    """Pair a measurement with the knobs in which it differs from what was asked for: name → (asked, shown).

    ``free`` holds the constants of its own that nobody asked for, such as the number of storer warps.
    """

    measurement: Measurement
    differs: Mapping[str, tuple[int, int]]
    free: Mapping[str, int]

    @property
    def name(self) -> str:
        """Return the rung's name."""
        return rungs.name(self.measurement.kernel)

    def __str__(self) -> str:
        asked = _words({knob: asked for knob, (asked, _) in self.differs.items()})
        shown = _words({knob: shown for knob, (_, shown) in self.differs.items()})
        return f"{self.name} has no measurement with {asked}; shown is the nearest: {shown}." if asked else self.name


def settings(measurement: Measurement) -> dict[str, int]:
    """Return everything that distinguishes measurements of one kernel: CTAs per SM and compile-time constants."""
    return {"ctas_per_sm": measurement.ctas_per_sm, **measurement.params}


def nearest(record: Record, kernel: str, wanted: Mapping[str, int]) -> Found:
    """Return the measurement of ``kernel`` closest to ``wanted``; raise ``KeyError`` if there is none.

    Knobs that the kernel does not have are ignored. Distances are ratios. Constants that all rungs have stay near their
    defaults; of the constants that only this kernel has, the fastest combination is taken. Raises ``ValueError`` for a
    wish that is not positive.
    """
    for name, value in wanted.items():
        if not value > 0:
            raise ValueError(f"{name}={value}: what a knob asks for is at least 1")
    measured = record.select(kernel)
    if not measured:
        known = ", ".join(dict.fromkeys(m.kernel for m in record.measurements)) or "nothing"
        raise KeyError(f"{kernel} is not in this record: it holds {known}")
    shared = {name: value for name, value in catalog.LADDER[0].defaults.items() if name in _SHARED}
    asked = {**shared, **wanted}

    def distance(measurement: Measurement) -> float:
        have = {name: value for name, value in settings(measurement).items() if name in asked}
        return sum(_WEIGHT.get(name, _SHARED_WEIGHT) * abs(math.log2(v / asked[name])) for name, v in have.items())

    best = min(measured, key=lambda m: (distance(m), m.median_ms))
    have = settings(best)
    differs = {name: (v, have[name]) for name, v in wanted.items() if name in have and have[name] != v}
    return Found(best, differs, {name: value for name, value in have.items() if name not in {*asked, *KNOBS}})


class Comparison:
    """Show the widget for ``record`` (default: the tile ladder's) with ``kernels`` selected at first.

    ``ctas_per_sm`` and the constants (``STAGES=3``) set where the knobs start. The first selected rung is the
    baseline; the reader guesses how many times as fast the last one is. On a machine with a GPU a button measures
    the selected rungs there. On a page where nothing moves, the picture shows the revealed times at the starting
    knobs. Raises ``KeyError`` for a kernel that the record does not hold, ``ValueError`` for an unknown knob or one
    that is not positive, and ``TypeError`` for what is no record or no sequence of names.
    """

    def __init__(
        self,
        record: Record | None = None,
        *,
        kernels: Sequence[str] | None = None,
        ctas_per_sm: int = 1,
        **params: int,
    ) -> None:
        if record is not None and not isinstance(record, Record):
            raise TypeError(f"{record!r} is no record: give one, such as ws_course.bench.record.load('hopper-ladder')")
        if isinstance(kernels, str):
            raise TypeError(f"kernels={kernels!r} is one name: give several in a list, such as [{kernels!r}, …]")
        record = record or load("tile-ladder")
        offered = [spec.name for spec in (*catalog.LADDER, *catalog.HOPPER) if record.select(spec.name)]
        chosen = list(kernels or (offered[0], offered[-1]))
        if unknown := params.keys() - KNOBS.keys():
            raise ValueError(f"there is no knob {', '.join(sorted(unknown))}: there are {', '.join(KNOBS)}")
        start = {"ctas_per_sm": ctas_per_sm, **params}
        for kernel in chosen:
            nearest(record, kernel, start)
        # Kernels beside the ladder are offered only where a lesson asks for them.
        self.kernels = offered + [kernel for kernel in chosen if kernel not in offered]
        self._revealed = self._guessed = False
        self._plots = {"recorded": _Plot(record)}
        self._make_controls(record, chosen, start)
        self._refresh()

    def _make_controls(self, record: Record, chosen: Sequence[str], start: Mapping[str, int]) -> None:
        style = {"description_width": "6.5em"}
        self.rungs = {
            kernel: Checkbox(
                value=kernel in chosen,
                description=rungs.name(kernel),
                tooltip=catalog.get(kernel).claim,
                indent=False,
                layout=Layout(width="auto"),
            )
            for kernel in self.kernels
        }
        self.knobs = {}
        for knob, words in KNOBS.items():
            values = sorted({settings(m)[knob] for m in record.measurements if knob in settings(m)})
            if values:
                wanted = start.get(knob, _USUAL.get(knob, values[0]))
                at = min(values, key=lambda value: abs(value - wanted))
                # Not continuous: a picture for every pixel of a drag would arrive late.
                self.knobs[knob] = SelectionSlider(
                    options=values,
                    value=at,
                    description=words,
                    continuous_update=False,
                    layout=Layout(width="auto"),
                    style=style,
                )
        self.guess = FloatSlider(
            value=1.0, min=0.5, max=3.0, step=0.05, continuous_update=False, layout=Layout(width="auto")
        )
        self.reveal = Button(description="reveal", button_style="primary", disabled=True, tooltip="guess first")
        self.source = ToggleButtons(options=[("recorded", "recorded")], style={"button_width": "auto"})
        self.measure = Button(description="measure on this GPU", icon="play", layout=Layout(width="auto"))
        # Each has a layout of its own: hiding one that is shared hides them all.
        self.source.layout.display = "none"
        self.measure.layout.display = "" if device.has_gpu() else "none"
        self.question, self.words = HTML(), HTML()
        width = f"{round((_LADDER_WIDTH + _ROOF_WIDTH) * DPI)}px"
        self.image = Image(format="png", layout=Layout(width="100%", max_width=width, height="auto"))
        for control in (*self.rungs.values(), *self.knobs.values(), self.source):
            control.observe(self._refresh, "value")
        self.guess.observe(self._take_guess, "value")
        self.reveal.on_click(self._toggle)
        self.measure.on_click(self._measure)
        ask = VBox([self.question, self.guess, self.reveal, self.measure])
        turn = [VBox(list(self.rungs.values())), VBox(list(self.knobs.values())), ask]
        for column, share in zip(turn, ("1 1 170px", "1 1 250px", "2 1 280px"), strict=True):
            column.layout = Layout(flex=share, min_width="0")
        controls = HBox(turn, layout=Layout(flex_flow="row wrap"))
        self.view = VBox([controls, self.source, self.image, self.words], layout=Layout(max_width=width))

    # What the reader did.

    @property
    def selected(self) -> list[str]:
        """Return the names of the selected kernels, in the order of the ladder."""
        return [kernel for kernel, box in self.rungs.items() if box.value]

    @property
    def wanted(self) -> dict[str, int]:
        """Return what the knobs ask for."""
        return {knob: slider.value for knob, slider in self.knobs.items()}

    def _take_guess(self, _change: dict) -> None:
        self._guessed, self.reveal.disabled = True, False
        self._refresh()

    def _toggle(self, _button: Button) -> None:
        self._revealed = not self._revealed
        self.reveal.description = "guess again" if self._revealed else "reveal"
        if not self._revealed:
            self._guessed, self.reveal.disabled = False, True
        self._refresh()

    def _measure(self, _button: Button) -> None:
        """Measure what is selected on this machine's GPU, and show that from now on."""
        from ws_course.bench.ladder import measure_live
        from ws_course.runtime import BackendError

        wanted = {**_USUAL, **self.wanted}
        self.measure.disabled, self.words.value = True, "measuring …"
        try:
            live = measure_live(
                self.selected,
                ctas=[wanted["ctas_per_sm"]],
                stages=[wanted["STAGES"]],
                loader_warps=[wanted["LOADER_WARPS"]],
                storer_warps=(1, 2),
                intensities=[wanted["INTENSITY"]],
                SHARE=[wanted["SHARE"]],
                CLUSTER=[wanted["CLUSTER"]],
            )
        except (BackendError, RuntimeError) as problem:
            self.words.value = f"<div role='status'>{escape(str(problem))}</div>"
            return
        finally:
            self.measure.disabled = False
        if not live.measurements:
            self.words.value = f"<div role='status'>No selected rung fits with {_words(self.wanted)}.</div>"
            return
        if "now" in self._plots:
            before = self._plots["now"].record.measurements
            repeated = {(m.kernel, *settings(m).items()) for m in live.measurements}
            kept = tuple(m for m in before if (m.kernel, *settings(m).items()) not in repeated)
            live = replace(live, measurements=kept + live.measurements)
        self._plots["now"] = _Plot(live)
        self.source.options = [("recorded", "recorded"), ("measured now", "now")]
        self.source.layout.display = ""
        self.source.value = "now"
        self._refresh()

    # From knobs to picture.

    def _refresh(self, _change: dict | None = None) -> None:
        plot = self._plots[self.source.value]
        found = plot.find(self.selected, self.wanted)
        for knob, slider in self.knobs.items():
            slider.disabled = not any(knob in settings(f.measurement) for f in found)
        comparable = len(found) > 1
        self.guess.disabled = not comparable or self._revealed
        if comparable:
            first, last = escape(found[0].name), escape(found[-1].name)
            self.question.value = f"<b>Your guess:</b> {last} is how many times as fast as {first}?"
        else:
            self.question.value = "Select two rungs or more to compare them."
        guess = self.guess.value if comparable and self._guessed else None
        self.image.value = encode(plot.draw(found, self.wanted, guess, self._revealed))
        lines = self._explain(plot.record, found, guess)
        self.words.value = f"<div role='status'>{'<br>'.join(map(escape, lines))}</div>"

    def _explain(self, record: Record, found: Sequence[Found], guess: float | None) -> list[str]:
        """Return the lines under the picture: the verdict once revealed, and what was not measured."""
        lines = []
        if len(found) > 1 and self._revealed:
            first, last = found[0].measurement, found[-1].measurement
            lines.append(
                f"{f'You said {guess:.2f}×. ' if guess else ''}{found[-1].name} is "
                f"{first.median_ms / last.median_ms:.2f}× as fast as {found[0].name}: "
                f"{first.median_ms:.3f} ms → {last.median_ms:.3f} ms, {record.label}."
            )
        elif len(found) > 1:
            lines.append("Move the guess, then reveal.")
        missing = set(self.selected) - {f.measurement.kernel for f in found}
        lines += [f"{rungs.name(kernel)} was not measured here yet." for kernel in sorted(missing)]
        return lines + [str(f) for f in found if f.differs]

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.selected)}: {self._plots['recorded'].record.label}>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        plot = self._plots["recorded"]
        found = plot.find(self.selected, self.wanted)
        times = ", ".join(f"{f.name} {f.measurement.median_ms:.3f} ms" for f in found)
        png = encode(plot.draw(found, self.wanted, None, revealed=True))
        knobs = _words(_telling([f.measurement for f in found], self.wanted))
        return picture_bundle(self.view, repr(self), png, f"{knobs}, {plot.record.label}: {times}")


class _Plot:
    """Draws one record: the ladder anew each time, of the roofline only the points, so that an answer is quick."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._provenance = Provenance.recorded(record)
        self._ladder, self._bars = _blank(_LADDER_WIDTH, (0.29, 0.2, 0.69, 0.64))
        style = {"fontsize": palette.TITLE_SIZE, "fontweight": "bold", "color": palette.INK}
        self._setting = self._ladder.text(0.015, 0.96, "", va="top", **style)

        self._roof, self._points = _blank(_ROOF_WIDTH, (0.17, 0.2, 0.8, 0.64))
        everything = [Point.of(m) for m in record.measurements]
        limits = record.limits
        roofs(self._points, everything, limits["copy_gb_s"], limits.get("fp32_tflop_s"), "FP32 peak")
        palette.title(self._points, "under the roofline", pad=20)
        label(self._points, self._provenance)
        self._roof.dpi = DPI * SHARPNESS
        self._canvas = FigureCanvasAgg(self._roof)
        self._canvas.draw()
        self._empty_roof = self._canvas.copy_from_bbox(self._roof.bbox)

    def find(self, kernels: Sequence[str], wanted: Mapping[str, int]) -> list[Found]:
        """Return for each kernel that this record holds the measurement nearest to ``wanted``."""
        return [nearest(self.record, kernel, wanted) for kernel in kernels if self.record.select(kernel)]

    def draw(
        self, found: Sequence[Found], wanted: Mapping[str, int], guess: float | None, revealed: bool
    ) -> np.ndarray:
        """Return the picture: bars at the left, roofline at the right; all but the first stay hidden until revealed."""
        measurements = [f.measurement for f in found]
        self._setting.set_text(words := _words(_telling(measurements, wanted)))
        self._setting.set_fontsize(palette.TITLE_SIZE if len(words) < 58 else palette.TITLE_SIZE * 57 / len(words))
        self._bars.clear()
        if found:
            guesses = {found[-1].name: measurements[0].median_ms / guess} if guess else None
            ladder(
                self._bars,
                [_bar(f, hidden=i > 0 and not revealed) for i, f in enumerate(found)],
                provenance=self._provenance,
                limit_ms=limit_ms(self.record, measurements[0]),
                limit_name="roofline",
                guesses=guesses,
            )
        else:
            self._bars.set_axis_off()
        self._canvas.restore_region(self._empty_roof)
        shown = measurements if revealed else measurements[:1]
        for artist in place(self._points, [_point(m) for m in shown]):
            self._points.draw_artist(artist)
            artist.remove()
        roof = np.asarray(self._canvas.buffer_rgba())[:, :, :3]
        return np.hstack([pixels(self._ladder), roof])


def _blank(width: float, box: tuple[float, float, float, float]) -> tuple[Picture, Axes]:
    """Return a figure whose Axes do not move when their content does."""
    picture = Picture(figsize=(width, _HEIGHT), dpi=DPI, facecolor=palette.PAPER)
    FigureCanvasAgg(picture)
    return picture, picture.add_axes(box)


def _bar(found: Found, hidden: bool) -> Bar:
    # A bar that is not what was asked for says so itself, and so does one with more constants than there are knobs.
    shown = {**{knob: shown for knob, (_, shown) in found.differs.items()}, **found.free}
    return Bar.of(found.measurement, _words(shown), hidden)


def _point(measurement: Measurement) -> Point:
    # The number of a rung is enough: its name and colour stand beside its bar.
    point = Point.of(measurement)
    on_the_ladder = any(spec.name == measurement.kernel for spec in (*catalog.LADDER, *catalog.HOPPER))
    return replace(point, name=point.name.split()[0]) if on_the_ladder else point


def _telling(measurements: Sequence[Measurement], wanted: Mapping[str, int]) -> dict[str, int]:
    """Return the knobs that some of the measurements have, without a cluster of one or a B of one tile."""
    have = {knob for m in measurements for knob in settings(m)} or set(wanted)
    return {k: v for k, v in wanted.items() if k in have and not (k in ("SHARE", "CLUSTER") and v == 1)}


def _words(knobs: Mapping[str, int]) -> str:
    """Return settings as a reader says them: "1 CTA per SM, 2 stages, intensity 1"."""
    said = []
    for knob, value in knobs.items():
        words = KNOBS.get(knob, knob.lower().replace("_", " "))
        if knob == "INTENSITY":
            said.append(f"{words} {value}")
        elif knob == "CTAS":
            said.append(f"registers for {value} CTAs")
        elif knob == "SCHEDULE":
            said.append({1: "static", 2: "dynamic"}.get(value, f"schedule {value}"))
        else:
            said.append(f"{value} {words if value != 1 else words.replace('CTAs', 'CTA').removesuffix('s')}")
    return ", ".join(said)
