"""Record timelines of the ladder on this machine's GPU: ``python -m ws_course.trace [FOLDER]``."""

import sys
from collections.abc import Sequence

from ws_course.bench import command
from ws_course.trace.record import record_all


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the timelines and return an exit status."""
    purpose = "Record timelines of the ladder on this machine's GPU."
    return command.run("ws_course.trace", purpose, _record, arguments, target="FOLDER")


def _record(folder: str | None) -> None:
    paths = record_all(folder)
    size = sum(path.stat().st_size for path in paths)
    print(f"{len(paths)} timelines, {size / 1024:.0f} KiB, written to {paths[0].parent if paths else 'nowhere'}")


if __name__ == "__main__":
    sys.exit(main())
