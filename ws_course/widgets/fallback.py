"""What a widget leaves on a page where nothing moves: HTML export, GitHub, an editor without widget support.

Every widget is displayed as one bundle: the live view, which a front end with a kernel prefers, beside a picture or
HTML that says the same, and a line of text that is the same in every run.

A page shows the still form where no widget state is stored with it: after ``make lessons``, which stores notebooks
through :class:`ws_course.widgets.freeze.Freeze`, and in an export of a notebook that was saved without state. With
state, ``nbconvert`` prefers the live view, whose script it fetches from the network: offline that place stays empty.
``--HTMLExporter.preprocessors=ws_course.widgets.freeze.Freeze`` exports the still form of such a notebook.
"""

from __future__ import annotations

import base64

from ipywidgets import DOMWidget

from ws_course.viz.figures import SHARPNESS

VIEW = "application/vnd.jupyter.widget-view+json"


def picture_bundle(view: DOMWidget, text: str, png: bytes, alt: str) -> tuple[dict, dict]:
    """Return (data, metadata) for a widget whose still form is a picture; ``alt`` describes the picture in words."""
    # The width and height stand in bytes 16 to 24 of every PNG file (RFC 2083, section 4.1.1).
    width, height = (int.from_bytes(png[i : i + 4]) // SHARPNESS for i in (16, 20))
    data = {**_live(view), "text/plain": text, "image/png": base64.b64encode(png).decode("ascii")}
    return data, {"image/png": {"width": width, "height": height, "alt": alt}}


def html_bundle(view: DOMWidget, text: str, html: str) -> tuple[dict, dict]:
    """Return (data, metadata) for a widget whose still form is HTML."""
    return {**_live(view), "text/plain": text, "text/html": html}, {}


def _live(view: DOMWidget) -> dict:
    return {VIEW: {"version_major": 2, "version_minor": 0, "model_id": view.model_id}}
