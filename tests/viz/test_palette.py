"""The colours can be told apart: by colour-blind readers, in grey print, and as text on its background."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ws_course.viz import palette

# Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color vision deficiency" (2009),
# severity 1.0, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
SRGB_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
RUNGS, HOPPER = [palette.rung(i, 5) for i in range(5)], [palette.rung(i, 7, hopper=True) for i in range(7)]
FILLS = [*palette.WORK.values(), *RUNGS, *HOPPER]


def seen(colour, vision):
    """CIELAB of a colour as an eye with this vision sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = SRGB_TO_XYZ @ np.clip(VISION[vision] @ linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_roles_differ_for_every_eye(vision):
    # A difference of 2.3 is just noticeable; neighbours in a picture need several times that.
    colours = [*palette.WORK.values(), palette.PAPER]
    for a, b in combinations(colours, 2):
        distance = np.linalg.norm(seen(a, vision) - seen(b, vision))
        assert distance > 14, f"{a} and {b} are {distance:.1f} apart with {vision}"


def test_the_check_above_can_fail():
    red, green = "#B35900", "#7A7A00"
    apart = {v: np.linalg.norm(seen(red, v) - seen(green, v)) for v in ("normal", "deuteranopia")}
    assert apart["normal"] > 40 and apart["deuteranopia"] < 14


@pytest.mark.parametrize("hue", [RUNGS, HOPPER])
def test_rungs_darken_step_by_step(hue):
    lightness = [seen(colour, "deuteranopia")[0] for colour in hue]
    assert all(a - b > 5 for a, b in zip(lightness, lightness[1:], strict=False))


@pytest.mark.parametrize("colour", [*RUNGS, *HOPPER])
def test_rungs_are_no_roles(colour):
    for role in palette.WORK.values():
        assert np.linalg.norm(seen(colour, "normal") - seen(role, "normal")) > 14


@pytest.mark.parametrize("fill", FILLS)
def test_text_on_every_fill_is_readable(fill):
    assert palette.contrast(fill, palette.text_on(fill)) >= 4.5  # WCAG 2.2, level AA


@pytest.mark.parametrize("ink", [palette.INK, palette.MUTED, palette.ALARM])
def test_text_on_paper_is_readable(ink):
    assert palette.contrast(ink, palette.PAPER) >= 4.5


@pytest.mark.parametrize("fill", FILLS)
def test_outlines_stand_out_from_paper(fill):
    from matplotlib.colors import to_hex

    assert palette.contrast(to_hex(palette.edge(fill)), palette.PAPER) >= 3  # WCAG 2.2, graphical objects


def test_contrast_matches_the_definition():
    assert palette.contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert palette.contrast("#777777", "#777777") == 1


def test_a_rung_outside_the_ladder_is_refused():
    with pytest.raises(ValueError, match="use 0 to 4"):
        palette.rung(5, 5)
