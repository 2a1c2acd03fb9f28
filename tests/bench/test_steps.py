"""What each step bought: which measurements are compared, and when a difference counts."""

import pytest

from ws_course.bench import steps
from ws_course.bench.steps import STEPS
from ws_course.kernels.catalog import ABLATIONS, HOPPER, LADDER, get


def one(found, after):
    """Return the only step to this kernel."""
    (step,) = (x for x in found if x.step.after == after)
    return step


@pytest.fixture
def pair(made_up, measurement):
    """Return a record with one step, whose two sides take these times."""

    def record(before, after):
        return made_up(
            measurement("tile_03_pipeline_unified", times=before, STAGES=3),
            measurement("tile_04_two_roles", times=after, STAGES=3, LOADER_WARPS=1),
        )

    return record


@pytest.mark.parametrize(
    ("before", "after", "speedup", "verdict"),
    [
        ((2.0, 2.0, 2.0), (1.0, 1.0, 1.0), 2.0, "faster"),
        ((1.0, 1.0, 1.0), (2.0, 2.0, 2.0), 0.5, "slower"),
        ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 1.0, "a tie"),
        ((1.11, 1.11, 1.11), (0.9, 1.0, 1.1), 1.11, "faster"),  # a spread of 10% in 3 rounds: 9% of uncertainty
        ((1.09, 1.09, 1.09), (0.9, 1.0, 1.1), 1.09, "a tie"),
    ],
)
def test_a_difference_counts_when_it_is_larger_than_the_medians_are_uncertain(pair, before, after, speedup, verdict):
    (found,) = steps.bought(pair(before, after))
    assert found.speedup == pytest.approx(speedup) and found.verdict == verdict
    assert found.spread == pytest.approx(found.before.spread + found.after.spread)
    assert found.decided == (verdict != "a tie")


def test_everything_else_is_the_same_and_what_only_one_side_has_is_its_best(made_up, measurement):
    two, ring = "tile_04_two_roles_aligned", "tile_05_mbarrier_ring"
    record = made_up(
        measurement(two, times=(3.0,), STAGES=3, LOADER_WARPS=1),
        measurement(two, times=(2.0,), STAGES=3, LOADER_WARPS=4),
        measurement(two, times=(1.0,), STAGES=2, LOADER_WARPS=4),
        measurement(two, times=(1.0,), ctas=2, STAGES=3, LOADER_WARPS=4),
        measurement(ring, times=(0.5,), STAGES=3, LOADER_WARPS=1),
        measurement(ring, times=(1.6,), STAGES=3, LOADER_WARPS=4),
        measurement("tile_06_bulk_copy", times=(0.4,), STAGES=3),
        measurement("tile_06_bulk_copy", times=(0.1,), STAGES=3, COMPUTE_THREADS=256),
    )
    found = steps.bought(record)
    assert [x.step.after for x in found] == [ring, "tile_06_bulk_copy"]
    assert one(found, ring).before.params["LOADER_WARPS"] == one(found, ring).after.params["LOADER_WARPS"] == 4
    assert one(found, "tile_06_bulk_copy").speedup == pytest.approx(0.5 / 0.4), "the fastest ring, the same threads"


def test_cp_async_is_compared_with_two_stages_and_clusters_with_a_shared_b(made_up, measurement):
    record = made_up(
        measurement("tile_01_double_buffer", times=(3.0,)),
        measurement("tile_02_cp_async", times=(2.0,), STAGES=2),
        measurement("tile_02_cp_async", times=(1.0,), STAGES=3),
        measurement("tile_06_bulk_copy", times=(9.0,), STAGES=3),
        measurement("tile_06_bulk_copy", times=(4.0,), STAGES=3, SHARE=8),
        measurement("tile_11_cluster_multicast", times=(2.0,), STAGES=3, SHARE=8, CLUSTER=4),
        measurement("tile_11_cluster_multicast", times=(1.0,), STAGES=3, SHARE=8, CLUSTER=8),
    )
    assert [x.speedup for x in steps.bought(record)] == [1.5, 2.0, 4.0]
    text = steps.steps_text(record)
    assert "each step alone at 1 CTA/SM" in text and "recorded (Test Device 1, 2026-01-02)" in text
    assert "CLUSTER 8, STAGES 3" in text and "01 → 02" in text


def test_a_constant_can_be_the_step(made_up, measurement):
    counter = [
        measurement("tile_09_persistent", times=(time,), STAGES=3, CTAS=ctas, SCHEDULE=schedule)
        for time, ctas, schedule in ((4.0, 2, 1), (3.0, 2, 2), (5.0, 3, 1), (1.0, 3, 2))
    ]
    (found,) = steps.bought(made_up(*counter))
    assert found.step.short == "09" and found.step.what == "tiles from a counter"
    assert found.speedup == pytest.approx(4 / 3), "the same CTAS on both sides, the fastest one before"


def test_every_rung_is_the_end_of_a_step_and_shares_its_constants():
    kernels = {spec.name for spec in (*LADDER, *ABLATIONS, *HOPPER)}
    assert {name for step in STEPS for name in (step.before, step.after)} == kernels
    assert {spec.name for spec in (*LADDER[1:], *HOPPER)} <= {step.after for step in STEPS}
    for step in STEPS:
        sides = get(step.before).defaults | get(step.after).defaults
        assert {*step.fixed, *step.first, *step.then} <= set(sides) and step.what
        assert step.before != step.after or step.first != step.then
        assert step.lesson == get(step.after).lesson
