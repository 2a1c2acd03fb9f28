"""Draw figures: every function takes data and Axes, says where its numbers come from, and never runs a kernel."""

from ws_course.viz.bars import Bar, bars_with_spread, ladder
from ws_course.viz.faults import fault_html
from ws_course.viz.figures import figure, save
from ws_course.viz.lines import Curve, occupancy
from ws_course.viz.provenance import Provenance, label
from ws_course.viz.ring import stage_diagram
from ws_course.viz.roof import Point, limit_ms, roofline
from ws_course.viz.spans import timeline, timeline_height

__all__ = [
    "Bar",
    "Curve",
    "Point",
    "Provenance",
    "bars_with_spread",
    "fault_html",
    "figure",
    "label",
    "ladder",
    "limit_ms",
    "occupancy",
    "roofline",
    "save",
    "stage_diagram",
    "timeline",
    "timeline_height",
]
