"""A learner opens a notebook, runs it, moves a control, and the picture changes."""

import nbformat
import pytest

pytestmark = pytest.mark.browser

# A picture that follows a slider, in the fewest lines, made as the course's widgets make theirs.
SLIDER = """\
import io
import ipywidgets as widgets
import matplotlib.image as image
import numpy as np

stages = widgets.IntSlider(value=2, min=1, max=4, description="stages")
bar = widgets.Image(width=400)

def draw(change=None):
    pixels = np.ones((20, 400, 3))
    pixels[:, : 100 * stages.value] = 0
    image.imsave(file := io.BytesIO(), pixels, format="png")
    bar.value = file.getvalue()

stages.observe(draw, "value")
draw()
widgets.VBox([stages, bar])
"""


def run_all(page):
    """Run every cell with the menu, as a person does, and wait until each has its number."""
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
    # a cell that is run before the kernel is there is forgotten
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click()
    # [ ] has not run, [*] waits, [7] has run
    page.wait_for_function(
        """() => [...document.querySelectorAll('.jp-CodeCell')].every(
            cell => /\\[\\d+\\]/.test(cell.querySelector('.jp-InputPrompt').textContent))""",
        timeout=120_000,
    )


def wait_for_another(picture, before):
    """Wait until a picture's pixels differ from what they were, and return them."""
    for _ in range(100):
        now = picture.screenshot()
        if now != before:
            return now
        picture.page.wait_for_timeout(100)
    pytest.fail("the picture did not change within ten seconds")


def test_moving_a_control_changes_the_picture(lab, page, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SLIDER)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "slider.ipynb")
    page.goto(lab(folder)("slider.ipynb"))
    run_all(page)
    picture = page.locator("img.widget-image")
    picture.wait_for(timeout=30_000)
    two = picture.screenshot()
    page.locator(".widget-slider .noUi-handle").focus()
    page.keyboard.press("ArrowRight")
    three = wait_for_another(picture, two)
    page.keyboard.press("ArrowLeft")
    assert wait_for_another(picture, three) == two
