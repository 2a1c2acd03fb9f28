"""Random small pipelines whose legality is known by construction: right ones are silent, broken ones are found.

The kernels in ``fuzz/`` take their shape (stages, roles, counts, how data is loaded) and at most one mistake as plain
arguments, so one compilation serves thousands of pipelines. For each mistake, ``MISTAKES`` says for which shapes it
breaks a rule under *every* schedule: a missing release, for example, is none while there are no more tiles than stages.

``WS_FUZZ=5000 pytest tests/emulator/test_fuzz.py`` tries that many pipelines of each family; ``WS_FUZZ_SEED=2`` others.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ws_course.runtime import Kernel

CASES = int(os.environ.get("WS_FUZZ", "60"))
SEED = int(os.environ.get("WS_FUZZ_SEED", "1"))
SCHEDULES = 3
TILE = 128
FOLDER = Path(__file__).parent / "fuzz"

Shape = dict[str, int]
Rule = Callable[[dict], bool]


@cache
def kernel(family: str) -> Kernel:
    return Kernel.from_file(FOLDER / f"{family}.cu")


@cache
def constants(family: str) -> dict[str, int]:
    """Return the values of the file's enums: mistakes, kinds and ways to load."""
    values = {}
    for body in re.findall(r"enum \w+ \{([^}]*)\}", kernel(family).source):
        values |= {name.strip(): i for i, name in enumerate(body.split(",")) if name.strip()}
    return values


# ---- shapes --------------------------------------------------------------------------------------------------------


def tiles(r: random.Random, stages: int) -> int:
    return r.choice([1, stages, stages + 1, 2 * stages, 2 * stages + 1, r.randint(1, 3 * stages + 2)])


def ring(r: random.Random) -> Shape:
    stages = r.randint(1, 4)
    load = r.choice(["STORES", "CP_ASYNC_WAIT", "CP_ASYNC_NOINC", "CP_ASYNC_ARRIVE", "BULK", "BULK_HALVES"])
    bulk = load.startswith("BULK")
    return {
        "tiles": tiles(r, stages),
        "stages": stages,
        "producers": 1 if bulk else r.randint(1, 3),
        "consumers": r.randint(1, 3),
        "load": constants("ring")[load],
        "one_producer": int(load != "CP_ASYNC_NOINC" and r.random() < 0.5),
        "one_consumer": int(r.random() < 0.5),
        "spin": int(r.random() < 0.25),
        "storer": int(r.random() < 0.3),
        "round": r.randint(0, 3),
    }


def pipelines(r: random.Random) -> Shape:
    stages, warps = r.randint(1, 4), r.randint(2, 4)
    return {
        "tiles": tiles(r, stages),
        "stages": stages,
        "kind": r.randint(0, 3),
        "producers": 32 * r.randint(1, warps - 1) + r.choice([0, 0, 0, -16]),
        "wide": r.randint(0, 1),
        "warps": warps,
    }


def barriers(r: random.Random) -> Shape:
    stages = r.randint(1, 4)
    return {
        "tiles": tiles(r, stages),
        "stages": stages,
        "kind": r.randint(0, 3),
        "producers": r.randint(1, 2),
        "consumers": r.randint(1, 3),
    }


def cluster(r: random.Random) -> Shape:
    stages = r.randint(1, 3)
    return {
        "tiles": tiles(r, stages),
        "stages": stages,
        "consumers": r.randint(1, 2),
        "load": r.randint(0, 2),
        "blocks": r.choice([2, 2, 4]),
    }


# ---- mistakes ------------------------------------------------------------------------------------------------------


def always(s: Shape) -> bool:
    return True


def reused(s: Shape) -> bool:
    """Return whether some slot is filled a second time."""
    return s["tiles"] > s["stages"]


def has(family: str, **wanted: str | tuple[str, ...]) -> Rule:
    """Return the rule that each given field has one of the given named values."""

    def rule(s: Shape) -> bool:
        c = constants(family)
        return all(s[k] in [c[n] for n in ((v,) if isinstance(v, str) else v)] for k, v in wanted.items())

    return rule


def both(*rules: Rule) -> Rule:
    return lambda s: all(rule(s) for rule in rules)


several_slots: Rule = lambda s: s["stages"] > 1  # noqa: E731
threads_load = has("ring", load=("STORES", "CP_ASYNC_WAIT", "CP_ASYNC_NOINC", "CP_ASYNC_ARRIVE"))
bulk_load = has("ring", load=("BULK", "BULK_HALVES"))
with_storer: Rule = lambda s: s["storer"] == 1  # noqa: E731
unified, one_thread = has("pipelines", kind="UNIFIED"), has("pipelines", kind="ONE_THREAD")
roles, by_count = has("pipelines", kind=("BY_COUNT", "BY_ROLE")), has("pipelines", kind="BY_COUNT")
shared_pipe = has("pipelines", kind=("UNIFIED", "BY_COUNT", "BY_ROLE"))
tokens, named, whole = (has("barriers", kind=k) for k in ("TOKENS", "NAMED", "WHOLE_BLOCK"))
objects, in_roles = has("barriers", kind=("TOKENS", "PARITY")), has("barriers", kind=("TOKENS", "PARITY", "NAMED"))

MISTAKES: dict[str, dict[str, Rule]] = {
    "ring": {
        "INIT_NOT_PUBLISHED": always,
        "PRODUCER_PARITY": always,
        "PRODUCER_PARITY_STUCK": reused,
        "PRODUCER_NO_WAIT": reused,
        "PRODUCER_STOPS": always,
        "PRODUCER_WRONG_SLOT": several_slots,
        "PRODUCER_NO_SYNCWARP": both(has("ring", load=("STORES", "CP_ASYNC_WAIT")), lambda s: s["one_producer"]),
        "CONSUMER_PARITY": always,
        "CONSUMER_PARITY_STUCK": reused,
        "CONSUMER_NO_WAIT": always,
        "CONSUMER_GOES_ON": always,
        "CONSUMER_WRONG_SLOT": several_slots,
        "CONSUMER_NO_SYNCWARP": both(reused, lambda s: s["one_consumer"]),
        "NO_RELEASE": reused,
        "ONE_RELEASE_MISSING": lambda s: s["round"] + s["stages"] < s["tiles"],
        "RELEASE_TWICE": lambda s: s["tiles"] > 2 * s["stages"],
        "EARLY_RELEASE": reused,
        "EARLY_ARRIVE": threads_load,
        "FULL_COUNT_UP": always,
        "FULL_COUNT_DOWN": lambda s: s["load"] != constants("ring")["CP_ASYNC_ARRIVE"],
        "EMPTY_COUNT_UP": reused,
        "EMPTY_COUNT_DOWN": reused,
        "COPY_NOT_WAITED": has("ring", load=("CP_ASYNC_WAIT", "CP_ASYNC_NOINC", "CP_ASYNC_ARRIVE")),
        "TX_UP": bulk_load,
        "TX_DOWN": bulk_load,
        "TX_MISSING": bulk_load,
        "STORE_NO_FENCE": with_storer,
        "STORE_NO_WAIT": with_storer,
        "STORE_SOURCE_NOT_READ": both(with_storer, reused),
    },
    "pipelines": {
        "NO_WAIT": always,
        "NO_ACQUIRE": both(shared_pipe, reused),
        "NO_RELEASE": both(shared_pipe, reused),
        "NO_COMMIT": always,
        "EARLY_RELEASE": both(shared_pipe, reused),
        "EARLY_COMMIT": shared_pipe,
        "PRODUCER_STOPS": roles,
        "CONSUMER_GOES_ON": roles,
        "IN_A_ROLE": unified,
        "TOO_DEEP": both(unified, reused),
        "COUNT_UP": by_count,
        "NO_SYNC_BEFORE": one_thread,
        "NO_SYNC_AFTER": both(one_thread, reused, lambda s: s["stages"] == 1),
    },
    "barriers": {
        "INIT_NOT_PUBLISHED": objects,
        "NO_FIRST_ARRIVAL": tokens,
        "PRODUCER_NO_WAIT": lambda s: reused(s) and (not whole(s) or s["stages"] == 1),
        "CONSUMER_NO_WAIT": always,
        "NO_RELEASE": both(in_roles, reused),
        "EARLY_RELEASE": both(in_roles, reused),
        "EARLY_ARRIVE": in_roles,
        "COUNT_UP": in_roles,
        # among more than two warps, those that a barrier forgets may meet again later, one round late
        "COUNT_DOWN": lambda s: objects(s) or (named(s) and s["producers"] + s["consumers"] == 2),
        "PRODUCER_STOPS": in_roles,
        "CONSUMER_GOES_ON": in_roles,
        "ARRIVES_INSTEAD_OF_WAITING": both(named, reused),
        "WRONG_BARRIER": named,
        "TOO_MANY_BARRIERS": both(named, reused),
        "ODD_COUNT": named,
    },
    "cluster": {
        "INIT_NOT_PUBLISHED": always,
        "ONLY_BLOCK_SYNC": always,
        "LEAVES_EARLY": always,
        "RELEASES_ONLY_HERE": reused,
        "EMPTY_COUNT_OF_ONE_BLOCK": reused,
        "PRODUCER_NO_WAIT": reused,
        "CONSUMER_NO_WAIT": always,
        "EARLY_RELEASE": reused,
        "TX_OF_OWN_PART": has("cluster", load=("MULTICAST", "ST_ASYNC")),
        "MULTICAST_TO_ONE": always,
        "PRODUCER_PARITY": always,
    },
}
SHAPES: dict[str, Callable[[random.Random], Shape]] = {f.__name__: f for f in (ring, pipelines, barriers, cluster)}


# ---- running -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    family: str
    shape: Shape = field(hash=False)
    bug: str = "NONE"

    def __str__(self) -> str:
        return f"{self.family} {self.bug} {self.shape}"

    @property
    def launch(self) -> dict[str, int]:
        s = self.shape
        warps = {
            "ring": lambda: s["producers"] + s["consumers"] + s["storer"],
            "pipelines": lambda: s["warps"],
            "barriers": lambda: s["producers"] + s["consumers"],
            "cluster": lambda: 1 + s["consumers"],
        }[self.family]()
        return {"block": 32 * warps, "grid": s.get("blocks", 1), "cluster": s.get("blocks", 1)}

    def run(self, schedules: int = SCHEDULES):
        """Return the result and whether the output is right."""
        s = self.shape
        x = np.random.default_rng(s["tiles"]).standard_normal((s["tiles"], TILE)).astype(np.float32)
        factors = np.arange(1, s["blocks"] + 1) if "blocks" in s else np.array([2])
        y = np.full((len(factors), s["tiles"], TILE), np.nan, np.float32)
        values = [v for k, v in s.items() if k not in ("warps", "blocks")]
        arguments = [np.int32(v) for v in (*values, constants(self.family)[self.bug])]
        result = kernel(self.family).run(
            x, y, *arguments, **self.launch, backend="emulator", seeds=schedules, timeout=20
        )
        right = all(
            np.array_equal(out, factors[:, None, None].astype(np.float32) * x[None, :, ::-1])
            for *_, out in result.outputs
        )
        return result, right


def draw(family: str, number: int, broken: bool) -> list[Case]:
    """Return ``number`` different cases; the broken ones go through all mistakes in turn."""
    r = random.Random(f"{family} {SEED} {broken}")
    bugs = list(MISTAKES[family]) if broken else ["NONE"]
    cases: list[Case] = []
    for i in range(number):
        bug = bugs[i % len(bugs)]
        while True:
            shape = SHAPES[family](r)
            if not broken or MISTAKES[family][bug](shape):
                break
        cases.append(Case(family, shape, bug))
    return cases


@pytest.mark.parametrize("family", SHAPES)
def test_right_pipelines_are_silent_and_right(family):
    wrong = []
    for case in draw(family, CASES, broken=False):
        result, right = case.run()
        if not result.ok or not right:
            wrong.append(f"{case}: {result if not result.ok else 'the output is wrong'}")
    assert not wrong, f"{len(wrong)} of {CASES}\n" + "\n".join(wrong[:5])


@pytest.mark.parametrize("family", SHAPES)
def test_broken_pipelines_are_found_under_every_schedule(family):
    missed = []
    number = max(CASES, len(MISTAKES[family]))
    for case in draw(family, number, broken=True):
        result, _ = case.run()
        found = {seed for f in result.faults for seed in f.seeds}
        if found != set(result.seeds):
            missed.append(f"{case}: schedules {sorted(set(result.seeds) - found)} of {result.seeds} report nothing")
        elif not all(f.line for f in result.faults):
            missed.append(f"{case}: without a line: {result}")
    assert not missed, f"{len(missed)} of {number}\n" + "\n".join(missed[:5])


@pytest.mark.parametrize("family", SHAPES)
def test_every_mistake_has_its_rule(family):
    """Each name in the kernel's list of mistakes is tried here."""
    (body,) = re.findall(r"enum Bug \{([^}]*)\}", kernel(family).source)
    assert {n.strip() for n in body.split(",") if n.strip()} - {"NONE"} == set(MISTAKES[family])
