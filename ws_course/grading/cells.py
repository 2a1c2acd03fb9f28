"""Tell a notebook's cells apart: who writes them, and in which language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbformat import NotebookNode  # takes a second to import, which the grading process need not spend

_CUDA = re.compile(r"\s*%%cuda(?=\s|$)")


def is_cuda(source: str) -> bool:
    """Return whether a cell's text is a ``%%cuda`` cell."""
    return _CUDA.match(source) is not None


def role(cell: NotebookNode) -> str:
    """Return "solution" (the learner writes it), "test" (it gives points), "locked" (the course's own) or ""."""
    marks = cell.metadata.get("nbgrader", {})
    if cell.cell_type != "code" or not marks:
        return ""
    if marks.get("solution"):
        return "solution"
    return "test" if marks.get("grade") else "locked" if marks.get("locked") else ""
