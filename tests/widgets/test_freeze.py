"""Stored pictures are small and look the same."""

import base64
import io

import numpy as np
from PIL import Image

from ws_course import viz
from ws_course.viz.figures import compact, png


def figure():
    picture, ax = viz.figure(6, 3)
    bars = [viz.Bar.from_times(name, [1.0, 1.1, 1.2], colour=colour) for name, colour in viz.palette.ROLE.items()]
    viz.ladder(ax, bars, provenance=viz.Provenance.modelled("a test"), title="four colours")
    return base64.b64encode(png(picture)).decode("ascii")


def pixels(picture):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")).astype(int)


def test_a_picture_takes_less_than_half_the_bytes_and_looks_the_same():
    before = figure()
    after = compact(before)
    assert len(after) < len(before) / 2
    assert pixels(after).shape == pixels(before).shape
    assert np.abs(pixels(after) - pixels(before)).max() < 100  # of 255, at a few points on the edges of letters
    assert np.abs(pixels(after) - pixels(before)).mean() < 0.05


def test_role_colours_survive_exactly():
    colours = {tuple(pixel) for pixel in pixels(compact(figure())).reshape(-1, 3)}
    for colour in viz.palette.ROLE.values():
        assert tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)) in colours


def test_making_small_twice_changes_nothing():
    once = compact(figure())
    assert compact(once) == once
