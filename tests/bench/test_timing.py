"""Interleaving: every work once a round, in changing order, all repetitions kept, warm-up not."""

import pytest

from ws_course.bench.timing import interleaved


def test_runs_everything_every_round_and_keeps_what_the_clock_said():
    log = []
    works = {name: (lambda name=name: log.append(name)) for name in "abc"}
    ticks = iter(range(100))

    def clock(work):
        work()
        return float(next(ticks))

    times = interleaved(works, clock, rounds=4, warmup=2)
    assert {name: len(kept) for name, kept in times.items()} == {"a": 4, "b": 4, "c": 4}
    rounds = [log[i : i + 3] for i in range(0, 18, 3)]
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1, "the order changes"
    for name, kept in times.items():
        assert list(kept) == [float(i) for i, ran in enumerate(log) if ran == name][2:]


def test_refuses_to_measure_nothing():
    with pytest.raises(ValueError, match="rounds=0"):
        interleaved({}, lambda work: 0.0, rounds=0)
