"""Measure one set, or all, on this machine's GPU and write records: ``python -m ws_course.bench [SET [PATH]]``."""

import sys

from ws_course.bench.ladder import SETS, record_set
from ws_course.bench.record import read
from ws_course.bench.steps import steps_text
from ws_course.bench.tables import text


def main(arguments: list[str]) -> int:
    """Write one record or all of them, print their tables and return an exit status."""
    if arguments and (arguments[0] not in SETS or len(arguments) > 2):
        print(f"usage: [SET [PATH]], where SET is one of {', '.join(SETS)}", file=sys.stderr)
        return 2
    for name in arguments[:1] or SETS:
        path = record_set(name, *arguments[1:])
        record = read(path)
        print(text(record))
        if name == "hopper-ladder":
            print(*(steps_text(record, ctas) for ctas in (1, 2)), sep="\n\n")
        print(f"written to {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
