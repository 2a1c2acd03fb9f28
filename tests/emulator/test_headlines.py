"""What a hang is reported by first: the line of the mistake, not one of those that wait behind it."""

from pathlib import Path

import numpy as np
import pytest

from ws_course.runtime import Kernel

FOLDER = Path(__file__).parent / "headlines"
X = np.arange(256, dtype=np.float32)
RING = (X, np.zeros(256, np.float32), 8)


def run(name, *args, **options):
    options = {"grid": 1, "block": 64, **options}
    return Kernel.from_file(FOLDER / f"{name}.cu").run(*args, backend="emulator", seeds=3, **options)


@pytest.mark.parametrize(
    ("name", "args", "object"),
    [
        ("syncwarp_in_half_a_warp", RING, ""),
        ("two_roles_in_one_warp", RING, ""),
        ("syncthreads_in_a_role", RING, ""),
        ("barrier_never_initialised", (np.zeros(64, np.float32),), "b"),
        ("copies_raise_the_count", RING, "full"),
    ],
)
def test_the_first_line_is_the_mistakes(name, args, object):
    source = (FOLDER / f"{name}.cu").read_text().splitlines()
    result = run(name, *args)
    (fault,) = [fault for fault in result.faults if fault.kind == "deadlock"]
    assert "// the mistake" in source[fault.line - 1], str(result)
    assert fault.object == object


def test_a_relaxed_arrival_after_the_fence_publishes_the_barriers_of_a_cluster():
    y = np.zeros(64, np.float32)
    result = run("relaxed_cluster_arrive", y, grid=2, block=32, cluster=2)
    assert result.ok and (y == 1).all(), str(result)
