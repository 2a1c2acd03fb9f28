"""A learner opens a lesson in JupyterLab, runs it, guesses, reveals, turns a knob, and the picture follows."""

import json
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

LESSONS = Path(__file__).parents[2] / "notebooks"


def lesson_with_the_widget():
    for path in sorted(LESSONS.glob("[0-9][0-9]_*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        if any("Comparison(" in "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"):
            return path
    pytest.fail("no lesson shows the comparison widget")


def run_all(page):
    """Run every cell with the menu, as a person does, and wait until each has its number."""
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
    # a cell that is run before the kernel is there is forgotten
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click()
    # the notebook says so itself when the last cell is done, also of cells that are not on the screen
    page.locator('.jp-Notebook-ExecutionIndicator[data-status="busy"]').wait_for(timeout=60_000)
    page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').wait_for(timeout=180_000)


def wait_for_another(picture, before):
    """Wait until a picture's pixels differ from what they were, and return them."""
    for _ in range(100):
        now = picture.screenshot()
        if now != before:
            return now
        picture.page.wait_for_timeout(100)
    pytest.fail("the picture did not change within ten seconds")


def turn_the_widget(page):
    """Guess, reveal, turn a knob there and back; the picture must follow each time."""
    widget = page.locator(".jp-OutputArea-output", has_text="Your guess:", has=page.locator("img.widget-image"))
    picture = widget.locator("img.widget-image")
    picture.scroll_into_view_if_needed(timeout=30_000)
    assert picture.evaluate("image => image.naturalWidth") > 500
    asked = picture.screenshot()

    sliders = widget.locator(".widget-hslider")
    sliders.last.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    guessed = wait_for_another(picture, asked)
    widget.get_by_role("button", name="reveal").click()
    revealed = wait_for_another(picture, guessed)
    assert "recorded (" in widget.get_by_role("status").inner_text()

    sliders.filter(has_text="CTAs per SM").get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    another = wait_for_another(picture, revealed)
    page.keyboard.press("ArrowLeft")
    assert wait_for_another(picture, another) == revealed


def test_a_lesson_runs_and_its_widget_answers(lab, page, tmp_path):
    lesson = lesson_with_the_widget()
    folder = tmp_path / "notebooks"
    shutil.copytree(LESSONS, folder)
    page.goto(lab(folder)(lesson.name))
    run_all(page)
    assert page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.error"]').count() == 0
    turn_the_widget(page)
