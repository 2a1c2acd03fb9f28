"""Hand out exercises and grade what comes back: generated from ``solutions/``, graded in a process of its own."""

from ws_course.grading.points import NotPassed, grade

__all__ = ["NotPassed", "grade"]
