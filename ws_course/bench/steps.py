"""What each step bought: for every rung the change that it is about, alone, everything else the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ws_course.bench.record import FIXED, Measurement, Record
from ws_course.bench.tables import table
from ws_course.kernels.catalog import ABLATIONS, get


@dataclass(frozen=True)
class Step:
    """Name a change between two kernels: ``before`` does without it, ``after`` has it, ``what`` says it in words.

    ``fixed`` are constants that the comparison needs: the stages that a kernel without the constant has, or a B that
    tiles share. Where the change is a constant, ``first`` has its value before and ``then`` after. ``lesson`` is where
    it is taught.
    """

    what: str
    before: str
    after: str
    lesson: str
    fixed: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, int] = field(default_factory=dict)
    then: Mapping[str, int] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """Return the two rungs by their numbers: "00 → 01", or the one whose constant changes."""
        if self.before == self.after:
            return _number(self.after)
        return f"{_number(self.before)} → {_number(self.after)}"


def _number(kernel: str) -> str:
    """Return "06" for a rung, and the words of an ablation: "06 four by eight"."""
    words = kernel.split("_")[1:]
    return " ".join(words if any(kernel == spec.name for spec in ABLATIONS) else words[:1])


_UNIFIED, _TWO_ROLES, _ROLES = "tile_03_pipeline_unified", "tile_04_two_roles", "tile_04_pipeline_roles"
_ALIGNED, _BARRIERS_FIRST = "tile_04_two_roles_aligned", "tile_05_barriers_first"
_RING, _BULK, _TENSOR = "tile_05_mbarrier_ring", "tile_06_bulk_copy", "tile_07_tma_tensor"
_DIVERGED, _REGISTERS, _PERSISTENT = "tile_07_diverged", "tile_08_registers", "tile_09_persistent"
_PLACEMENT = "tile_06_placement"
_FOUR_BY_EIGHT, _DIRECT_STORE = "tile_06_four_by_eight", "tile_07_direct_store"
_DSMEM, _MULTICAST, _IN_PLACE = "tile_10_cluster_dsmem", "tile_11_cluster_multicast", "tile_10_cluster_read"
_SHARED = {"SHARE": 8}

STEPS: tuple[Step, ...] = (
    Step("a second buffer, filled through registers", "tile_00_one_buffer", "tile_01_double_buffer", "02"),
    Step("cp.async", "tile_01_double_buffer", "tile_02_cp_async", "03", {"STAGES": 2}),
    Step("a pipeline's barriers for __syncthreads", "tile_02_cp_async", _UNIFIED, "04"),
    Step("loader warps", _UNIFIED, _TWO_ROLES, "05"),
    Step("storer warps", _TWO_ROLES, _ROLES, "05"),
    Step("tiles at a multiple of 128 bytes", _TWO_ROLES, _ALIGNED, "06"),
    Step("mbarriers by hand", _ALIGNED, _RING, "06"),
    Step("barriers behind the tiles", _BARRIERS_FIRST, _RING, "06"),
    Step("bulk copies by one thread", _RING, _BULK, "07"),
    Step("warps of 4 x 8 threads", _BULK, _FOUR_BY_EIGHT, "07"),
    Step("tensor maps with a swizzle", _FOUR_BY_EIGHT, _DIRECT_STORE, "07"),
    Step("C stored by TMA", _DIRECT_STORE, _TENSOR, "07"),
    Step("the storing lane back with its warp", _DIVERGED, _TENSOR, "07"),
    Step(
        "compute warps on 2 schedulers, not 1", _PLACEMENT, _PLACEMENT, "08", {}, {"SCHEDULERS": 1}, {"SCHEDULERS": 2}
    ),
    Step(
        "compute warps on 4 schedulers, not 2", _PLACEMENT, _PLACEMENT, "08", {}, {"SCHEDULERS": 2}, {"SCHEDULERS": 4}
    ),
    Step("registers moved to compute", _TENSOR, _REGISTERS, "08"),
    Step("a storer beside the compute warps", _REGISTERS, _PERSISTENT, "09", {}, {}, {"SCHEDULE": 1}),
    Step("tiles from a counter", _PERSISTENT, _PERSISTENT, "09", {}, {"SCHEDULE": 1}, {"SCHEDULE": 2}),
    Step("B read in place by 2 CTAs", _BULK, _IN_PLACE, "10", {**_SHARED, "CLUSTER": 2}),
    Step("B brought home before use, 2 CTAs", _IN_PLACE, _DSMEM, "10", {**_SHARED, "CLUSTER": 2}),
    Step("B through DSMEM, 2 CTAs", _BULK, _DSMEM, "10", {**_SHARED, "CLUSTER": 2}),
    Step("multicast for DSMEM, 2 CTAs", _DSMEM, _MULTICAST, "11", {**_SHARED, "CLUSTER": 2}),
    Step("multicast, 2 CTAs", _BULK, _MULTICAST, "11", {**_SHARED, "CLUSTER": 2}),
    Step("multicast, 4 CTAs", _BULK, _MULTICAST, "11", {**_SHARED, "CLUSTER": 4}),
    Step("multicast, 8 CTAs", _BULK, _MULTICAST, "11", {**_SHARED, "CLUSTER": 8}),
)
"""Every step of the ladder, in the order in which it is climbed."""


@dataclass(frozen=True)
class Bought:
    """Hold what one step bought at one occupancy."""

    step: Step
    before: Measurement
    after: Measurement

    @property
    def speedup(self) -> float:
        """Return the median time before divided by the one after: above 1, the step pays."""
        return self.before.median_ms / self.after.median_ms

    @property
    def sms(self) -> tuple[int, int]:
        """Return how many SMs either side fills: clusters leave some out."""
        return tuple(m.launch.get("sms", m.launch["grid"] // m.ctas_per_sm) for m in (self.before, self.after))

    @property
    def uncertainty(self) -> float:
        """Return by how much the speed-up may be off: the uncertainties of both medians together."""
        return self.before.uncertainty + self.after.uncertainty

    @property
    def spread(self) -> float:
        """Return how much single launches differ: the interquartile ranges of both sides together, as shares."""
        return self.before.spread + self.after.spread

    @property
    def decided(self) -> bool:
        """Return whether the medians differ by more than they are uncertain."""
        return abs(self.speedup - 1) > self.uncertainty

    @property
    def verdict(self) -> str:
        """Return "faster", "slower", or "a tie" where the uncertainty is as large as the difference."""
        if not self.decided:
            return "a tie"
        return "faster" if self.speedup > 1 else "slower"


def bought(record: Record, ctas_per_sm: int = 1, stages: int = 3, **params: int) -> tuple[Bought, ...]:
    """Return what every step bought that the record has both sides of, at ``ctas_per_sm`` and ``stages``.

    Both kernels have the same tile, intensity, compute threads and stages (``params`` changes the usual ones; a kernel
    that knows no stages has two buffers or one). The kernel before is at its fastest values of what is left, such as
    loader warps; the one after has the same values where it has such a constant, and its fastest of those that are its
    own. A step whose two sides do not fit at this occupancy is left out.
    """
    found = []
    for step in STEPS:
        same = {**FIXED, "STAGES": stages, **params, **step.fixed}
        try:
            before = record.find(step.before, ctas_per_sm, **_own(step.before, {**same, **step.first}))
            equal = {**before.params, **same, **step.then}
            found.append(Bought(step, before, record.find(step.after, ctas_per_sm, **_own(step.after, equal))))
        except KeyError:
            continue
    return tuple(found)


def _own(kernel: str, params: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in params.items() if name in get(kernel).defaults}


def steps_text(record: Record, ctas_per_sm: int = 1, stages: int = 3, **params: int) -> str:
    """Return :func:`bought` as text, with its provenance."""
    body = [["step", "rungs", "constants", "SMs", "before ms", "after ms", "speed-up", "±", "verdict"]]
    for one in bought(record, ctas_per_sm, stages, **params):
        usual = get(one.step.after).defaults.keys() - FIXED.keys()
        constants = ", ".join(f"{name} {one.after.params[name]}" for name in sorted(usual & one.after.params.keys()))
        numbers = [str(one.sms[1]), f"{one.before.median_ms:.3f}", f"{one.after.median_ms:.3f}"]
        numbers += [f"{one.speedup:.3f}x", f"{one.uncertainty:.3f}"]
        body.append([one.step.what, one.step.short, constants, *numbers, one.verdict])
    return f"each step alone at {ctas_per_sm} CTA/SM, {stages} stages where not said, {record.label}\n{table(body)}"
