"""The badge: one line that differs between machines, and that nbval is told not to compare."""

import re
from pathlib import Path

import pytest

from ws_course.device import CUDA, GPU_PACKAGES, HEADER_PACKAGES, Compiler, Driver, Gpu, Machine
from ws_course.widgets.badge import Badge

SANITIZE = Path(__file__).parents[1] / "nbval_sanitize.cfg"
ALL = dict.fromkeys((*GPU_PACKAGES, *HEADER_PACKAGES), "13.0")
LAPTOP = Machine(compiler=Compiler(("g++",), "gcc", (12, 2)), packages=ALL)
WITH_GPU = Machine(driver=Driver("580.0", CUDA, (Gpu("Test <GPU>", (9, 0), 132),)), packages=ALL)


def rules():
    text = SANITIZE.read_text()
    return re.findall("^regex: (.*)$\n^replace: (.*)$", text, re.MULTILINE)


def sanitized(text):
    for pattern, replacement in rules():
        text = re.sub(pattern, replacement, text)
    return text


def test_without_a_gpu_kernels_run_in_the_emulator():
    badge = Badge(LAPTOP)
    assert badge.ok
    assert repr(badge).startswith("kernels run in the emulator on the CPU; times: ")
    assert "<b>in the emulator on the CPU</b>" in badge._repr_html_()


def test_with_a_gpu_it_is_named_and_escaped():
    badge = Badge(WITH_GPU)
    assert badge.ok and "live on Test <GPU>" in repr(badge)
    assert "Test &lt;GPU&gt;" in badge._repr_html_()


def test_a_machine_that_runs_nothing_is_sent_to_the_doctor():
    badge = Badge(Machine())
    assert not badge.ok
    assert "ws-course doctor" in repr(badge) and "times" not in repr(badge)


@pytest.mark.parametrize("form", [repr, Badge._repr_html_])
def test_nbval_sees_the_same_badge_on_every_machine(form):
    assert {sanitized(form(Badge(machine))) for machine in (LAPTOP, WITH_GPU, Machine())} == {"BADGE"}


def test_the_rules_hide_the_place_and_nothing_else():
    emulated = "passed: 2 cases × 5 schedules in the emulator, every value exact"
    assert sanitized(emulated) == sanitized("passed: 2 cases on the GPU, every value exact")
    assert sanitized(emulated) != sanitized("passed: 3 cases on the GPU, every value exact")
    assert sanitized(emulated) != sanitized("passed: 2 cases on the GPU, every value within tolerance")
    assert sanitized("no fault found (emulator, 3 schedules)") == sanitized("no fault found (NVIDIA H200)")
    fault = "race: cell f:4: warp 0 lane 24 writes buffer[24], and lane 23 of the same warp read it: nothing orders"
    assert sanitized(fault) == sanitized(fault.replace("24", "7").replace("23", "6"))
    assert sanitized(fault) == sanitized(fault.replace("lane 23 of the same warp", "warp 1 lane 3"))
    assert sanitized(fault) != sanitized(fault.replace(":4", ":5"))
    assert sanitized(fault) != sanitized(fault.replace("buffer", "other"))
    for kept in ("race: cell f:3: two threads", "0.428 ms", "recorded (NVIDIA H200, 2026-01-01)", "failed on case 1"):
        assert sanitized(kept) == kept
