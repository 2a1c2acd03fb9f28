"""Every lesson has the same furniture, so that a reader finds the way without looking for it."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LESSONS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
SETUP = ["import ws_course as ws", "%load_ext ws_course"]

each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def cells(path):
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(path.read_text())["cells"]]


def neighbours(path):
    """Return the files that the navigation of a lesson must lead to."""
    at = LESSONS.index(path)
    around = [*LESSONS[max(at - 1, 0) : at], *LESSONS[at + 1 : at + 2]]
    return [lesson.name for lesson in around]


@each_lesson
def test_the_title_cell_says_what_to_expect(path):
    kind, text = cells(path)[0]
    assert kind == "markdown"
    number = path.stem[:2]
    assert re.match(rf"# {number} · \S", text)
    assert len(re.findall(r"^- ", text, re.MULTILINE)) == 3, "three takeaways, as a list"
    assert re.search(r"\b\d+ minutes\b", text)
    assert text.count("?") >= 1, "the question of the lesson"
    assert "(../GLOSSARY.md)" in text


@each_lesson
def test_set_up_takes_two_lines_and_the_badge_follows(path):
    code = [text for kind, text in cells(path) if kind == "code"]
    assert [line for line in code[0].splitlines() if line] == SETUP
    assert code[1].splitlines()[-1] == "Badge()"


@each_lesson
@pytest.mark.parametrize("which", [0, -1], ids=["top", "bottom"])
def test_navigation_leads_to_the_neighbours(path, which):
    last_line = cells(path)[which][1].rstrip().splitlines()[-1]
    assert "[the route](../README.md#the-route)" in last_line
    assert re.findall(r"\]\((\d\d_\w+\.ipynb)\)", last_line) == neighbours(path)


@each_lesson
def test_links_lead_somewhere(path):
    for kind, text in cells(path):
        if kind == "markdown":
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
                assert "://" in target or (path.parent / target).exists(), target


@each_lesson
def test_the_exercise_is_linked(path):
    text = "\n".join(text for kind, text in cells(path) if kind == "markdown")
    assert f"(../exercises/{path.stem}/assignment.ipynb)" in text


@each_lesson
def test_a_question_does_not_show_its_answer(path):
    for cell in json.loads(path.read_text())["cells"]:
        if "".join(cell["source"]).startswith("Predict("):
            assert cell["metadata"].get("jupyter", {}).get("source_hidden"), "fold the input away: it holds the answer"


@each_lesson
def test_a_lesson_is_neither_a_leaflet_nor_a_book(path):
    assert 25 <= len(cells(path)) <= 42


@each_lesson
def test_stored_outputs_carry_no_timestamps_and_no_live_views(path):
    notebook = json.loads(path.read_text())
    assert "widgets" not in notebook["metadata"]
    for cell in notebook["cells"]:
        assert "execution" not in cell["metadata"]
        for output in cell.get("outputs", ()):
            assert "application/vnd.jupyter.widget-view+json" not in output.get("data", {})
        if cell["cell_type"] == "code" and cell["outputs"]:
            assert cell["execution_count"] is not None
