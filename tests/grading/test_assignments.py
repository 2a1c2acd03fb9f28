"""Every assignment of the course: in step with its exercise, solvable, and not to be passed by accident."""

import ast
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ws_course.grading.assignment import NOTEBOOK, find_all
from ws_course.grading.autograde import grade_submission
from ws_course.grading.cells import is_cuda, role
from ws_course.grading.generate import drift, release
from ws_course.grading.release import exercise
from ws_course.runtime.names import entry_points

PROJECT = Path(__file__).parents[2]
ASSIGNMENTS = find_all(PROJECT / "solutions")
WRONG = [(assignment, wrong) for assignment in ASSIGNMENTS for wrong in assignment.wrong_answers]

each_assignment = pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda assignment: assignment.name)


def mentioning(assignment, wrong):
    """Return the ids of the tests that mention a name which the answer's cell makes; None for all, if none does."""
    source = wrong.place(assignment.notebook).source
    if is_cuda(source):
        names = {source.split()[1], *entry_points(source)}
    else:
        found = ast.walk(ast.parse(source))
        names = {node.id for node in found if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    tests = [cell for cell in assignment.notebook.cells if role(cell) == "test"]
    return [cell.metadata.nbgrader.grade_id for cell in tests if names & set(re.findall(r"\w+", cell.source))] or None


@pytest.fixture(scope="module")
def outcome():
    """Return a function that gives the results of an assignment's test cells for one way of answering it.

    Everything is graded from the start, two at a time: each takes a process of its own about a second.
    """
    work = {}
    with ThreadPoolExecutor(2) as pool:
        for assignment in ASSIGNMENTS:
            work[assignment.name, "solved"] = pool.submit(grade_submission, assignment, assignment.notebook)
            work[assignment.name, "unsolved"] = pool.submit(grade_submission, assignment, exercise(assignment.copy()))
        for assignment, wrong in WRONG:
            planted, only = wrong.planted_in(assignment.notebook), mentioning(assignment, wrong)
            work[assignment.name, wrong.path.name] = pool.submit(grade_submission, assignment, planted, only=only)
        yield lambda *key: [result for result in work[key].result().values() if result.role == "test"]
        pool.shutdown(cancel_futures=True)


def hidden_lines(notebook):
    """Return the lines between the marks of hidden tests that stand nowhere outside them."""
    hidden, shown = [], []
    for cell in notebook.cells:
        inside = False
        for line in cell.source.splitlines():
            if "END HIDDEN TESTS" in line:
                inside = False
            (hidden if inside else shown).append(line.strip())
            if "BEGIN HIDDEN TESTS" in line:
                inside = True
    return [line for line in hidden if line and line not in shown]


def test_there_are_assignments_and_the_exercises_folder_holds_them_and_nothing_else():
    assert ASSIGNMENTS
    assert drift(PROJECT / "solutions", PROJECT / "exercises") == {}


@each_assignment
def test_the_exercise_holds_no_solution_and_no_hidden_test(assignment):
    text = release(assignment)[NOTEBOOK].decode()
    for mark in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS"):
        assert mark not in text
    secrets = hidden_lines(assignment.notebook)
    assert secrets, "no test is hidden: a kernel made for the shapes that are shown would pass"
    sources = "\n".join(cell.source for cell in exercise(assignment.copy()).cells)
    assert [line for line in secrets if line in sources] == []


@each_assignment
def test_the_solution_earns_every_point(assignment, outcome):
    results = outcome(assignment.name, "solved")
    assert results
    assert {result.id: result.reason for result in results if not result.ok} == {}
    assert all(cell.metadata.nbgrader.points > 0 for cell in assignment.notebook.cells if role(cell) == "test")


@each_assignment
def test_the_unsolved_exercise_runs_to_its_end_and_earns_nothing(assignment, outcome):
    results = outcome(assignment.name, "unsolved")
    assert [result.id for result in results if result.ok] == []
    assert "timeout" not in {result.reason for result in results}


@each_assignment
def test_an_assignment_plants_wrong_answers(assignment):
    assert len(assignment.wrong_answers) >= 3


@pytest.mark.parametrize(("assignment", "wrong"), WRONG, ids=[f"{a.name}-{w.path.stem}" for a, w in WRONG])
def test_a_wrong_answer_fails_for_the_reason_it_plants(assignment, wrong, outcome):
    failed = [result for result in outcome(assignment.name, wrong.path.name) if not result.ok]
    assert failed, f"{wrong.path.name} passes"
    assert {result.reason for result in failed} <= set(wrong.expect)
