"""Record timelines of the ladder on this machine's GPU: ``python -m ws_course.trace [FOLDER]``."""

import sys

from ws_course.runtime import BackendError
from ws_course.trace.record import record_all


def main(arguments: list[str]) -> int:
    """Write the timelines and return an exit status."""
    try:
        paths = record_all(arguments[0] if arguments else None)
    except BackendError as error:
        print(f"ws_course.trace: {error}", file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in paths)
    print(f"{len(paths)} timelines, {size / 1024:.0f} KiB, written to {paths[0].parent if paths else 'nowhere'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
