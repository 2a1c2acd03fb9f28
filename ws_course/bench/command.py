"""The command line of what records: where the file goes, and one sentence on a machine that cannot."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from ws_course.runtime import BackendError


def run(
    module: str,
    purpose: str,
    record: Callable[[str | None], None],
    arguments: Sequence[str] | None = None,
    *,
    target: str = "PATH",
) -> int:
    """Call ``record`` with the path on the command line, or ``None``, and return an exit status.

    ``arguments`` are those after ``python -m module`` (default: the process's); ``target`` is what the path is called.
    The status is 1 where ``record`` raises ``BackendError``: this machine has no GPU. ``SystemExit`` ends the program
    for --help, with 0, and for anything that cannot be read, with 2.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=purpose)
    parser.add_argument("path", nargs="?", metavar=target, help="where to write (default: among the package's records)")
    path = parser.parse_args(arguments).path
    try:
        record(path)
    except BackendError as error:
        print(f"{module}: {error}", file=sys.stderr)
        return 1
    return 0
