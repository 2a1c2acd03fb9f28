"""22 mistakes that people made in public code, each as a faulty and a fixed kernel (headers: launch, arguments, kind).

The faulty kernel must be reported with its kind, or one that its header allows, under every schedule; the fixed one
must be silent and right.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from ws_course.runtime import Kernel, Launch
from ws_course.runtime.emulated import EmulatorBackend, Step

SEEDS = 3
FOLDER = Path(__file__).parent / "corpus"
SPEC = importlib.util.spec_from_file_location("corpus_cases", FOLDER / "cases.py")
cases = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cases)
NAMES = sorted({p.stem.partition("_")[0] for p in FOLDER.glob("A*.cu")})
# The fixed kernel of A25 fills the whole device with 135,168 threads: one schedule is enough.
FEWER = {"A25"}


def run(name: str, variant: str):
    case = cases.CASES[name]
    buffers, scalars = case.buffers(), case.scalars()
    path = FOLDER / f"{name}_{variant}.cu"
    steps = [
        Step(
            Kernel(path.read_text(), launch.kernel, path.name),
            tuple(buffers.get(a, scalars.get(a)) for a in launch.args),
            Launch(launch.grid, launch.block, launch.cluster, launch.smem, launch.cooperative),
            overlaps=launch.pdl,
        )
        for launch in case.launches(variant)
    ]
    result = EmulatorBackend().run_in_order(steps, seeds=1 if name in FEWER else SEEDS, timeout=60)
    return result, buffers, path.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_faulty_kernel_is_reported_under_every_schedule(name):
    result, _, source = run(name, "bad")
    expected = re.search(r"^// fault: ([\w-]+)(?: \(may also show as: ([^)]*)\))?", source, re.M)
    allowed = {expected.group(1), *(expected.group(2) or "").replace(" ", "").split(",")} | set(
        cases.CASES[name].may_also
    )
    fitting = [f for f in result.faults if f.kind.value in allowed]
    assert {s for f in fitting for s in f.seeds} == set(result.seeds), str(result)
    assert all(f.line for f in fitting), str(result)


@pytest.mark.parametrize("name", NAMES)
def test_fixed_kernel_is_silent_and_right(name):
    result, buffers, _ = run(name, "good")
    assert result.ok, str(result)
    right, error = cases.CASES[name].check(buffers)
    assert right, f"largest error {error}"
    assert np.isfinite(error)
