"""Time several pieces of GPU work so that they can be compared: warm, interleaved, every repetition kept."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping

Clock = Callable[[Callable[[], None]], float]


def interleaved(
    works: Mapping[Hashable, Callable[[], None]], clock: Clock, rounds: int, warmup: int = 2, seed: int = 0
) -> dict[Hashable, tuple[float, ...]]:
    """Return the times of every work in milliseconds, one per round, as ``clock`` measures them.

    Each round runs every work once in a fresh random order: when the clock or the power of the device drifts, it
    drifts for all of them, so ratios survive. ``warmup`` rounds come first and are not kept.
    """
    if rounds < 1 or warmup < 0:
        raise ValueError(f"rounds={rounds} must be at least 1 and warmup={warmup} at least 0")
    times: dict[Hashable, list[float]] = {name: [] for name in works}
    order = list(works)
    shuffle = random.Random(seed).shuffle
    for turn in range(warmup + rounds):
        shuffle(order)
        for name in order:
            milliseconds = clock(works[name])
            if turn >= warmup:
                times[name].append(milliseconds)
    return {name: tuple(kept) for name, kept in times.items()}
