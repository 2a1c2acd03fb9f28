"""From solution to exercise: what is taken out, what may go along, and that a difference is noticed."""

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_output

from ws_course.grading.assignment import NOTEBOOK, AssignmentError, WrongAnswer
from ws_course.grading.generate import drift, main, release

KERNEL = """\
%%cuda add -D N=4
__global__ void add(float* x) {
  // Add one.
    // BEGIN SOLUTION
    x[threadIdx.x] += 1;
    // END SOLUTION
}"""
STUBBED = """\
%%cuda add -D N=4
__global__ void add(float* x) {
  // Add one.
    // YOUR CODE HERE
}"""
TEST = """\
grade(add, [case(1)])
### BEGIN HIDDEN TESTS
grade(add, [case(777)])
### END HIDDEN TESTS"""


@pytest.fixture
def cells(cell):
    kernel = cell("add", KERNEL, solution=True)
    kernel.outputs, kernel.execution_count = [new_output("stream", text="add is compiled")], 3
    return [
        new_markdown_cell("# Add", id="title"),
        cell("setup", "%load_ext ws_course", locked=True),
        kernel,
        cell("answer", "n = None\n### BEGIN SOLUTION\nn = 4\n### END SOLUTION", solution=True),
        cell("test", TEST, grade=True, points=2, locked=True),
    ]


def released(assignment):
    return nbformat.reads(release(assignment)[NOTEBOOK].decode(), as_version=4)


def test_solutions_hidden_tests_and_outputs_are_gone(tmp_path, write, cells):
    title, setup, kernel, answer, test = released(write(tmp_path / "01_add", cells)).cells
    assert title.source == "# Add"
    assert kernel.source == STUBBED
    assert kernel.outputs == [] and kernel.execution_count is None
    assert answer.source == "n = None\n# YOUR CODE HERE"
    assert test.source == "grade(add, [case(1)])"
    assert "777" not in release(write(tmp_path / "01_add", cells))[NOTEBOOK].decode()
    assert not setup.metadata.editable and not test.metadata.deletable
    assert test.metadata.nbgrader.checksum and test.metadata.nbgrader.points == 2


def test_a_cuda_cell_must_say_what_the_learner_writes(tmp_path, write, cell):
    plain = KERNEL.replace("// BEGIN SOLUTION", "").replace("// END SOLUTION", "")
    with pytest.raises(AssignmentError, match="'add' has no // BEGIN SOLUTION"):
        release(write(tmp_path, [cell("add", plain, solution=True)]))


def test_hidden_tests_outside_a_test_cell_are_refused(tmp_path, write, cell):
    with pytest.raises(RuntimeError, match="non-grade cell"):
        release(write(tmp_path, [cell("cases", TEST, locked=True)]))


def test_only_declared_files_go_along(tmp_path, write, cells):
    assignment = write(tmp_path / "01_add", cells, ws_course={"files": ["data/x.csv"]})
    (assignment.folder / "data").mkdir()
    (assignment.folder / "wrong").mkdir()
    (assignment.folder / "wrong" / "a.cu").write_text("// expect: race\n")
    with pytest.raises(AssignmentError, match="declares data/x.csv, which is not"):
        release(assignment)
    (assignment.folder / "data" / "x.csv").write_bytes(b"1,2")
    assert release(assignment).keys() == {NOTEBOOK, "data/x.csv"}
    (assignment.folder / "notes.md").write_text("the answer is 42")
    with pytest.raises(AssignmentError, match="notes.md is not declared"):
        release(assignment)


def test_check_finds_every_difference_and_changes_nothing(tmp_path, capsys, write, cells):
    solutions, exercises = tmp_path / "solutions", tmp_path / "exercises"
    write(solutions / "01_add", cells)
    where = ["--solutions", str(solutions), "--exercises", str(exercises)]
    assert main(["--check", *where]) == 1
    assert not exercises.exists()
    assert main(where) == 0
    assert main(["--check", *where]) == 0

    notebook = exercises / "01_add" / NOTEBOOK
    original = notebook.read_bytes()
    notebook.write_bytes(original.replace(b"Add one", b"Add two"))
    old = exercises / "00_gone" / NOTEBOOK
    old.parent.mkdir()
    old.write_text("{}")
    assert main(["--check", *where]) == 1
    assert drift(solutions, exercises) == {old: None, notebook: original}
    assert b"Add two" in notebook.read_bytes() and old.exists()
    assert main(where) == 0
    assert notebook.read_bytes() == original and not old.parent.exists()
    assert main(["--check", *where]) == 0
    assert "run python -m ws_course.grading.generate" in capsys.readouterr().out


def test_a_mistake_in_an_assignment_is_told_in_one_line(tmp_path, capsys, write, cell):
    write(tmp_path / "s" / "01", [cell("add", KERNEL.replace("// END SOLUTION", ""), solution=True)])
    assert main(["--solutions", str(tmp_path / "s"), "--exercises", str(tmp_path / "e")]) == 1
    assert "no end solution statement found" in capsys.readouterr().err
    assert main(["--solutions", str(tmp_path / "nowhere")]) == 1
    assert "holds no assignment" in capsys.readouterr().err


def test_a_wrong_answer_finds_its_cell(tmp_path, write, cells):
    notebook = write(tmp_path, cells).notebook
    path = tmp_path / "a.cu"
    path.write_text("// why\n// expect: race, deadlock\n__global__ void add(float* x) {}\n")
    wrong = WrongAnswer.read(path)
    assert wrong.expect == ("race", "deadlock")
    planted = wrong.planted_in(notebook)
    assert planted.cells[2].source == "%%cuda add -D N=4\n" + path.read_text()
    assert notebook.cells[2].source == KERNEL
    path.with_suffix(".py").write_text("# expect: AssertionError\nn = 5\n")
    assert WrongAnswer.read(path.with_suffix(".py")).planted_in(notebook).cells[3].source.endswith("n = 5\n")
    path.write_text("// expect: race\n// cell: other\n")
    with pytest.raises(AssignmentError, match="could stand in 0 cells"):
        WrongAnswer.read(path).planted_in(notebook)
    path.write_text("__global__ void add(float* x) {}\n")
    with pytest.raises(AssignmentError, match="must say which fault"):
        WrongAnswer.read(path)
