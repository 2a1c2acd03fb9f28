"""The process that grades one notebook: it runs the course's own cells and compiles the learner's C++, nothing else.

It reads ``{"nonce", "cells": [{"id", "role", "source"}]}`` from standard input and answers one JSON line for each cell,
as soon as it is done, with the nonce in it. A learner's Python never runs here: a cell of plain Python that the learner
had to write runs in yet another process, and only numbers, text and lists of them come back (``answers``).
"""

from __future__ import annotations

import json
import re
import sys
import traceback

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from ws_course.grading import answers
from ws_course.grading.cells import is_cuda
from ws_course.grading.isolated import private_output
from ws_course.grading.points import NotPassed

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Shell(InteractiveShell):
    """Run cells without printing tracebacks: errors go into the answer, once."""

    def showtraceback(self, *_args: object, **_options: object) -> None:
        """Print nothing."""

    showsyntaxerror = showtraceback


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    way_back = private_output()
    shell = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    for cell in request["cells"]:
        answer = run_cell(shell, cell["role"], cell["source"])
        way_back.write(json.dumps({"nonce": request["nonce"], "id": cell["id"], **answer}) + "\n")
        way_back.flush()


def run_cell(shell: InteractiveShell, role: str, source: str) -> dict:
    """Run one cell: return ``ok``, ``reason`` (a fault kind or the exception's name) and its ``outputs`` (nbformat)."""
    if role == "solution" and not is_cuda(source):
        return _bind_answers(shell, source)
    if role == "solution":
        # Called outright: where IPython saw no magic (an odd space before the %%), it would run the text as Python.
        line, _, body = source.lstrip().partition("\n")
        source = f"get_ipython().run_cell_magic('cuda', {line.removeprefix('%%cuda')!r}, {body!r})"
    with capture_output() as captured:
        result = shell.run_cell(source, store_history=False)
    error = result.error_before_exec or result.error_in_exec
    # nbgrader takes stderr for a failure, so a warning in a cell that passed is shown as plain output
    printed = captured.stdout + captured.stderr
    outputs = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
    for shown in captured.outputs:
        text = {kind: value for kind, value in shown.data.items() if isinstance(value, str)}
        outputs.append({"output_type": "display_data", "data": text, "metadata": {}})
    if error is None:
        return {"ok": True, "reason": "", "outputs": outputs}
    return _failed(error, outputs)


def _failed(error: BaseException, outputs: list[dict]) -> dict:
    reason = error.reason if isinstance(error, NotPassed) else type(error).__name__
    lines = [str(error)] if isinstance(error, NotPassed) else traceback.format_exception_only(error)
    shown = {"output_type": "error", "ename": reason, "evalue": _COLOUR.sub("", str(error)), "traceback": lines}
    return {"ok": False, "reason": reason, "outputs": [*outputs, shown]}


def _bind_answers(shell: InteractiveShell, source: str) -> dict:
    try:
        values = answers.evaluate(source)
    except answers.NoAnswer as error:
        return _failed(error, [])
    for name, value in values.items():
        # what the course's cells defined stays: an answer cannot replace the value it is compared with
        shell.user_ns.setdefault(name, value)
    return {"ok": True, "reason": "", "outputs": []}


if __name__ == "__main__":
    main()
