"""An assignment on disk: a folder of ``solutions/`` with a notebook, planted wrong answers and declared files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from ws_course.grading.cells import is_cuda, role

NOTEBOOK = "assignment.ipynb"
WRONG = "wrong"
_HEADER = re.compile(r"^\s*(?://|#)\s*(expect|cell):\s*(.+?)\s*$", re.MULTILINE)


class AssignmentError(ValueError):
    """Say what is wrong with an assignment's folder, and what to change."""


@dataclass(frozen=True)
class WrongAnswer:
    """Hold a planted mistake: the text for a solution cell, and the reasons that may be recorded for it.

    The file starts with a comment ``// expect: race`` (fault kinds, or the name of a Python exception; several are
    separated by commas) and, where the notebook has more than one solution cell, ``// cell: its_id``.
    """

    path: Path
    expect: tuple[str, ...]
    cell: str
    text: str

    @classmethod
    def read(cls, path: Path) -> WrongAnswer:
        """Read a file of a ``wrong/`` folder; raise ``AssignmentError`` if it does not say what to expect."""
        text = path.read_text(encoding="utf-8")
        header = dict(_HEADER.findall(text))
        if "expect" not in header:
            raise AssignmentError(f"{path.name} must say which fault it plants: start it with // expect: race")
        kinds = tuple(kind.strip() for kind in header["expect"].split(","))
        return cls(path, kinds, header.get("cell", ""), text)

    def planted_in(self, notebook: NotebookNode) -> NotebookNode:
        """Return a copy of a notebook with this answer in the solution cell, below its ``%%cuda`` line."""
        notebook = nbformat.from_dict(notebook)
        cell = self.place(notebook)
        first = cell.source.lstrip().splitlines()[0]
        cell.source = f"{first}\n{self.text}" if is_cuda(first) else self.text
        return notebook

    def place(self, notebook: NotebookNode) -> NotebookNode:
        """Return the solution cell that this answer is for; raise ``AssignmentError`` if there is not just one."""
        cells = [
            c for c in notebook.cells if role(c) == "solution" and is_cuda(c.source) == (self.path.suffix == ".cu")
        ]
        cells = [c for c in cells if self.cell in ("", c.metadata.nbgrader.grade_id)]
        if len(cells) != 1:
            raise AssignmentError(
                f"{self.path.name} could stand in {len(cells)} cells: name one with // cell: the_id_of_the_cell"
            )
        return cells[0]


@dataclass(frozen=True)
class Assignment:
    """Name one folder of ``solutions/``."""

    folder: Path

    @property
    def name(self) -> str:
        """Return the folder's name, which is the assignment's name everywhere."""
        return self.folder.name

    @cached_property
    def notebook(self) -> NotebookNode:
        """Return the notebook with the solutions in it; change a :meth:`copy`, not this one."""
        return nbformat.read(self.folder / NOTEBOOK, as_version=4)

    def copy(self) -> NotebookNode:
        """Return a copy of the notebook to change."""
        return nbformat.from_dict(self.notebook)

    @cached_property
    def wrong_answers(self) -> tuple[WrongAnswer, ...]:
        """Return the planted mistakes, by file name."""
        return tuple(WrongAnswer.read(p) for p in sorted((self.folder / WRONG).glob("*.*")))

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that are handed out with the notebook: those its metadata declares, ``ws_course.files``.

        Raises ``AssignmentError`` for a declared file that is missing and for a file that nobody declared: what lies
        in the folder by accident must not reach a learner.
        """
        declared = tuple(self.notebook.metadata.get("ws_course", {}).get("files", ()))
        there = {
            p.relative_to(self.folder).as_posix()
            for p in self.folder.rglob("*")
            if p.is_file() and not {WRONG, ".ipynb_checkpoints", "__pycache__"} & set(p.relative_to(self.folder).parts)
        }
        there.discard(NOTEBOOK)
        for name in sorted(set(declared) - there):
            raise AssignmentError(f"{self.name} declares {name}, which is not in its folder")
        for name in sorted(there - set(declared)):
            raise AssignmentError(
                f"{self.name}/{name} is not declared: to hand it out, add it to the notebook's metadata as "
                "ws_course.files; else remove it"
            )
        return declared


def find_all(root: Path) -> tuple[Assignment, ...]:
    """Return the assignments below a ``solutions/`` folder, in order."""
    return tuple(Assignment(path.parent) for path in sorted(root.glob(f"*/{NOTEBOOK}")))
