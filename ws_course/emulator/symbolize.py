"""Turn a program counter of a compiled kernel into the kernel file's line, by the compiler's DWARF tables."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from pathlib import Path

from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile


class Lines:
    """Look up lines in one compiled kernel; ``file`` is the kernel's name as ``#line`` gave it."""

    def __init__(self, library: Path, file: str):
        self._file = Path(file).name
        self._rows: list[tuple[int, str, int]] = []
        self._inlined: list[tuple[int, int, int, int, str, int]] = []  # low, high, -depth, size, file, line
        with library.open("rb") as f:
            dwarf = ELFFile(f).get_dwarf_info()
            for unit in dwarf.iter_CUs():
                program = dwarf.line_program_for_CU(unit)
                names = _file_names(program)
                for entry in program.get_entries():
                    if entry.state is not None:
                        s = entry.state
                        self._rows.append((s.address, "" if s.end_sequence else names.get(s.file, ""), s.line))
                self._collect(unit, unit.get_top_DIE(), names, dwarf.range_lists(), 0)
        self._rows.sort(key=lambda row: row[0])
        self._addresses = [row[0] for row in self._rows]

    def _collect(self, unit, die, names, ranges, depth) -> None:
        for child in die.iter_children():
            if child.tag == "DW_TAG_inlined_subroutine" and "DW_AT_call_line" in child.attributes:
                file = names.get(child.attributes["DW_AT_call_file"].value, "")
                for low, high in _ranges(unit, child, ranges):
                    self._inlined.append(
                        (low, high, -depth, high - low, file, child.attributes["DW_AT_call_line"].value)
                    )
            if child.has_children:
                self._collect(unit, child, names, ranges, depth + 1)

    def chain(self, addresses: Iterable[int]) -> list[int]:
        """Return the lines of the kernel file on the way from ``addresses`` (innermost first) up to the kernel."""
        lines: list[int] = []
        for address in addresses:
            address -= 1  # a return address points behind the call
            at = bisect.bisect_right(self._addresses, address) - 1
            if at < 0:
                continue
            _, file, line = self._rows[at]
            found = [line] if file == self._file and line else []
            around = sorted((d, size, f, n) for low, high, d, size, f, n in self._inlined if low <= address < high)
            found += [n for _, _, f, n in around if f == self._file]
            lines += [n for n in found if not lines or n != lines[-1]]
        return lines

    def line(self, pc: int, callers: Iterable[int] = ()) -> int:
        """Return the innermost line of the kernel file that ``pc`` belongs to (0: none).

        Code of a header counts as the line that called it: first through inlining, then through ``callers``, the
        return addresses up the stack.
        """
        lines = self.chain((pc, *callers))
        return lines[0] if lines else 0


def _file_names(program) -> dict[int, str]:
    """Map the file numbers of a line program to names without folders (from 0 in DWARF 5, else from 1)."""
    first = 0 if program["version"] >= 5 else 1
    return {
        i + first: Path(e.name.decode() if isinstance(e.name, bytes) else str(e.name)).name
        for i, e in enumerate(program["file_entry"])
    }


def _ranges(unit, die, ranges) -> list[tuple[int, int]]:
    at = die.attributes
    if "DW_AT_low_pc" in at and "DW_AT_high_pc" in at:
        low, high = at["DW_AT_low_pc"].value, at["DW_AT_high_pc"]
        return [(low, high.value if high.form == "DW_FORM_addr" else low + high.value)]
    if "DW_AT_ranges" not in at or ranges is None:
        return []
    base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    offset = base.value if base else 0
    out = []
    for r in ranges.get_range_list_at_offset(at["DW_AT_ranges"].value, cu=unit):
        if isinstance(r, BaseAddressEntry):
            offset = r.base_address
        elif getattr(r, "is_absolute", False):
            out.append((r.begin_offset, r.end_offset))
        else:
            out.append((r.begin_offset + offset, r.end_offset + offset))
    return out
