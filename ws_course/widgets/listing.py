"""Show a kernel file in pieces: an excerpt with its line numbers, what changed between two files, and its tables."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import unified_diff
from html import escape

from ws_course.kernels.catalog import KernelSpec

_PRE = (
    "font-family:monospace;white-space:pre;margin:0;padding:0.5em 0.8em;line-height:1.35;font-size:88%;overflow-x:auto;"
    "background:rgba(127,127,127,0.08)"
)
_HEAD = "padding:0.2em 0.8em;font-size:85%;opacity:0.75"
# A colour and a sign in the margin: the sign is there for readers who do not see the colour.
_MARK = {"▶": "rgba(0,114,178,0.18)", "+": "rgba(0,158,115,0.20)", "-": "rgba(213,94,0,0.18)"}
_COMMENT = re.compile(r"(//.*)$")


class Listing:
    """Show the regions between anchors of a kernel file, with the file's line numbers.

    ``mark`` holds words; a line with one of them is highlighted. Raises ``KeyError`` for an anchor the file lacks.
    """

    def __init__(self, spec: KernelSpec, *anchors: str, mark: Collection[str] = ()) -> None:
        self.spec = spec
        self.regions = [_region(spec, anchor) for anchor in anchors]
        self.mark = tuple(mark)

    def __repr__(self) -> str:
        return f"// {self.spec.file}\n" + "\n\n".join("\n".join(text for _, text in region) for region in self.regions)

    def _repr_html_(self) -> str:
        pieces = []
        for region in self.regions:
            rows = [(number, "▶" if any(word in text for word in self.mark) else " ", text) for number, text in region]
            pieces.append(_rows(rows))
        return _page(self.spec.file, pieces)


class Difference:
    """Show how the regions of one kernel file differ from the same regions of another: the idea of the new file.

    Lines that only ``old`` has start with "-", lines that only ``new`` has with "+". Anchors must be in both files.
    """

    def __init__(self, old: KernelSpec, new: KernelSpec, *anchors: str) -> None:
        self.old, self.new = old, new
        self.regions = [_changes(_text(old, anchor), _text(new, anchor)) for anchor in anchors]

    def __repr__(self) -> str:
        head = f"// - {self.old.file}\n// + {self.new.file}\n"
        return head + "\n\n".join("\n".join(f"{sign} {text}".rstrip() for sign, text in r) for r in self.regions)

    def _repr_html_(self) -> str:
        pieces = [_rows([(0, sign, text) for sign, text in region]) for region in self.regions]
        return _page(f"− {self.old.file}  → + {self.new.file}", pieces)


class Tables:
    """Show the tables at the head of a kernel file: who does what (roles), and which barrier orders what (barriers)."""

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        self.tables = {name: table for name in ("Roles", "Barriers") if (table := _table(spec.source, name))}

    def __repr__(self) -> str:
        return self._repr_markdown_()

    def _repr_markdown_(self) -> str:
        parts = [f"`{self.spec.file}`"]
        for name, (head, *rows) in self.tables.items():
            lines = [f"**{name}**", "", _row(head), _row(["---"] * len(head)), *map(_row, rows)]
            parts.append("\n".join(lines))
        return "\n\n".join(parts)


def _text(spec: KernelSpec, anchor: str) -> list[str]:
    return spec.excerpt(anchor).splitlines()


def _changes(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """Return every line with its sign: "-", "+" or " " for a line that both have."""
    if old == new:
        return [(" ", line) for line in old]
    # All lines are context, so there is one hunk; its head is three lines.
    changes = list(unified_diff(old, new, n=len(old) + len(new), lineterm=""))[3:]
    return [(line[0], line[1:]) for line in changes]


def _region(spec: KernelSpec, anchor: str) -> list[tuple[int, str]]:
    lines = _text(spec, anchor)
    first = spec.source.splitlines().index(f"// [{anchor}]") + 2
    return list(enumerate(lines, start=first))


def _rows(rows: list[tuple[int, str, str]]) -> str:
    width = max((len(str(number)) for number, _, _ in rows), default=1)
    html = []
    for number, sign, text in rows:
        place = f"<span style='opacity:0.5'>{number:>{width}}</span> " if number else ""
        code = _COMMENT.sub(r"<i style='opacity:0.7'>\1</i>", escape(text, quote=False))
        line = f"{sign} {place} {code}"
        ground = _MARK.get(sign)
        html.append(f"<span style='background:{ground}'>{line}</span>" if ground else line)
    return f'<pre style="{_PRE}">{chr(10).join(html)}</pre>'


def _page(head: str, pieces: list[str]) -> str:
    return f'<div class="ws-listing"><div style="{_HEAD}">{escape(head)}</div>{"".join(pieces)}</div>'


def _table(source: str, name: str) -> list[list[str]]:
    """Return the rows of the table that starts on the line ``// name  | … |`` of the file's head."""
    rows: list[list[str]] = []
    for line in source.splitlines():
        match = re.fullmatch(r"//\s*(\w*)\s*\|(.*)\|\s*", line)
        if match and (match[1] == name or (rows and not match[1])):
            rows.append([cell.strip() for cell in match[2].split(" | ")])
        elif rows:
            break
    return rows


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('__', chr(92) + '_' * 2) for cell in cells)} |"
