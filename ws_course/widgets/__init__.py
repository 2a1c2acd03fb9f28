"""Let the reader predict, move and look: one file per widget, each with a picture for pages where nothing moves.

Which pages those are, :mod:`ws_course.widgets.fallback` says.
"""

from ws_course.widgets.comparison import Comparison
from ws_course.widgets.model import PipelineModel
from ws_course.widgets.player import Player
from ws_course.widgets.predict import Predict
from ws_course.widgets.timeline import TimelineViewer

__all__ = ["Comparison", "PipelineModel", "Player", "Predict", "TimelineViewer"]
