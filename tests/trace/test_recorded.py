"""The timelines that are recorded on a GPU: whole, in order, and what a lesson may rely on."""

import pytest

from ws_course.kernels import catalog
from ws_course.trace import store
from ws_course.trace.perfetto import perfetto

PATHS = sorted(store.FOLDER.glob("*.json"))
EACH = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def test_every_rung_is_recorded():
    for spec in (*catalog.LADDER, *catalog.HOPPER):
        assert store.load(spec.name, "NVIDIA H200").kernel == spec.name


@EACH
def test_a_record_says_how_it_was_made(path):
    one = store.read(path)
    assert path.name == store.file_name(one) and path.stat().st_size < 64 << 10
    assert one.label == f"recorded ({one.facts['device']['name']}, {one.facts['date']})" and one.unit == "ns"
    assert one.facts["check"]["ok"] is True and one.facts["clock"]["fitted"] and one.facts["clock"]["lost"] == 0
    cost = one.facts["cost"]
    assert min(len(cost[f"{how}_ms"]) for how in ("plain", "piece", "all")) >= 5
    assert 0.9 < cost["piece"] < 1.5 and 0.9 < cost["all"] < 1.5
    assert one.stages == one.params.get("STAGES", 0)


@EACH
def test_a_record_is_in_order(path):
    one = store.read(path)
    works = [s for s in one.spans if s.work != "wait"]
    assert {s.work for s in works} == {"load", "compute", "store"}
    assert {s.block for s in works} == set(range(one.facts["launch"]["cluster"]))
    warps = {}
    for span in one.spans:
        warps.setdefault((span.block, span.warp), []).append(span)
    for own in warps.values():
        assert all(a.end <= b.start for a, b in zip(own, own[1:], strict=False))
    for span in works:  # within a CTA one clock counts: no product before its load was asked for
        asked = [s.start for s in works if (s.block, s.work, s.item) == (span.block, "load", span.item)]
        assert span.work != "compute" or not asked or span.start > min(asked)
    for block in {s.block for s in works}:
        mine = [s.item for s in works if s.block == block]
        assert one.before(block) % max(one.stages, 1) == 0
        if one.params.get("SCHEDULE") != 2:  # a counter gives out tiles in no fixed order
            assert min(mine) == block + one.before(block) * one.facts["launch"]["grid"]
    assert perfetto(one)["otherData"]["provenance"] == one.label
