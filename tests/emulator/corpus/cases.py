# ruff: noqa: UP031
"""Launch data and expected results of the 22 kernel pairs beside this file, in NumPy.


case = CASES['A01']
case.fault, case.may_also            the .cu header's words ('deadlock', ...), corrected where hardware disagreed
case.h200                            what the bad variant did on an H200: ok | wrong | launch-error | hang
case.launches('bad')                 list of Launch, to be run in order on one stream
case.buffers()                       {name: fresh array}: inputs filled, outputs poisoned
case.scalars()                       {name: NumPy scalar}
case.check(buffers)                  -> (ok, largest error); NaN never passes
"""

import os
import zlib
from collections import namedtuple

import numpy as np

KERNELS = os.path.dirname(os.path.abspath(__file__))
POISON = {"f": np.nan, "i": -1234567}  # value of every output element before the launch
TOL = 1e-4  # |got - want| <= TOL * (1 + |want|)
f4, f8, i4 = np.float32, np.float64, np.int32

# kind: 'in' (seeded normal, or value), 'out' (poisoned, or value), 'scalar' (value)
Arg = namedtuple("Arg", "name kind dtype size value")
Launch = namedtuple("Launch", "kernel grid block cluster smem cooperative pdl args")


def inp(name, size, dtype=f4, value=None):
    return Arg(name, "in", dtype, size, value)


def out(name, size, dtype=f4, value=None):
    return Arg(name, "out", dtype, size, value)


def num(name, value, dtype=i4):
    return Arg(name, "scalar", dtype, 1, value)


def dim(v):
    return tuple(v) + (1,) * (3 - len(v)) if isinstance(v, (tuple, list)) else (v, 1, 1)


def launch(kernel, args, grid=1, block=1, cluster=1, smem=0, cooperative=False, pdl=False):
    """args: space-separated names in the order of the kernel's parameters."""
    return Launch(kernel, dim(grid), dim(block), dim(cluster), smem, cooperative, pdl, tuple(args.split()))


class Case:
    def __init__(self, id, fault, args, expect, runs, good_runs=None, may_also=()):
        self.id, self.fault, self.may_also = id, fault, tuple(may_also.split()) if may_also else ()
        self.args, self._expect, self._runs, self._good = args, expect, runs, good_runs

    def kinds(self):
        """Fault kinds that the kernel's own header accepts."""
        import re

        line = re.search(r"^// fault: (.*)$", open(self.source("bad")).read(), re.M).group(1)
        first, _, rest = line.partition(" (may also show as: ")
        return {first.strip(), *(k.strip() for k in rest.rstrip(")").split(",") if k.strip())}

    def launches(self, variant="good"):
        return self._good if variant == "good" and self._good else self._runs

    def source(self, variant):
        return os.path.join(KERNELS, "%s_%s.cu" % (self.id, variant))

    def buffers(self):
        rng = np.random.default_rng(zlib.crc32(self.id.encode()))
        b = {}
        for a in self.args:
            if a.kind == "scalar":
                continue
            if a.value is not None:
                b[a.name] = np.full(a.size, a.value, a.dtype) if np.ndim(a.value) == 0 else np.array(a.value, a.dtype)
            elif a.kind == "in":
                b[a.name] = rng.standard_normal(a.size).astype(a.dtype)
            else:
                b[a.name] = np.full(a.size, POISON[np.dtype(a.dtype).kind], a.dtype)
        return b

    def scalars(self):
        return {a.name: a.dtype(a.value) for a in self.args if a.kind == "scalar"}

    def expected(self):
        """{name: float64 array}, computed from fresh inputs."""
        return {k: np.asarray(v, f8) for k, v in self._expect({**self.buffers(), **self.scalars()}).items()}

    def check(self, got):
        ok, worst = True, 0.0
        for name, want in self.expected().items():
            g = np.asarray(got[name], f8)
            err = np.abs(g - want)
            ok = ok and bool(np.all(err <= TOL * (1 + np.abs(want))))  # False for NaN
            worst = max(worst, float(np.max(err)) if np.all(np.isfinite(err)) else float("inf"))
        return ok, worst


CASES = {}


def add(id, fault, args, expect, *runs, good=None, may_also=""):
    CASES[id] = Case(id, fault, args, expect, list(runs), good, may_also)


def rows(a, n):
    return np.asarray(a, f8).reshape(-1, n)


def rev_sum(a, n):
    return rows(a, n)[:, ::-1].sum(0)  # sum over tiles of n, each reversed


def rev(d):
    return dict(out=d["in"][::-1])  # out[i] = in[n-1-i]


add(
    "A01",
    "race",
    [inp("in", 128), inp("row", 32), out("out", 128)],
    lambda d: dict(out=d["in"] + np.tile(d["row"], 4)),
    launch("row_add", "in row out", 1, (32, 4)),
)
add(
    "A02",
    "race",
    [inp("in", 1024), out("out", 128)],
    lambda d: dict(out=rev_sum(d["in"], 128)),
    launch("ring_sum", "in out", 1, 128),
)
add(
    "A04",
    "illegal-collective",
    [inp("in", 64, f8), out("out", 64, f8)],
    rev,
    launch("stage_in", "in out", 1, 64),
    may_also="uninitialised-read",
)
add(
    "A05",
    "deadlock",
    [inp("in", 256), out("out", 128)],
    lambda d: dict(out=rev_sum(d["in"], 128)),
    launch("two_in_flight", "in out", 1, 128),
)
add("A06", "race", [inp("in", 128), out("out", 128)], rev, launch("reverse", "in out", 1, 128), may_also="deadlock")
add("A07", "race", [inp("in", 32), out("out", 32)], rev, launch("handoff", "in out", 1, 64), may_also="deadlock")
add(
    "A08",
    "uninitialised-read",
    [inp("in", 512), out("out", 128)],
    lambda d: dict(out=rev_sum(d["in"], 128)),
    launch("four_barriers", "in out", 1, 128),
    may_also="race",
)
add(
    "A09",
    "deadlock",
    [inp("in", 192), out("out", 32)],
    lambda d: dict(out=rev_sum(d["in"], 32)),
    launch("ws_sum", "in out", 1, 64),
)
add(
    "A10",
    "illegal-collective",
    [inp("in", 32), out("out", 32), num("one", 1)],
    rev,
    launch("named_handoff", "in out one", 1, 64),
    may_also="deadlock",
)
add(
    "A11",
    "launch-error",
    [inp("in", 64), out("out", 64), num("id", 10)],
    rev,
    launch("half_reverse", "in out id", 1, 128),
)
add(
    "A12",
    "illegal-collective",
    [inp("in", 64), out("out", 64)],
    lambda d: dict(out=d["in"][np.arange(64) & ~1]),
    launch("pair_copy", "in out", 1, 64),
    may_also="deadlock",
)
add(
    "A13",
    "race",
    [inp("in", 256), out("out", 2)],
    lambda d: dict(out=[d["in"].astype(f8).sum(), (d["in"].astype(f8) ** 2).sum()]),
    launch("moments", "in out", 1, 256),
)
add(
    "A14",
    "race",
    [inp("in", 1024), out("out", 1024)],
    lambda d: dict(out=d["in"].reshape(32, 32).T.ravel()),
    launch("transpose_epilogue", "in out", 1, (32, 8)),
)
add(
    "A15",
    "deadlock",
    [inp("in", 384), out("out", 384)],
    lambda d: dict(out=2 * d["in"]),
    launch("reg_shift", "in out", 1, 512),
)
add(
    "A17",
    "race",
    [inp("in", 256), out("out", 256)],
    lambda d: dict(out=2 * d["in"]),
    launch("scale_store", "in out", 1, 256),
)
add(
    "A19",
    "deadlock",
    [inp("a", 128), inp("b", 128), out("out", 128)],
    lambda d: dict(out=d["a"][::-1] + d["b"]),
    launch("two_operands", "a b out", 1, 128),
)
add(
    "A20",
    "race",
    [inp("in", 4096), out("out", 4096)],
    lambda d: dict(out=d["in"]),
    launch("copy_ring", "in out", 1, 32),
)
add(
    "A22",
    "out-of-bounds",
    [inp("in", 256), out("out", 256)],
    lambda d: dict(out=np.r_[np.arange(128) + d["in"][128:].astype(f8).sum(), d["in"][128:]]),
    launch("remote_sum", "in out", 2, 128, 2),
    may_also="race",
)
add(
    "A23",
    "deadlock",
    [inp("in", 128), out("out", 256)],
    lambda d: dict(out=np.r_[d["in"][::-1], d["in"][::-1] + 1]),
    launch("mcast", "in out", 2, 128, 2),
)
add(
    "A24",
    "race",
    [inp("in", 6 * 3 * 128), out("out", 6 * 128)],
    lambda d: dict(out=np.concatenate([rev_sum(x, 128) for x in rows(d["in"], 3 * 128)])),
    launch("persistent_sum", "in out", 2, 128),
    may_also="wrong-result",
)
N25 = 4194304
add(
    "A25",
    "deadlock",
    [inp("in", N25), out("tmp", N25), out("out", N25), inp("counter", 1, i4, 0)],
    lambda d: dict(out=2 * d["in"][::-1]),
    launch("two_phase", "in tmp out counter", 4096, 1024),
    good=[launch("two_phase", "in tmp out counter", 132, 1024, cooperative=True)],
)
add(
    "A27",
    "race",
    [out("x", 16384), out("y", 16384)],
    lambda d: dict(x=np.arange(16384), y=3 * np.arange(16384)),
    launch("fill", "x", 64, 256),
    launch("use", "x y", 64, 256, pdl=True),
)
