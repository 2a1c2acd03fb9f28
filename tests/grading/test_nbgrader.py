"""The whole way through nbgrader itself: release, submit, autograde, feedback, with the project's own settings."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from ws_course.grading.assignment import NOTEBOOK, Assignment
from ws_course.grading.generate import release

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own queries

FOLDER = Path(__file__).parents[2] / "solutions" / "01_latency"
ASSIGNMENT = Assignment(FOLDER)
FULL = {"test-one-tile": 1, "test-many-tiles": 2, "test-answer": 1}
NONE = dict.fromkeys(FULL, 0)


@pytest.fixture(scope="module")
def graded(course):
    """A course with the assignment released."""
    made = course(FOLDER)
    made.release(ASSIGNMENT.name)
    return made


def submit(graded, student, notebook):
    graded.submit(student, ASSIGNMENT.name, notebook)
    return graded.autograde(student, ASSIGNMENT.name)


def released():
    return nbformat.reads(release(ASSIGNMENT)[NOTEBOOK].decode(), as_version=4)


def solved():
    """Return what a learner hands in: the released notebook with the solution's answers typed into it."""
    answers = {cell.id: cell.source for cell in ASSIGNMENT.notebook.cells}
    notebook = released()
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = re.sub(r".*(BEGIN|END) SOLUTION.*\n", "", answers[cell.id])
    return notebook


def test_nbgrader_releases_what_is_committed(graded):
    there = {p.name: p.read_bytes() for p in (graded.root / "exercises" / ASSIGNMENT.name).rglob("*") if p.is_file()}
    assert there == release(ASSIGNMENT)


def test_a_right_submission_gets_every_point(graded):
    assert submit(graded, "right", solved()) == (FULL, {})


def test_an_unsolved_submission_gets_none(graded):
    points, reasons = submit(graded, "unsolved", released())
    assert points == NONE
    assert reasons == {
        "test-one-tile": "uninitialised-read",
        "test-many-tiles": "uninitialised-read",
        "test-answer": "AssertionError",
    }


@pytest.mark.parametrize("name", ["no_second_barrier", "does_not_compile"])
def test_a_wrong_submission_gets_no_points_for_what_is_wrong(graded, name):
    (wrong,) = (wrong for wrong in ASSIGNMENT.wrong_answers if wrong.path.stem == name)
    points, reasons = submit(graded, name, wrong.planted_in(solved()))
    assert reasons["test-many-tiles"] in wrong.expect
    assert points["test-many-tiles"] == 0 and points["test-answer"] == 1
    assert points["test-one-tile"] == (1 if name == "no_second_barrier" else 0)


def test_a_submission_that_attacks_its_tests_gets_none(graded):
    notebook = released()
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if grade_id.startswith("test-"):
            cell.source = "pass"
        if grade_id == "setup":
            cell.source += "\ngrade = check_kernel = lambda *a, **k: True\nimport builtins\nbuiltins.barriers = 20"
        if grade_id == "answer":
            cell.source = "import os\nos._exit(0)"
    notebook.cells = [c for c in notebook.cells if c.id != "test-one-tile"]
    points, reasons = submit(graded, "attack", notebook)
    assert points == NONE
    assert reasons["test-one-tile"] == "uninitialised-read" and reasons["test-answer"] == "NameError"


def test_feedback_shows_the_verdict(graded):
    submit(graded, "reader", released())
    result = graded.api.generate_feedback(ASSIGNMENT.name, "reader")
    assert result["success"], result
    page = (graded.root / "gradebook/feedback/reader" / ASSIGNMENT.name / "assignment.html").read_text()
    assert "uninitialised-read: cell flip_tiles:" in page


def test_the_unsolved_notebook_runs_to_its_end_in_jupyter():
    notebook = released()
    NotebookClient(notebook, timeout=60, allow_errors=True).execute()
    failed = {cell.id: o.ename for cell in notebook.cells for o in cell.get("outputs", ()) if o.output_type == "error"}
    assert failed == {"test-one-tile": "NotPassed", "test-many-tiles": "NotPassed", "test-answer": "AssertionError"}
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    shown = next(o for cell in notebook.cells if cell.id == "test-one-tile" for o in cell.outputs)
    assert not any("Traceback" in line for line in shown.traceback)
