"""Timelines in files: small JSON records that say on which device, when, and by which clock they were measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from ws_course.bench.record import RECORDS, slug
from ws_course.runtime import Span
from ws_course.trace.timeline import TICKS, Timeline

SCHEMA = 1
FOLDER = RECORDS / "traces"

_OWN = ("schema", "title", "label", "unit", "stages", "kernel", "params", "warps")


def save(timeline: Timeline, path: str | Path) -> Path:
    """Write a timeline as JSON, one warp a line, and return the path.

    Raises ``ValueError`` for times of which nobody could say later where and when they were measured: ``facts`` must
    hold "device" (with its "name") and "date".
    """
    if timeline.unit != TICKS:
        _recorded(timeline.facts)
    head = {
        "schema": SCHEMA,
        "title": timeline.title,
        "label": timeline.label,
        "unit": timeline.unit,
        "stages": timeline.stages,
        "kernel": timeline.kernel,
        "params": dict(timeline.params),
        **{name: value for name, value in timeline.facts.items() if name not in _OWN},
    }
    lines = ",\n".join("    " + json.dumps(line, separators=(",", ":")) for line in _warps(timeline.spans))
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{json.dumps(head, indent=2)[:-2]},\n  "warps": [\n{lines}\n  ]\n}}\n', encoding="utf-8")
    return path


def read(path: str | Path) -> Timeline:
    """Read a timeline; its label says "recorded (device, date)" unless it is an emulated order.

    Raises ``ValueError`` for another schema.
    """
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no timeline of schema {SCHEMA}: record it again with `python -m ws_course.trace`")
    facts = {name: value for name, value in data.items() if name not in _OWN}
    clock = facts.get("clock", {})
    for of_block in {"sms", "skipped"} & clock.keys():  # JSON has no numbers as keys
        clock[of_block] = {int(block): value for block, value in clock[of_block].items()}
    if "before" in facts:
        facts["before"] = {int(block): tiles for block, tiles in facts["before"].items()}
    return Timeline(
        title=data["title"],
        spans=tuple(_spans(data["warps"])),
        label=data["label"] if data["unit"] == TICKS else _recorded(facts),
        unit=data["unit"],
        stages=data["stages"],
        kernel=data["kernel"],
        params=data["params"],
        facts=facts,
    )


def load(kernel: str, device: str | None = None) -> Timeline:
    """Return the packaged timeline of a kernel: of ``device`` ("NVIDIA H200"), else the latest one.

    Raises ``FileNotFoundError`` with the timelines that exist.
    """
    wanted = f"{slug(device)}_{kernel}.json" if device else f"*_{kernel}.json"
    found = [read(path) for path in sorted(FOLDER.glob(wanted))]
    if not found:
        have = ", ".join(sorted(path.stem for path in FOLDER.glob("*.json"))) or "none"
        raise FileNotFoundError(f"there is no recorded timeline {wanted}: there are {have}")
    return max(found, key=lambda timeline: str(timeline.facts["date"]))


def file_name(timeline: Timeline) -> str:
    """Return the name under which :func:`load` finds a timeline."""
    return f"{slug(str(timeline.facts['device']['name']))}_{timeline.kernel}.json"


def _recorded(facts: Mapping[str, object]) -> str:
    device, date = facts.get("device"), facts.get("date")
    if not (isinstance(device, Mapping) and device.get("name") and date):
        raise ValueError("measured times need a device and a date to be kept: facts={'device': {'name': …}, 'date': …}")
    return f"recorded ({device['name']}, {date})"


def _warps(spans: Iterable[Span]) -> list[dict]:
    warps: dict[tuple[int, int], list] = {}
    for s in spans:
        warps.setdefault((s.block, s.warp), []).append([s.work, s.start, s.end, s.item, s.name])
    return [{"block": block, "warp": warp, "spans": own} for (block, warp), own in sorted(warps.items())]


def _spans(warps: Iterable[Mapping]) -> Iterable[Span]:
    for one in warps:
        for work, start, end, item, name in one["spans"]:
            yield Span(one["block"], one["warp"], work, start, end, item, name)
