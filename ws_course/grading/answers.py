"""Run a learner's plain Python in a process of its own and take back data only: numbers, text, lists and dicts."""

from __future__ import annotations

import json
import resource
import signal
import sys

import numpy as np

from ws_course.grading.isolated import ask, private_output

TIMEOUT = 5.0  # seconds
MEMORY = 8 << 30  # bytes of address space; importing NumPy alone takes about one GiB


class NoAnswer(RuntimeError):
    """Say that a cell of answers raised, hung or died."""


def evaluate(source: str, timeout: float = TIMEOUT) -> dict[str, object]:
    """Run Python text and return the plain values of its names; raises :class:`NoAnswer`.

    A value that is not plain data (a function, an object) is left out: nothing that could act comes back.
    """
    for answer in ask("ws_course.grading.answers", {"source": source, "timeout": timeout}, timeout=timeout):
        if "error" in answer:
            raise NoAnswer(answer["error"])
        if isinstance(answer.get("values"), dict):
            return answer["values"]
    raise NoAnswer(f"the cell gave no answer within {timeout:g} s: does it loop without end?")


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    source, seconds = request["source"], int(request["timeout"]) + 5
    way_back = private_output()
    # For the case that the parent dies first and nobody is left to stop this process.
    signal.alarm(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    names: dict[str, object] = {"__name__": "__main__"}
    try:
        exec(compile(source, "<answer>", "exec"), names)
    except BaseException as error:  # also SystemExit: whatever ends the cell is told, never taken for an answer
        answer: dict = {"error": f"{type(error).__name__}: {error}"}
    else:
        answer = {"values": {n: plain(v) for n, v in names.items() if not n.startswith("_") and is_plain(plain(v))}}
    way_back.write(json.dumps(answer) + "\n")
    way_back.flush()


def plain(value: object) -> object:
    """Return a NumPy scalar or array as Python numbers, and anything else as it is."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def is_plain(value: object) -> bool:
    """Return whether a value is made of numbers, text, booleans, None, and lists, tuples and dicts of them alone."""
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(k, str) and is_plain(v) for k, v in value.items())
    return value is None or isinstance(value, (bool, int, float, str))


if __name__ == "__main__":
    main()
