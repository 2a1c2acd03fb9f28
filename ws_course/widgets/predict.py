"""Predict, then reveal: a question that hides its answer until the reader has committed to one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from ipywidgets import HTML, Button, Image, Layout, RadioButtons, VBox
from matplotlib.figure import Figure

from ws_course.viz.figures import png
from ws_course.widgets.fallback import html_bundle


class Predict:
    """Ask ``question`` with two or more ``choices`` and reveal which is right, and why.

    ``answer`` is one of the choices, ``why`` one or two sentences (`backticks` make code), ``figure`` an optional
    Matplotlib figure that appears with the answer. On a page where nothing moves the choices are listed and the
    answer is folded away. Raises ``ValueError`` if the answer is not among the choices.
    """

    def __init__(
        self, question: str, choices: Sequence[str], answer: str, why: str, figure: Figure | None = None
    ) -> None:
        if len(set(choices)) < 2 or len(set(choices)) != len(choices):
            raise ValueError(f"a prediction needs two or more different choices, not {list(choices)}")
        if answer not in choices:
            raise ValueError(f"the answer {answer!r} is not among the choices {list(choices)}")
        self.question, self.choices, self.answer, self.why = question, tuple(choices), answer, why
        self._figure = figure
        # "auto": the text of a choice wraps instead of being cut off.
        self.pick = RadioButtons(options=list(choices), value=None, layout=Layout(width="auto"))
        self.reveal = Button(description="reveal", disabled=True, tooltip="choose first", layout=Layout(width="8em"))
        self._answer = HTML()
        self._image = Image(format="png", layout=Layout(max_width="100%", display="none"))
        self.pick.observe(self._picked, "value")
        self.reveal.on_click(self._reveal)
        self.view = VBox(
            [HTML(f"<b>Predict.</b> {prose(question)}"), self.pick, self.reveal, self._answer, self._image]
        )

    def _picked(self, change: dict) -> None:
        self.reveal.disabled = change["new"] is None

    def _reveal(self, _button: Button) -> None:
        right = self.pick.value == self.answer
        verdict = "✔ Right." if right else f"✘ You chose “{prose(self.pick.value)}”. It is “{prose(self.answer)}”."
        self._answer.value = f"<b>{verdict}</b> {prose(self.why)}"
        # A second guess after the answer is no prediction.
        self.pick.disabled = self.reveal.disabled = True
        if self._figure is not None:
            self._image.value = png(self._figure)
            self._image.width = round(self._figure.get_size_inches()[0] * 100)
            self._image.layout.display = ""

    def __repr__(self) -> str:
        return "\n".join([f"Predict: {self.question}", *(f"  ( ) {choice}" for choice in self.choices)])

    def _repr_mimebundle_(self, include=None, exclude=None):
        choices = "".join(f"<li>{prose(choice)}</li>" for choice in self.choices)
        html = (
            f"<p><b>Predict.</b> {prose(self.question)}</p><ul>{choices}</ul>"
            f"<details><summary>answer</summary><p><b>{prose(self.answer)}</b> {prose(self.why)}</p></details>"
        )
        return html_bundle(self.view, repr(self), html)


def prose(text: str) -> str:
    """Return text as HTML, everything escaped, with `backticks` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
