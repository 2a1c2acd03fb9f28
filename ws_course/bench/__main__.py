"""Measure one set, or all, on this machine's GPU and write records: ``python -m ws_course.bench [SET [PATH]]``."""

import argparse
import sys
from collections.abc import Sequence

from ws_course.bench.ladder import SETS, record_set
from ws_course.bench.record import read
from ws_course.bench.steps import steps_text
from ws_course.bench.tables import text
from ws_course.runtime import BackendError


def main(arguments: Sequence[str] | None = None, program: str = "python -m ws_course.bench") -> int:
    """Write one record or all of them, print their tables and return an exit status."""
    parser = argparse.ArgumentParser(prog=program, description="Measure the kernels on this GPU and write the records.")
    parser.add_argument("set", nargs="?", choices=SETS, metavar="SET", help=f"{', '.join(SETS)} (default: all)")
    parser.add_argument("path", nargs="?", metavar="PATH", help="where to write (default: among the package's records)")
    asked = parser.parse_args(arguments)
    try:
        for name in [asked.set] if asked.set else SETS:
            _record(name, asked.path)
    except BackendError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    return 0


def _record(name: str, path: str | None) -> None:
    path = record_set(name, path)
    record = read(path)
    print(text(record))
    if name == "hopper-ladder":
        print(*(steps_text(record, ctas) for ctas in (1, 2)), sep="\n\n")
    print(f"written to {path}")


if __name__ == "__main__":
    sys.exit(main())
