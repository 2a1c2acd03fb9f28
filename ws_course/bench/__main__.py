"""Measure the ladder on this machine's GPU: ``python -m ws_course.bench [PATH]``."""

import sys

from ws_course.bench.ladder import record_ladder
from ws_course.bench.record import read
from ws_course.bench.tables import ladder_text, specialization_text


def main(arguments: list[str]) -> int:
    """Write the record, print its tables and return an exit status."""
    path = record_ladder(arguments[0] if arguments else None)
    record = read(path)
    print(ladder_text(record), specialization_text(record), f"written to {path}", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
