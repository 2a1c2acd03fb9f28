"""What nbgrader needs to know about this course; see docs/grading.md. Run nbgrader in this folder."""

from pathlib import Path

from ws_course.grading.config import configure

configure(get_config(), Path(__file__).parent)  # noqa: F821 (nbgrader defines get_config)
