"""One line at the top of a lesson: on what its kernels will run, and where its times come from."""

from __future__ import annotations

from html import escape

from ws_course.bench.record import load
from ws_course.device import Machine, this_machine

# Colours with an alpha channel and inherited text: the same line reads on a light and on a dark page.
_STYLE = "border-left:4px solid {};background:{};padding:0.35em 0.8em;max-width:60em"
_GOOD, _BAD = ("#009E73", "rgba(0,158,115,0.10)"), ("#B3261E", "rgba(179,38,30,0.12)")


class Badge:
    """Say on what kernels run in this session, and where times come from: ``Badge()`` as the last value of a cell.

    ``machine`` defaults to this one. The text differs between machines, so ``tests/nbval_sanitize.cfg`` hides it from
    the comparison of stored outputs.
    """

    def __init__(self, machine: Machine | None = None) -> None:
        self.machine = machine or this_machine()

    @property
    def ok(self) -> bool:
        """Return whether kernels can run here at all."""
        return self.machine.has_gpu or self.machine.has_emulator

    def parts(self) -> tuple[str, str, str]:
        """Return three short texts: how kernels run, where times come from, what to do next."""
        if self.machine.has_gpu:
            how = f"live on {self.machine}"
            times = f"times: measured now where a figure says so, else {_recorded()}"
        elif self.machine.has_emulator:
            how, times = "in the emulator on the CPU", f"times: {_recorded()}"
        else:
            return "not here yet", "", "run `ws-course doctor` in a terminal: it names what is missing and the fix"
        return how, times, ""

    def __repr__(self) -> str:
        how, *rest = self.parts()
        return "; ".join([f"kernels run {how}", *filter(None, rest)])

    def _repr_html_(self) -> str:
        how, *rest = (escape(part) for part in self.parts())
        edge, ground = _GOOD if self.ok else _BAD
        words = " · ".join([f"Kernels run <b>{how}</b>", *filter(None, rest)])
        return f'<div class="ws-badge" style="{_STYLE.format(edge, ground)}">{words}</div>'


def _recorded() -> str:
    try:
        return load("tile-ladder").label
    except FileNotFoundError:
        return "none recorded yet"
