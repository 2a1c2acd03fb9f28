"""Generate ``exercises/`` from ``solutions/``, or check that they agree: ``python -m ws_course.grading.generate``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat

from ws_course.grading.assignment import NOTEBOOK, Assignment, AssignmentError, find_all
from ws_course.grading.release import exercise


def release(assignment: Assignment) -> dict[str, bytes]:
    """Return the files of an exercise by their path in its folder; raises ``AssignmentError``."""
    notebook = exercise(assignment.copy())
    files = {name: (assignment.folder / name).read_bytes() for name in assignment.files}
    return {NOTEBOOK: nbformat.writes(notebook).encode() + b"\n", **files}


def drift(solutions: Path, exercises: Path) -> dict[Path, bytes | None]:
    """Return what has to change in ``exercises``: the new content of each path, or None for what must go."""
    wanted = {
        exercises / assignment.name / name: content
        for assignment in find_all(solutions)
        for name, content in release(assignment).items()
    }
    there = {p for p in exercises.rglob("*") if p.is_file() and ".ipynb_checkpoints" not in p.parts}
    stale: dict[Path, bytes | None] = {path: None for path in sorted(there - set(wanted))}
    return stale | {p: content for p, content in wanted.items() if not p.exists() or p.read_bytes() != content}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the exercises, or with ``--check`` only compare; return 0, or 1 when they differ or cannot be made."""
    parser = argparse.ArgumentParser("ws_course.grading.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if exercises are out of date")
    parser.add_argument("--solutions", type=Path, default=Path("solutions"), help="where the sources are")
    parser.add_argument("--exercises", type=Path, default=Path("exercises"), help="where the exercises go")
    asked = parser.parse_args(arguments)
    if not find_all(asked.solutions):
        print(
            f"{asked.solutions} holds no assignment: run this in the project's folder, or say --solutions",
            file=sys.stderr,
        )
        return 1
    try:
        changes = drift(asked.solutions, asked.exercises)
    except (AssignmentError, RuntimeError) as mistake:
        print(f"cannot make the exercises: {mistake}", file=sys.stderr)
        return 1
    for path, content in changes.items():
        print(f"{'remove' if content is None else 'write'} {path}")
        if not asked.check:
            _apply(path, content, asked.exercises)
    if asked.check and changes:
        print("exercises differ from solutions: run python -m ws_course.grading.generate and commit the result")
        return 1
    print("exercises agree with solutions")
    return 0


def _apply(path: Path, content: bytes | None, root: Path) -> None:
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return
    path.unlink()
    for folder in path.parents:
        if folder == root or any(folder.iterdir()):
            break
        folder.rmdir()


if __name__ == "__main__":
    sys.exit(main())
