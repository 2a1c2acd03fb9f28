"""The order of events of a real kernel in the emulator."""

import pytest

from ws_course.kernels.catalog import LADDER
from ws_course.problem import TileProblem
from ws_course.trace.order import emulated_order


def by_warp(spans):
    warps = {}
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        warps.setdefault(span.warp, []).append((span.work, span.item))
    return warps


def test_with_one_buffer_every_warp_loads_then_computes_then_stores():
    spans = emulated_order("tile_00_one_buffer", TileProblem(3, tile=32))
    expected = [(work, tile) for tile in range(3) for work in ("load", "compute", "store")]
    works = [[step for step in steps if step[0] != "wait"] for steps in by_warp(spans).values()]
    assert len(works) > 1 and all(steps == expected for steps in works)


@pytest.mark.parametrize("spec", LADDER, ids=lambda spec: spec.name)
def test_every_tile_is_loaded_before_it_is_computed(spec):
    spans = emulated_order(spec, TileProblem(3, tile=32))
    for tile in range(3):
        loads = [span.start for span in spans if (span.work, span.item) == ("load", tile)]
        computes = [span.start for span in spans if (span.work, span.item) == ("compute", tile)]
        assert min(loads) < min(computes)


def test_a_constant_of_another_rung_is_refused():
    with pytest.raises(ValueError, match="no constant STAGES"):
        emulated_order("tile_00_one_buffer", TileProblem(1, tile=32), STAGES=2)
