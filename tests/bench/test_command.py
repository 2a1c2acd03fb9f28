"""What records says what it does, and on a machine without a GPU why it does not: one sentence, no traceback."""

import subprocess
import sys

import pytest

from ws_course import device
from ws_course.bench import command
from ws_course.runtime import BackendError

RECORDERS = ("bench", "bench.micro", "bench.schedules", "bench.counters", "bench.probes", "trace")


def call(module, *words, folder):
    line = [sys.executable, "-m", f"ws_course.{module}", *words]
    return subprocess.run(line, capture_output=True, text=True, cwd=folder, timeout=60)


@pytest.mark.parametrize("module", RECORDERS)
def test_help_is_no_place_to_write(module, tmp_path):
    done = call(module, "--help", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: python -m ws_course.{module}") and "where to write" in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(device.has_gpu(), reason="would measure")
@pytest.mark.parametrize("module", RECORDERS)
def test_without_a_gpu_one_sentence_names_the_fix(module, tmp_path):
    done = call(module, folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "ws-course doctor" in done.stderr and done.stderr.count("\n") == 1


def test_the_path_is_handed_on_and_other_errors_stay():
    asked = []
    assert command.run("m", "Count.", asked.append, ["here.json"]) == command.run("m", "Count.", asked.append, []) == 0
    assert asked == ["here.json", None]

    def missing(path):
        raise BackendError("no GPU")

    def wrong(path):
        raise RuntimeError("a wrong result")

    assert command.run("m", "Count.", missing, []) == 1
    with pytest.raises(RuntimeError, match="a wrong result"):
        command.run("m", "Count.", wrong, [])
    with pytest.raises(SystemExit) as end:
        command.run("m", "Count.", asked.append, ["--fast"])
    assert end.value.code == 2 and len(asked) == 2
