"""Make a figure that shows itself in a notebook, and save one so that the same input gives the same bytes."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from ws_course.viz import palette

# Pixels per inch on the page, and how many image pixels stand behind each for sharp text on dense screens.
DPI = 100
SHARPNESS = 2


class Picture(Figure):
    """A Matplotlib figure that needs no pyplot and no ``%matplotlib``: as the last value of a cell it is shown."""

    def __repr__(self) -> str:
        # Each title once: on a GPU a lesson draws the same panel again, measured now, and is still the same lesson.
        titles = dict.fromkeys(ax.get_title(loc="left") for ax in self.axes)
        return f"<Figure: {'; '.join(t for t in titles if t) or 'untitled'}>"

    def describe(self) -> str:
        """Return one line for readers who do not see the picture: the titles and where the numbers come from."""
        stamps = [t.get_text() for ax in self.axes for t in ax.texts if t.get_gid() == "provenance"]
        return "; ".join([repr(self)[1:-1].removeprefix("Figure: "), *dict.fromkeys(stamps)])

    def _repr_mimebundle_(self, include=None, exclude=None):
        width, height = (round(DPI * inches) for inches in self.get_size_inches())
        data = {"text/plain": repr(self), "image/png": base64.b64encode(png(self)).decode("ascii")}
        return data, {"image/png": {"width": width, "height": height, "alt": self.describe()}}


def figure(width: float = 7.2, height: float = 3.4, **subplots) -> tuple[Picture, Axes]:
    """Return ``(figure, axes)``; sizes in inches, further arguments as ``Figure.subplots`` takes them.

    The axes are one Axes, or an array of them with ``nrows`` or ``ncols``.
    """
    picture = Picture(figsize=(width, height), dpi=DPI, layout="constrained", facecolor=palette.PAPER)
    # Room around the drawing: on a dark page the paper has a visible edge.
    picture.get_layout_engine().set(w_pad=0.09, h_pad=0.09)
    FigureCanvasAgg(picture)
    return picture, picture.subplots(**subplots)


def pixels(figure: Figure, sharpness: float = SHARPNESS) -> np.ndarray:
    """Return the picture as uint8 ``[height, width, 3]``, with ``sharpness`` image pixels per page pixel."""
    before, figure.dpi = figure.dpi, DPI * sharpness
    canvas = FigureCanvasAgg(figure)
    # Not savefig, which draws everything twice: a widget has a fifth of a second to answer.
    canvas.draw()
    figure.dpi = before
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def encode(picture: np.ndarray) -> bytes:
    """Return uint8 ``[height, width, 3]`` as PNG bytes, compressed little because a reader waits."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="png", compress_level=1)
    return buffer.getvalue()


def png(figure: Figure, sharpness: float = SHARPNESS) -> bytes:
    """Return the figure as PNG bytes, the same bytes for the same figure."""
    return encode(pixels(figure, sharpness))


def save(figure: Figure, path: str | Path) -> tuple[Path, Path]:
    """Write ``path`` with ``.png`` and with ``.svg``, without dates or random names; return both paths."""
    path = Path(path)
    png_path, svg_path = path.with_name(path.name + ".png"), path.with_name(path.name + ".svg")
    figure.savefig(png_path, dpi=DPI * SHARPNESS, metadata={"Software": None}, pil_kwargs={"optimize": True})
    with matplotlib.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "path"}):
        figure.savefig(svg_path, metadata={"Date": None, "Creator": None})
    return png_path, svg_path


def compact(picture: str) -> str:
    """Return a PNG, base64 in and out, with at most 256 colours: a third of the bytes, and no difference to see.

    Figures are drawn quickly rather than small, because a reader waits; a repository keeps every version of a page.
    """
    png = base64.b64decode(picture)
    image = Image.open(io.BytesIO(png))
    if image.mode == "P":  # it has been here before
        return picture
    buffer = io.BytesIO()
    few = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(buffer, format="png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
