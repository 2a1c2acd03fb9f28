"""Where the content of a figure comes from; no figure is drawn without saying it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.text import Annotation

from ws_course.viz import palette


class Origin(StrEnum):
    """Name the kinds of sources; the value opens the stamp on the figure."""

    MEASURED = "measured now"
    RECORDED = "recorded"
    MODELLED = "modelled"
    EMULATED = "emulated order"
    SCHEMATIC = "schematic, not to scale"


class Labelled(Protocol):
    """Anything with a ``label`` such as "recorded (NVIDIA H200, 2026-11-29)": a bench record."""

    label: str


@dataclass(frozen=True)
class Provenance:
    """Say where numbers come from. Make one with a class method; join two with ``&`` when a figure mixes sources."""

    origin: Origin
    text: str
    others: tuple[Provenance, ...] = ()

    @classmethod
    def measured(cls, device: str) -> Provenance:
        """Mark numbers measured in this session on ``device`` (its readable name)."""
        return cls(Origin.MEASURED, f"measured now ({_required(device, 'the name of the device')})")

    @classmethod
    def recorded(cls, record: Labelled) -> Provenance:
        """Mark numbers of a record, which names its device and date, or says itself that it was measured now."""
        origin = Origin.MEASURED if getattr(record, "live", False) else Origin.RECORDED
        return cls(origin, _required(record.label, "the label of the record"))

    @classmethod
    def of(cls, source: Labelled) -> Provenance:
        """Take the label of a timeline, or of anything whose label opens with one of the words of :class:`Origin`."""
        text = _required(source.label, "a label")
        for origin in Origin:
            if text.startswith(origin):
                return cls(origin, text)
        raise ValueError(f"{text!r} does not say where numbers come from: begin with {', '.join(map(repr, Origin))}")

    @classmethod
    def modelled(cls, text: str) -> Provenance:
        """Mark numbers computed from a formula; ``text`` names the model in a few words."""
        return cls(Origin.MODELLED, f"modelled ({_required(text, 'the name of the model')})")

    @classmethod
    def emulated(cls) -> Provenance:
        """Mark the order of events in the emulator: an order, not a time."""
        return cls(Origin.EMULATED, "emulated order")

    @classmethod
    def schematic(cls) -> Provenance:
        """Mark a drawing that explains and holds no number."""
        return cls(Origin.SCHEMATIC, "schematic, not to scale")

    def __and__(self, other: Provenance) -> Provenance:
        return Provenance(self.origin, self.text, (*self.others, other))

    def __str__(self) -> str:
        return " · ".join(dict.fromkeys((self.text, *map(str, self.others))))


def _required(text: str, what: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"a figure must say where its numbers come from: give {what}, not {text!r}")
    return text.strip()


def label(ax: Axes, provenance: Provenance, below_ticks: int = 1) -> Annotation:
    """Stamp ``provenance`` under the lower right corner of ``ax``; raise ``TypeError`` for anything else.

    ``below_ticks`` is the number of lines of the tick labels of the x axis, which the stamp stays clear of.
    """
    if not isinstance(provenance, Provenance):
        raise TypeError(
            f"provenance must be a Provenance, not {provenance!r}: use Provenance.measured(device), .recorded(record), "
            ".modelled(text), .emulated() or .schematic()"
        )
    below = 5
    if ax.axison and ax.xaxis.get_visible():
        below += (2 + 12 * below_ticks) * bool(len(ax.get_xticks())) + 15 * bool(ax.get_xlabel())
    stamp = ax.annotate(
        str(provenance),
        xy=(1, 0),
        xycoords="axes fraction",
        xytext=(0, -below),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=palette.SMALL_SIZE,
        fontstyle="italic",
        color=palette.MUTED,
        annotation_clip=False,
    )
    stamp.set_gid("provenance")
    return stamp
