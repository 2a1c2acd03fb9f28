"""Tables: arithmetic on made-up records, and what the committed record must show for the lessons to be true."""

import pytest

from ws_course.bench import tables

UNIFIED, ROLES, TWO = "tile_03_pipeline_unified", "tile_04_pipeline_roles", "tile_04_two_roles"


def test_rows_compare_with_the_first_rung_at_the_same_occupancy(made_up, measurement):
    one = made_up(
        measurement("tile_00_one_buffer", 1, (4.0,)),
        measurement("tile_00_one_buffer", 4, (2.0,)),
        measurement("tile_02_cp_async", 1, (1.0,), STAGES=2),
        measurement("tile_02_cp_async", 1, (0.8,), STAGES=3),
    )
    first, second = tables.ladder(one, 1)
    assert (first.speedup, second.speedup) == (1.0, 5.0)
    assert second.share_of_copy == pytest.approx(8e6 / 0.8e-3 / 16e9)
    assert tables.ladder(one, 1, STAGES=2)[1].speedup == 4.0
    assert tables.ladder(one, "best")[0].measurement.ctas_per_sm == 4


def test_specialization_pairs_equal_stages_occupancy_and_compute_threads(made_up, measurement):
    one = made_up(
        measurement(UNIFIED, 1, (3.0, 3.0), STAGES=2),
        measurement(UNIFIED, 2, (2.0, 2.0), STAGES=2),
        measurement(UNIFIED, 1, (1.0, 1.0), STAGES=2, COMPUTE_THREADS=256),
        measurement(ROLES, 1, (2.0, 2.0), STAGES=2, LOADER_WARPS=1, STORER_WARPS=1),
        measurement(ROLES, 1, (1.5, 1.5), STAGES=2, LOADER_WARPS=4, STORER_WARPS=1),
        measurement(ROLES, 1, (0.1, 0.1), STAGES=2, LOADER_WARPS=4, STORER_WARPS=1, COMPUTE_THREADS=256),
        measurement(ROLES, 1, (0.5, 0.5), STAGES=3, LOADER_WARPS=4, STORER_WARPS=1),
        measurement(TWO, 1, (1.2, 1.2), STAGES=2, LOADER_WARPS=1),
    )
    (pair,) = tables.specialization(one)
    assert (pair.stages, pair.ctas_per_sm, pair.speedup, pair.decided) == (2, 1, 2.0, True)
    assert pair.two_roles.median_ms == 1.2
    (fixed,) = tables.specialization(one, LOADER_WARPS=1)
    assert fixed.speedup == 1.5


def test_a_difference_within_the_spread_is_not_decided(made_up, measurement):
    one = made_up(
        measurement(UNIFIED, 1, (2.0, 2.2, 2.1, 1.9), STAGES=2),
        measurement(ROLES, 1, (2.0, 2.1, 1.9, 2.2), STAGES=2, LOADER_WARPS=1, STORER_WARPS=1),
    )
    (pair,) = tables.specialization(one)
    assert not pair.decided
    assert "within the spread" in tables.specialization_text(one)


def test_the_ladder_teaches_what_the_lessons_say(h200):
    alone = [row.measurement.median_ms for row in tables.ladder(h200, 1)]
    best = [row.measurement.median_ms for row in tables.ladder(h200, "best")]
    one_buffer, double_buffer, cp_async, unified, roles = alone
    assert double_buffer < 0.85 * one_buffer, "overlap pays where one CTA is alone on its SM"
    assert roles < min(double_buffer, cp_async, unified), "specialization is fastest at one CTA per SM"
    assert best[0] < 0.75 * one_buffer, "occupancy alone hides much of the latency"
    assert min(best) / max(best) > alone[-1] / alone[0], "the ladder matters less where occupancy can grow"


def test_texts_carry_units_and_provenance(h200):
    for text in (tables.ladder_text(h200), tables.specialization_text(h200)):
        assert h200.label in text
    assert "GB/s" in tables.ladder_text(h200)
