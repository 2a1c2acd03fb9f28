"""Grade a submission without running it: its answers, and nothing else of it, go to a fresh process of ours."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Float

from ws_course.grading.assignment import Assignment
from ws_course.grading.cells import role
from ws_course.grading.isolated import ask


@dataclass(frozen=True)
class CellResult:
    """Hold what became of one cell; ``reason`` is empty, a fault kind, or the name of a Python exception."""

    id: str
    role: str
    ok: bool
    reason: str
    outputs: tuple[dict, ...]


def grade_submission(
    assignment: Assignment, submitted: NotebookNode, *, only: Collection[str] | None = None, timeout: float = 300.0
) -> dict[str, CellResult]:
    """Grade a notebook in a fresh process; return the result of each cell that counts by nbgrader's cell id.

    The cells, their order and the tests come from ``solutions/``; only the text of the solution cells comes from the
    submission, found by its cell id. So a learner's own cells never run, and moved, changed or deleted cells of the
    course do no harm. A cell that the process did not answer for (it died, or ``timeout`` seconds were over) did not
    pass. ``only`` names the tests to run, by their cell ids, where not all of them matter.
    """
    answers = {_id(cell): cell.source for cell in submitted.cells if role(cell) == "solution"}
    cells = []
    for cell in assignment.notebook.cells:
        if (kind := role(cell)) and (kind != "test" or only is None or _id(cell) in only):
            source = answers.get(_id(cell), "") if kind == "solution" else cell.source
            cells.append({"id": _id(cell), "role": kind, "source": source})
    nonce = secrets.token_hex(16)
    files = {name: (assignment.folder / name).read_bytes() for name in assignment.files}
    request = {"nonce": nonce, "cells": cells}
    replies = ask("ws_course.grading.worker", request, files=files, timeout=timeout)
    done = {reply.get("id"): reply for reply in replies if reply.get("nonce") == nonce}
    return {cell["id"]: _result(cell["id"], cell["role"], done.get(cell["id"])) for cell in cells}


def _id(cell: NotebookNode) -> str:
    return cell.metadata.nbgrader.grade_id


def _result(cell: str, kind: str, reply: dict | None) -> CellResult:
    if reply is None:
        text = "this cell was not reached: the grading process died or ran out of time"
        lost = {"output_type": "error", "ename": "timeout", "evalue": text, "traceback": [f"timeout: {text}"]}
        return CellResult(cell, kind, False, "timeout", (lost,))
    # `is True`: nothing but the worker's own word counts as a pass
    return CellResult(cell, kind, reply.get("ok") is True, reply.get("reason", ""), tuple(reply.get("outputs", ())))


class GradeInFreshProcess(NbGraderPreprocessor):
    """Take the place of nbgrader's ``Execute``, which runs a learner's Python where the tests run."""

    timeout = Float(300.0, help="seconds that all cells of one notebook may take together").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Replace every cell's outputs by what the fresh process gave; a test without a pass holds an error."""
        results = grade_submission(_assignment(self, resources), nb, timeout=self.timeout)
        for cell in nb.cells:
            if cell.cell_type != "code":
                continue
            result = results.get(_id(cell)) if role(cell) else None
            cell.execution_count = None
            cell.outputs = [nbformat.from_dict(output) for output in result.outputs] if result else []
            if role(cell) == "test" and not (result and result.ok):
                _make_sure_it_fails(cell)
        return nb, resources


class AddMissingTests(NbGraderPreprocessor):
    """Put back the test cells that a learner deleted, at the end, so that their points are recorded as lost.

    nbgrader's own ``OverwriteCells.add_missing_cells`` stops with an error when a locked cell was deleted as well.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Append copies of the missing cells."""
        there = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in nb.cells}
        cells = _assignment(self, resources).copy().cells
        nb.cells += [c for c in cells if c.metadata.get("nbgrader", {}).get("grade") and _id(c) not in there]
        return nb, resources


def _assignment(preprocessor: NbGraderPreprocessor, resources: dict) -> Assignment:
    owner = preprocessor.parent
    while not hasattr(owner, "coursedir"):  # preprocessor -> exporter -> nbgrader's converter
        owner = owner.parent
    course = owner.coursedir
    return Assignment(Path(course.format_path(course.source_directory, ".", resources["nbgrader"]["assignment"])))


def _make_sure_it_fails(cell: NotebookNode) -> None:
    # nbgrader gives full points to a test cell whose outputs hold no error
    if not any(output.output_type == "error" for output in cell.outputs):
        text = "this test did not pass"
        cell.outputs.append(nbformat.v4.new_output("error", ename="not-passed", evalue=text, traceback=[text]))
