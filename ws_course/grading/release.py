"""From a solution to an exercise: the preprocessors that take out solutions, hidden tests and outputs."""

from __future__ import annotations

from nbformat import NotebookNode
from nbgrader import preprocessors as nbgrader
from traitlets import Dict

from ws_course.grading.assignment import AssignmentError
from ws_course.grading.cells import is_cuda, role

# No `raise`: an unsolved notebook runs to its end, and its tests fail (which the tests of this project prove).
STUBS = {"python": "# YOUR CODE HERE", "cuda": "// YOUR CODE HERE"}


class ClearCudaSolutions(nbgrader.ClearSolutions):
    """Clear solutions as nbgrader does, with a C++ comment for the stub in a ``%%cuda`` cell.

    nbgrader chooses one stub by the notebook's language, which would put Python into C++.
    """

    code_stub = Dict(STUBS).tag(config=True)

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        return super()._replace_solution_region(cell, "cuda" if is_cuda(cell.source) else language)

    def preprocess_cell(self, cell: NotebookNode, resources: dict, cell_index: int) -> tuple[NotebookNode, dict]:
        """Clear one cell; raise ``AssignmentError`` for a ``%%cuda`` solution that does not say where it begins."""
        if role(cell) == "solution" and is_cuda(cell.source) and self.begin_solution_delimeter not in cell.source:
            raise AssignmentError(
                f"the %%cuda cell {cell.metadata.nbgrader.grade_id!r} has no // {self.begin_solution_delimeter}: mark "
                "what the learner writes; the signature should stay"
            )
        return super().preprocess_cell(cell, resources, cell_index)


# nbgrader's own order (nbgrader.converters.GenerateAssignment) without what needs its database: checksums are computed
# with the hidden tests, then again without them.
WITH_TESTS = (
    nbgrader.LockCells,
    ClearCudaSolutions,
    nbgrader.ClearOutput,
    nbgrader.CheckCellMetadata,
    nbgrader.ComputeChecksums,
)
WITHOUT_TESTS = (
    nbgrader.ClearHiddenTests,
    nbgrader.ClearMarkScheme,
    nbgrader.ComputeChecksums,
    nbgrader.CheckCellMetadata,
)


def exercise(solution: NotebookNode) -> NotebookNode:
    """Return the exercise for a solution notebook: no solutions, no hidden tests, no outputs, tests locked."""
    notebook, resources = solution, {}
    for preprocessor in (*WITH_TESTS, *WITHOUT_TESTS):
        notebook, resources = preprocessor().preprocess(notebook, resources)
    return notebook
