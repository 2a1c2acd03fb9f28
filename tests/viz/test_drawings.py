"""The committed drawings are what their scripts draw today, from the record that is committed today."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ws_course import viz

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "notebooks" / "figures").glob("[0-9][0-9]_*.py"))
# Each script with the place of its pictures, without suffix.
DRAWN = [(script, script.with_suffix("")) for script in SCRIPTS]
DRAWN += [(ROOT / "notebooks" / "figures" / "ladder.py", ROOT / "docs" / "images" / "ladder")]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def test_every_lesson_of_the_first_part_has_a_drawing():
    assert {script.name[:2] for script in SCRIPTS} >= {"00", "01", "02", "03", "04", "05"}


@pytest.mark.parametrize(("script", "place"), DRAWN, ids=[place.name for _, place in DRAWN])
def test_committed_pictures_are_up_to_date(script, place, tmp_path):
    figure = runpy.run_path(str(script))["draw"]()
    fresh_png, fresh_svg = viz.save(figure, tmp_path / script.stem)
    stored_png, stored_svg = place.with_suffix(".png"), place.with_suffix(".svg")
    redo = f"run: python {script.relative_to(ROOT)}"

    fresh, stored = (np.asarray(Image.open(p).convert("RGB"), dtype=int) for p in (fresh_png, stored_png))
    assert fresh.shape == stored.shape, redo
    # Another processor may round the edge of a glyph differently; a moved box changes far more.
    assert (np.abs(fresh - stored).max(axis=2) > 40).mean() < 0.001, redo

    fresh_text, stored_text = fresh_svg.read_text(), stored_svg.read_text()
    assert NUMBER.sub("", _without_names(fresh_text)) == NUMBER.sub("", _without_names(stored_text)), redo
    numbers = [np.array(NUMBER.findall(_without_names(text)), dtype=float) for text in (fresh_text, stored_text)]
    assert np.allclose(*numbers, atol=0.05), redo


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_drawings_say_that_they_are_schematic(script):
    figure = runpy.run_path(str(script))["draw"]()
    assert figure.describe().endswith("schematic, not to scale")


def test_the_readme_picture_shows_recorded_numbers():
    figure = runpy.run_path(str(ROOT / "notebooks" / "figures" / "ladder.py"))["draw"]()
    assert "recorded (" in figure.describe()


def _without_names(svg):
    """Drop the names of clip paths and glyphs, which are hashes of rounded numbers."""
    return re.sub(r'(id="|url\(#|href="#)[^")]*', "", svg)
