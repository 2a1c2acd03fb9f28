"""What the grading tests share: the project's assignments, small ones made on the spot, and a real nbgrader course."""

import os
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from traitlets.config import Config

from ws_course.grading.assignment import NOTEBOOK, Assignment
from ws_course.grading.config import configure


def make_cell(grade_id, source, **marks):
    """Return a code cell; ``marks`` are nbgrader's: solution, grade and points, or locked."""
    marks = {"grade": False, "solution": False, "locked": False, "task": False, **marks}
    made = new_code_cell(source, id=grade_id)
    made.metadata["nbgrader"] = {"schema_version": 3, "grade_id": grade_id, **marks}
    return made


def write_assignment(folder, cells, **metadata):
    """Write a notebook into a folder and return the assignment."""
    folder.mkdir(parents=True, exist_ok=True)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata={**kernel, **metadata}), folder / NOTEBOOK)
    return Assignment(folder)


class Course:
    """A course on disk with the project's own settings, driven through nbgrader's own API."""

    def __init__(self, root, *assignments):
        from nbgrader.apps import NbGraderAPI

        for assignment in assignments:
            shutil.copytree(assignment, root / "solutions" / assignment.name)
        (root / "gradebook").mkdir()
        config = Config()
        configure(config, root)
        self.root, self.api = root, NbGraderAPI(config=config)

    def release(self, name):
        result = self.api.generate_assignment(name)
        assert result["success"], result
        return self.root / "exercises" / name

    def submit(self, student, name, notebook):
        folder = self.root / "gradebook" / "submitted" / student / name
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / NOTEBOOK)
        return folder

    def autograde(self, student, name):
        """Return the points by test cell, and the reasons recorded in the graded notebook."""
        result = self.api.autograde(name, student)
        assert result["success"], result
        with self.api.gradebook as gradebook:
            submission = gradebook.find_submission(name, student)
            points = {grade.name: grade.auto_score for book in submission.notebooks for grade in book.grades}
            assert submission.score == sum(points.values())
        graded = nbformat.read(self.root / "gradebook" / "autograded" / student / name / NOTEBOOK, as_version=4)
        reasons = {
            cell.metadata.nbgrader.grade_id: output.ename
            for cell in graded.cells
            if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
            for output in cell.outputs
            if output.output_type == "error"
        }
        return points, reasons


@pytest.fixture
def cell():
    return make_cell


@pytest.fixture
def write():
    return write_assignment


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    """Return a function that makes a course from assignment folders."""
    return lambda *assignments: Course(tmp_path_factory.mktemp("course"), *assignments)


@pytest.fixture(scope="session", autouse=True)
def nbgrader_tools_on_path():
    """Let nbgrader find ``alembic``, which it starts by name, where the running Python has its scripts."""
    before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    yield
    os.environ["PATH"] = before
