"""The barriers inside a block-scope pipeline: what each of the four calls does to full and empty of a stage.

The rules are those of libcu++'s ``cuda::pipeline``: ``full[s]`` expects every producer thread and ``empty[s]`` every
consumer thread, and in a unified pipeline everybody is both. Acquire and wait may block and arrive nowhere; commit and
release never block, and each thread that calls them arrives once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WARP = 32
CALLS = ("producer_acquire", "producer_commit", "consumer_wait", "consumer_release")


@dataclass
class Barrier:
    """Count arrivals: when ``expected`` have come, the phase is complete and the next one starts at 0."""

    expected: int
    arrived: int = 0
    phase: int = 0

    def arrive(self, threads: int) -> None:
        """Add arrivals; raise ``ValueError`` for more than the phase expects."""
        if self.arrived + threads > self.expected:
            raise ValueError(f"{self.arrived} + {threads} arrivals at a barrier that expects {self.expected}")
        self.arrived += threads
        if self.arrived == self.expected:
            self.arrived, self.phase = 0, self.phase + 1

    def __str__(self) -> str:
        return f"{self.arrived} of {self.expected} arrivals of phase {self.phase}"


class Ring:
    """Play a pipeline of ``stages`` by hand, one warp and one call at a time.

    ``producers`` and ``consumers`` are numbers of warps of 32 threads; the same warps in both make a unified pipeline.
    Every call returns a sentence that says what it did. Raises ``ValueError`` for a ring without a stage or a role.
    """

    def __init__(self, stages: int, producers: Iterable[int], consumers: Iterable[int]) -> None:
        self.producers, self.consumers = sorted(set(producers)), sorted(set(consumers))
        if stages < 1 or not self.producers or not self.consumers:
            raise ValueError("a ring needs at least one stage, one producer warp and one consumer warp")
        self.full = [Barrier(WARP * len(self.producers)) for _ in range(stages)]
        self.empty = [Barrier(WARP * len(self.consumers)) for _ in range(stages)]
        self.warps = sorted({*self.producers, *self.consumers})
        self.waiting: dict[int, str] = {}  # warp -> the call that has not returned
        # How many stages each warp has filled, and freed: where its next call will be.
        self._filled, self._freed = (dict.fromkeys(self.warps, 0) for _ in range(2))
        # Warps between acquire and commit, and between wait and release.
        self._writing, self._reading = set(), set()
        self._in_flight: list[int] = []  # the stage of each warp's copies that are committed and have not landed

    @property
    def stages(self) -> int:
        """Return the number of stages."""
        return len(self.full)

    @property
    def states(self) -> list[str]:
        """Return the state of each stage: "empty", "filling", "full" or "draining"."""
        return [self._state(stage) for stage in range(self.stages)]

    @property
    def stuck(self) -> bool:
        """Return whether nobody can move any more: every warp waits, and no copy is on its way."""
        return len(self.waiting) == len(self.warps) and not self._in_flight

    def allowed(self, warp: int, name: str) -> bool:
        """Return whether the barriers count on ``warp`` for this call."""
        return warp in (self.producers if name.startswith("producer") else self.consumers)

    def call(self, warp: int, name: str) -> str:
        """Let ``warp`` make one of the four calls; raise ``ValueError`` for another call, or a warp in another role."""
        if name not in CALLS or not self.allowed(warp, name):
            raise ValueError(f"warp {warp} {name}: producers are {self.producers}, consumers {self.consumers}")
        if warp in self.waiting:
            return f"warp {warp} is still in {self.waiting[warp]}"
        act = {
            "producer_acquire": self._acquire,
            "producer_commit": self._commit,
            "consumer_wait": self._wait,
            "consumer_release": self._release,
        }
        return f"warp {warp} {name}: {act[name](warp)}{self._wake()}{self._alarm()}"

    def land(self) -> str:
        """Let all copies in flight land: only then do their commits arrive."""
        stages = sorted(set(self._in_flight))
        while self._in_flight:
            self.full[self._in_flight.pop()].arrive(WARP)
        counts = ", ".join(self._count("full", stage) for stage in stages)
        return f"copies land: {counts or 'none was in flight'}{self._wake()}{self._alarm()}"

    def _acquire(self, warp: int) -> str:
        return self._pass_or_wait(warp, "producer_acquire", "empty")

    def _wait(self, warp: int) -> str:
        return self._pass_or_wait(warp, "consumer_wait", "full")

    def _pass_or_wait(self, warp: int, name: str, kind: str) -> str:
        stage, open_ = self._door(warp, name)
        if open_:
            self._enter(warp, name)
            return f"returns, stage {stage} is {kind}"
        self.waiting[warp] = name
        return f"waits, {self._count(kind, stage)}"

    def _door(self, warp: int, name: str) -> tuple[int, bool]:
        """Return the stage that a waiting call is about, and whether the call may return."""
        if name == "producer_acquire":
            round_, stage = divmod(self._filled[warp], self.stages)
            return stage, self.empty[stage].phase >= round_
        round_, stage = divmod(self._freed[warp], self.stages)
        return stage, self.full[stage].phase > round_

    def _enter(self, warp: int, name: str) -> None:
        (self._writing if name == "producer_acquire" else self._reading).add(warp)

    def _commit(self, warp: int) -> str:
        if warp not in self._writing:
            return "refused: it has acquired no stage, so its copies may overwrite what is still being read, a race"
        stage = self._filled[warp] % self.stages
        self._writing.discard(warp)
        self._filled[warp] += 1
        self._in_flight.append(stage)
        return f"returns; when its copies land, {WARP} arrivals at full[{stage}]"

    def _release(self, warp: int) -> str:
        if warp not in self._reading:
            return "refused: it has waited for no stage, so it may have read what was not there yet, a race"
        stage = self._freed[warp] % self.stages
        self._reading.discard(warp)
        self._freed[warp] += 1
        self.empty[stage].arrive(WARP)
        return f"returns; {self._count('empty', stage)}"

    def _wake(self) -> str:
        """Let the calls return that need not wait any more, and say which."""
        awake = [(warp, name) for warp, name in self.waiting.items() if self._door(warp, name)[1]]
        for warp, name in awake:
            del self.waiting[warp]
            self._enter(warp, name)
        return "".join(f"; warp {warp} {name} returns" for warp, name in awake)

    def _alarm(self) -> str:
        return "; nobody can move any more: a deadlock" if self.stuck else ""

    def _count(self, kind: str, stage: int) -> str:
        barrier = (self.full if kind == "full" else self.empty)[stage]
        if barrier.arrived == 0 and self._state(stage) == kind:
            return f"{kind}[{stage}] has all {barrier.expected} arrivals: stage {stage} is {kind}"
        return f"{kind}[{stage}] has {barrier.arrived} of {barrier.expected} arrivals"

    def _state(self, stage: int) -> str:
        if self.full[stage].phase > self.empty[stage].phase:
            reading = any(self._freed[warp] % self.stages == stage for warp in self._reading)
            return "draining" if reading or self.empty[stage].arrived else "full"
        writing = any(self._filled[warp] % self.stages == stage for warp in self._writing)
        return "filling" if writing or stage in self._in_flight or self.full[stage].arrived else "empty"

    def __str__(self) -> str:
        lines = ["stage  state     full                          empty"]
        for stage, state in enumerate(self.states):
            lines.append(f"{stage:>5}  {state:<8}  {self.full[stage]!s:<28}  {self.empty[stage]}")
        return "\n".join(lines)

    __repr__ = __str__
