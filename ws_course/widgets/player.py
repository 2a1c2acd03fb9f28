"""Play a timeline: a moving cursor, what every warp does now, and a ring whose slots fill and empty.

All data is inside the widget and everything moves in the browser, so a player needs no kernel. It is displayed as HTML
that brings the data, the script and a picture along, not as a widget view: a page exported from a notebook shows
widget views only with scripts from a content delivery network, while this plays anywhere a script may run (JupyterLab
after the kernel has gone, an exported page without a network, nbviewer), and leaves the picture where none may
(GitHub, a notebook that is not trusted yet). It is a widget all the same: inside a ``VBox`` beside other widgets
the live view is used, and :meth:`Player.show` gives that another timeline.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from html import escape
from pathlib import Path

import anywidget
import traitlets

from ws_course.runtime.result import Span
from ws_course.trace.slots import UNKNOWN, loads_land, slots
from ws_course.trace.timeline import TICKS, Timeline
from ws_course.viz import figure, palette, timeline_height
from ws_course.viz import timeline as draw
from ws_course.viz.figures import DPI, Picture, compact, png
from ws_course.viz.provenance import Origin, Provenance
from ws_course.viz.ring import STATES
from ws_course.viz.spans import ORDER_AXIS, rows

_SCRIPT, _STYLE = (Path(__file__).with_suffix(suffix) for suffix in (".js", ".css"))
_WIDTH = 9.0  # inches of the picture
# The largest whole number that JavaScript holds exactly.
_LARGEST = 2**53 - 1

# One warp and several warps.
_VERBS = {
    "load": ("loads", "load"),
    "compute": ("computes", "compute"),
    "store": ("stores", "store"),
    "wait": ("waits", "wait"),
}
# What a state is called, and the state of the figures whose colour it has.
_STATES = {
    "empty": ("empty", "empty"),
    "filling": ("filling", "filling"),
    "landing": ("in flight or full", "filling"),
    "full": ("full", "full"),
    "draining": ("being read", "draining"),
    UNKNOWN: ("not in this piece", "empty"),
}
_UNSEEN = (
    "Inferred from the spans, which do not say when a copy lands: a slot counts as full, and full completes its phase, "
    "once the first reader has passed the barrier."
)
_LANDED = "Inferred from the spans: a slot is full, and full completes its phase, when its load spans end."
_PIECE = "What a slot held before its first tile here, and what came after its last one, the piece does not say."
_GAP = "A wait without a name is a gap between marked work: one wait or several, and what tracing takes."
_UNNAMED = "(a gap without a name)"


class Player(anywidget.AnyWidget):
    """Play, step through, scrub and zoom a timeline, with the ring of its kernel below.

    ``blocks`` keeps only those blocks; ``None`` keeps all. ``title`` replaces the timeline's. ``roles`` names the roles
    of warps that their work alone does not tell: ``{1: "sender"}``. What the ring shows is
    inferred by the rules of :mod:`ws_course.trace.slots`. Keys: space plays and pauses, the arrows step to the next
    event, with shift to the next tile, + and − zoom, Home and End go to the ends; the pointer moves the cursor, and
    zooms with the wheel and ctrl. On a page where nothing moves the whole timeline is shown as a picture. Raises
    ``ValueError`` if no span is left, for times that JavaScript cannot hold, and for a label that does not open with a
    kind of source, such as "recorded (…)".
    """

    _esm = _SCRIPT
    _css = _STYLE
    data = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        timeline: Timeline,
        blocks: Collection[int] | None = None,
        title: str | None = None,
        roles: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__()
        self._blocks, self._title, self._roles = blocks, title, roles or {}
        self.show(timeline)

    def show(self, timeline: Timeline) -> None:
        """Play another timeline, of the same blocks and under the same title if one was given."""
        self.data = _data(timeline, self._blocks, self._title or timeline.title, self._roles)
        self.timeline = timeline

    def draw(self) -> Picture:
        """Return the picture of the whole timeline, for pages where nothing moves."""
        spans, unit = self.timeline.spans, self.timeline.unit
        title = "\n".join(filter(None, (self.data["title"], self.data["piece"])))
        picture, ax = figure(_WIDTH, timeline_height(spans, self._blocks) + 0.2 * title.count("\n"))
        provenance = Provenance(_origin(self.timeline), self.timeline.label)
        draw(ax, spans, provenance=provenance, blocks=self._blocks, unit=unit, title=title, roles=self._roles)
        return picture

    def __repr__(self) -> str:
        return f"<Player: {self.data['title']}>"

    def _repr_mimebundle_(self, include=None, exclude=None, **_):
        return {"text/plain": repr(self), "text/html": self.html()}, {}

    def html(self) -> str:
        """Return HTML that plays the timeline by itself, and is a picture where no script runs."""
        picture = self.draw()
        image = compact(base64.b64encode(png(picture)).decode("ascii"))
        # "<" would let a name in the data end the script.
        data = json.dumps(self.data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        # Not random: the same timeline gives the same page.
        name = hashlib.sha256(data.encode()).hexdigest()[:16]
        still = f'<img alt="{escape(picture.describe())}" width="{round(_WIDTH * DPI)}" src="data:image/png;base64,'
        return (
            f'<div class="ws-player-place" data-player="{name}">{still}{image}"></div>'
            f"<style>{_STYLE.read_text('utf-8')}</style>"
            f'<script type="module">{_SCRIPT.read_text("utf-8")}\nmountAll("{name}", {data});</script>'
        )


def _origin(timeline: Timeline) -> Origin:
    for origin in Origin:
        if timeline.label.startswith(origin.value):
            return origin
    raise ValueError(
        f"a timeline must say where it comes from: its label is {timeline.label!r}, "
        f"and should open with one of {', '.join(repr(origin.value) for origin in Origin)}"
    )


def _data(timeline: Timeline, blocks: Collection[int] | None, title: str, roles: Mapping[int, str]) -> dict:
    """Return all that the script needs, as plain JSON: colours, rows, spans by row, slots by block."""
    _origin(timeline)
    order = rows(timeline.spans, blocks, roles)
    if not order:
        raise ValueError(f"no spans in blocks {blocks}: run with trace=True, and pick blocks that the grid has")
    by_row: dict[tuple[int, int], list[Span]] = defaultdict(list)
    shown = sorted({block for block, _, _ in order})
    for span in sorted(timeline.spans, key=lambda span: (span.start, span.end)):
        if span.block in shown:
            by_row[span.block, span.warp].append(span)
    kept = [span for own in by_row.values() for span in own]
    if unknown := sorted({span.work for span in kept} - set(palette.WORK)):
        raise ValueError(f"no colour for the work {unknown}: a span is one of {sorted(palette.WORK)}")
    start, end = min(span.start for span in kept), max(span.end for span in kept)
    if end > _LARGEST:
        raise ValueError(f"times up to {end} do not fit into JavaScript's numbers: subtract the first start from all")
    ticks, modelled = timeline.unit == TICKS, loads_land(timeline)
    awaited = {span: _awaited(span, span.warp in roles, modelled) for span in kept}
    notes = [_LANDED if modelled else _UNSEEN] if timeline.stages else []
    notes += [_PIECE] if timeline.stages and timeline.is_piece else []
    notes += [_GAP] if _UNNAMED in awaited.values() else []
    return {
        "title": title,
        "piece": _piece(timeline, kept),
        "label": timeline.label,
        "unit": "tick" if ticks else timeline.unit,
        "axis": ORDER_AXIS if ticks else f"time ({timeline.unit})",
        "start": start,
        "end": end,
        "rows": [
            {
                "block": block,
                "role": role,
                "warp": warp,
                "name": _name(timeline, role, warp),
                "spans": [[s.work, s.start, s.end, s.item, awaited[s]] for s in by_row[block, warp]],
            }
            for block, role, warp in order
        ],
        "modelled": modelled,
        "tiles": _tiles(kept),
        "rings": [{"block": block, "slots": _histories(timeline, block, start)} for block in shown if timeline.stages],
        "note": " ".join(notes),
        "works": {
            work: {
                "colour": colour,
                "text": palette.text_on(colour),
                "hatched": bool(palette.HATCH[work]),
                "letter": palette.LETTER[work],
                "verbs": _VERBS[work],
            }
            for work, colour in palette.WORK.items()
            if any(span.work == work for span in kept)
        },
        "states": {
            state: {
                "colour": STATES[like][0],
                "text": palette.text_on(STATES[like][0]),
                "hatched": bool(STATES[like][1]),
                "words": words,
            }
            for state, (words, like) in _STATES.items()
        },
        "page": {
            "paper": palette.PAPER,
            "ink": palette.INK,
            "muted": palette.MUTED,
            "rule": palette.RULE,
            "alarm": palette.ALARM,
            "focus": palette.LOADER,
        },
    }


def _name(timeline: Timeline, role: str, warp: int) -> str:
    """Name a row. A model has no warps: its rows are the loads into one slot (a buffer), or a kind of work."""
    if not loads_land(timeline):
        return f"warp {warp}"
    return f"{'slot' if timeline.stages else 'buffer'} {warp}" if role == "loader" else ""


def _awaited(span: Span, named: bool, modelled: bool) -> str:
    """Return what is waited for without the call: "full[0]" of "mbarrier.try_wait.parity `full[0]`".

    What a gap is called was told by the work of its warp; a warp that was ``named`` does not tell it.
    """
    if span.work != "wait":
        return ""
    quoted = re.search(r"`([^`]+)`", span.name)
    name = quoted[1] if quoted else "" if named else span.name.strip()
    return name if name or modelled else _UNNAMED


def _piece(timeline: Timeline, spans: Collection[Span]) -> str:
    """Say which tiles of its CTAs a piece of a run shows, counted from 0, and their numbers; "" for a whole run."""
    if not timeline.is_piece:
        return ""
    items = {s.item for s in spans if s.item >= 0}
    blocks = sorted({s.block for s in spans})
    kept = {}
    for block in blocks:
        first, count = timeline.before(block), len({s.item for s in spans if s.block == block and s.item >= 0})
        kept[block] = f"tiles {first} to {first + count - 1} of"
    if len(set(kept.values())) > 1:
        which = ", ".join(f"{tiles} CTA {block}" for block, tiles in kept.items())
    else:
        which = f"{kept[blocks[0]]} {'each CTA' if len(blocks) > 1 else f'CTA {blocks[0]}'}"
    return f"{which} (from 0), numbered {min(items)} to {max(items)}"


def _tiles(spans: Collection[Span]) -> list[int]:
    """Return the moments at which a tile's product begins, or its load where nothing is computed."""
    for work in ("compute", "load", "store"):
        begins: dict[tuple[int, int], int] = {}
        for span in spans:
            if span.work == work and span.item >= 0:
                begins[span.block, span.item] = min(span.start, begins.get((span.block, span.item), span.start))
        if begins:
            return sorted(set(begins.values()))
    return []


def _histories(timeline: Timeline, block: int, start: int) -> list[list[list]]:
    """Return for each slot of a block its states as [from, state, tile, phase of full, phase of empty]."""
    histories = [[[start, UNKNOWN if timeline.before(block) else "empty", -1, 0, 0]] for _ in range(timeline.stages)]
    for e in slots(timeline):
        if e.block == block:
            histories[e.slot].append([e.time, e.state, e.item, e.full, e.empty])
    return histories
