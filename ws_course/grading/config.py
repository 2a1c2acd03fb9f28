"""nbgrader's settings for this course: where things lie, how exercises are made and how they are graded."""

from __future__ import annotations

from pathlib import Path

from nbgrader import preprocessors as nbgrader
from traitlets.config import Config

from ws_course.grading.assignment import WRONG
from ws_course.grading.autograde import AddMissingTests, GradeInFreshProcess
from ws_course.grading.release import WITH_TESTS, WITHOUT_TESTS

WORK = "gradebook"  # submissions, grades and feedback: personal data, never part of the project


def configure(config: Config, root: Path) -> None:
    """Set up nbgrader for a course whose ``solutions/`` and ``exercises/`` lie below ``root``."""
    course = config.CourseDirectory
    course.root = str(root)
    course.course_id = "warp-specialization"
    course.source_directory = "solutions"
    course.release_directory = "exercises"
    course.submitted_directory = f"{WORK}/submitted"
    course.autograded_directory = f"{WORK}/autograded"
    course.feedback_directory = f"{WORK}/feedback"
    config.ZipCollectApp.downloaded_directory = f"{WORK}/downloaded"
    config.ExportPlugin.to = f"{WORK}/grades.csv"
    course.db_url = f"sqlite:///{root / WORK / 'gradebook.db'}"
    course.ignore = [WRONG, ".ipynb_checkpoints", "__pycache__", "*.pyc"]

    config.GenerateAssignment.preprocessors = [*WITH_TESTS, nbgrader.SaveCells, *WITHOUT_TESTS]
    config.Autograde.sanitize_preprocessors = [
        nbgrader.ClearOutput,
        nbgrader.DeduplicateIds,
        AddMissingTests,
        nbgrader.OverwriteKernelspec,
        nbgrader.OverwriteCells,
        nbgrader.CheckCellMetadata,
    ]
    config.Autograde.autograde_preprocessors = [
        GradeInFreshProcess,
        nbgrader.LimitOutput,
        nbgrader.SaveAutoGrades,
        nbgrader.AssignLatePenalties,
        nbgrader.CheckCellMetadata,
    ]
