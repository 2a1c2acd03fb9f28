"""The whole way through nbgrader itself: release, submit, autograde, feedback, with the project's own settings.

One assignment of the course goes this way; ``test_assignments`` grades all of them without nbgrader around it.
"""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from ws_course.grading.assignment import NOTEBOOK, Assignment
from ws_course.grading.cells import role
from ws_course.grading.generate import release

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own queries

FOLDER = Path(__file__).parents[2] / "solutions" / "01_latency"
ASSIGNMENT = Assignment(FOLDER)
FULL = {
    c.metadata.nbgrader.grade_id: c.metadata.nbgrader.points for c in ASSIGNMENT.notebook.cells if role(c) == "test"
}
NONE = dict.fromkeys(FULL, 0)


@pytest.fixture(scope="module")
def graded(course, tmp_path_factory):
    """A course with the assignment released, and another one that has files to go along and files that must not."""
    other = tmp_path_factory.mktemp("made") / "99_files"
    shutil.copytree(FOLDER, other)
    notebook = ASSIGNMENT.copy()
    notebook.metadata["ws_course"] = {"files": ["data/x.csv"]}
    nbformat.write(notebook, other / NOTEBOOK)
    (other / "data").mkdir()
    (other / "data" / "x.csv").write_bytes(b"1,2")
    made = course(FOLDER, other)
    made.release(ASSIGNMENT.name)
    return made


def submit(graded, student, notebook):
    graded.submit(student, ASSIGNMENT.name, notebook)
    return graded.autograde(student, ASSIGNMENT.name)


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def released():
    return nbformat.reads(release(ASSIGNMENT)[NOTEBOOK].decode(), as_version=4)


def solved():
    """Return what a learner hands in: the released notebook with the solution's answers typed into it."""
    answers = {c.metadata.nbgrader.grade_id: c.source for c in ASSIGNMENT.notebook.cells if role(c) == "solution"}
    notebook = released()
    for cell in notebook.cells:
        if role(cell) == "solution":
            cell.source = re.sub(r".*(BEGIN|END) SOLUTION.*\n", "", answers[cell.metadata.nbgrader.grade_id])
    return notebook


def test_nbgrader_releases_what_is_committed(graded):
    assert files(graded.root / "exercises" / ASSIGNMENT.name) == release(ASSIGNMENT)


def test_nbgrader_releases_declared_files_and_no_wrong_answer(graded):
    folder = graded.release("99_files")
    assert files(folder).keys() == {NOTEBOOK, "data/x.csv"}
    assert files(folder) == release(Assignment(graded.root / "solutions" / "99_files"))


def test_a_right_submission_gets_every_point(graded):
    assert submit(graded, "right", solved()) == (FULL, {})


def test_an_unsolved_submission_gets_none_and_feedback_says_why(graded):
    points, reasons = submit(graded, "unsolved", released())
    assert points == NONE
    assert reasons.keys() == FULL.keys() and "timeout" not in reasons.values()
    result = graded.api.generate_feedback(ASSIGNMENT.name, "unsolved")
    assert result["success"], result
    page = (graded.root / "gradebook/feedback/unsolved" / ASSIGNMENT.name / "assignment.html").read_text()
    for reason in reasons.values():
        assert f"{reason}: " in page


@pytest.mark.parametrize("kind", ["race", "compile-error"])
def test_a_wrong_submission_loses_the_points_of_what_is_wrong(graded, kind):
    wrong = next(wrong for wrong in ASSIGNMENT.wrong_answers if wrong.expect == (kind,))
    points, reasons = submit(graded, kind, wrong.planted_in(solved()))
    assert reasons and set(reasons.values()) == {kind}
    assert points == {test: 0 if test in reasons else full for test, full in FULL.items()}


def test_a_submission_that_attacks_its_tests_gets_none(graded):
    notebook = released()
    for cell in notebook.cells:
        if role(cell) == "test":
            cell.source = "pass"
        if role(cell) == "locked":
            cell.source += "\ngrade = check_kernel = lambda *a, **k: True"
        if role(cell) == "solution" and not cell.source.startswith("%%cuda"):
            cell.source = "import os\nos._exit(0)"
    deleted = next(cell for cell in notebook.cells if role(cell) == "test")
    notebook.cells.remove(deleted)
    points, reasons = submit(graded, "attack", notebook)
    assert points == NONE
    assert reasons.keys() == FULL.keys() and "timeout" not in reasons.values()


def test_the_unsolved_notebook_runs_to_its_end_in_jupyter():
    notebook = released()
    NotebookClient(notebook, timeout=60, allow_errors=True).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    failed = {id(cell): o for cell in code for o in cell.outputs if o.output_type == "error"}
    assert failed.keys() == {id(cell) for cell in code if role(cell) == "test"}
    # a learner sees the verdict, not the Python between the cell and it
    verdicts = [output.traceback for output in failed.values() if output.ename == "NotPassed"]
    assert verdicts
    assert not any("Traceback" in line for traceback in verdicts for line in traceback)
