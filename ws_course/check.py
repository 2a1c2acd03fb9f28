"""Is a kernel right? Random inputs, poisoned outputs, a comparison with NumPy, and a verdict that can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ws_course.faults import Fault, FaultKind
from ws_course.kernels import catalog
from ws_course.kernels.catalog import KernelSpec
from ws_course.problem import TileProblem
from ws_course.runtime import Kernel, Result, TensorMap
from ws_course.runtime.launch import Dim
from ws_course.runtime.names import parameter_names
from ws_course.runtime.tiles import arguments, tensor_map

# A NaN with a payload of its own: a kernel that computes NaN makes another one, so "never written" can be told apart.
_NAN_BITS = {2: 0x7E5C, 4: 0x7FC05C05, 8: 0x7FF85C055C055C05}
_INTEGERS = (
    -1234567,
    -77,
    123,
    91,
    7,
)  # the first that fits the type and is no expected value marks an unwritten element


@dataclass(frozen=True, eq=False)
class Out:
    """Stand for an output among a kernel's arguments: an array that must hold ``expected`` afterwards.

    The kernel gets a buffer of the shape and dtype of ``expected``, filled with poison, or with ``start`` when the
    kernel updates values that are there already. An element passes when ``|got - expected| <= atol + rtol *
    |expected|``; integers must be equal. The defaults suit float32 sums of up to a few hundred terms. A kernel that
    stores through a tensor map gets ``through(buffer)``, the map of the buffer, in its place.
    """

    expected: np.ndarray
    start: np.ndarray | None = None
    rtol: float = 1e-5
    atol: float = 1e-5
    through: Callable[[np.ndarray], TensorMap] | None = None

    def __post_init__(self) -> None:
        expected = np.ascontiguousarray(self.expected)
        if expected.dtype.kind not in "fiu":
            raise TypeError(f"an output of dtype {expected.dtype} cannot be checked: use a float or integer dtype")
        if expected.dtype.kind == "f" and np.isnan(expected).any():
            raise ValueError("the expected values hold NaN, which equals nothing: correct the reference first")
        object.__setattr__(self, "expected", expected)
        if self.start is not None:
            start = np.ascontiguousarray(self.start)
            if (start.shape, start.dtype) != (expected.shape, expected.dtype):
                raise ValueError(
                    f"start is {start.dtype} {start.shape} but expected is {expected.dtype} {expected.shape}: "
                    "both describe the same buffer"
                )
            object.__setattr__(self, "start", start)

    @property
    def exact(self) -> bool:
        """Return whether only equal values pass."""
        return self.expected.dtype.kind != "f" or self.rtol == self.atol == 0

    def buffer(self) -> np.ndarray:
        """Return a fresh array for the kernel to write into."""
        return poison(self.expected) if self.start is None else self.start.copy()


@dataclass(frozen=True, eq=False)
class Case:
    """Hold one launch and what must come of it.

    ``args`` are the kernel's arguments in order: NumPy arrays and tensor maps of arrays that it reads, scalars, and
    :class:`Out` for what it writes. ``grid``,
    ``block``, ``cluster`` (blocks), ``smem`` (bytes of dynamic shared memory) and ``cooperative`` are the launch;
    ``name`` is what a verdict calls the case.
    """

    args: tuple
    grid: Dim = 1
    block: Dim = 1
    cluster: Dim = 1
    smem: int = 0
    cooperative: bool = False
    name: str = ""


@dataclass(frozen=True)
class Verdict:
    """Say whether a kernel passed, and if not, where and why; true in a condition when it passed.

    ``cases`` names the cases that ran, the last of which failed if ``faults`` is not empty; ``total`` is how many there
    were. ``schedules`` is how many orders of the threads the emulator tried for each (0 on a GPU). ``max_error`` is the
    largest absolute error of a case that passed. The text has no timings and no measured errors, so that it is the
    same on every machine.
    """

    kernel: str
    cases: tuple[str, ...]
    total: int
    backend: str
    schedules: int = 0
    faults: tuple[Fault, ...] = field(default=())
    max_error: float = 0.0
    exact: bool = False

    @property
    def ok(self) -> bool:
        """Return whether every case ran without a fault and gave the right values."""
        return not self.faults and len(self.cases) == self.total > 0

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if not self.ok:
            where = f" on {self.cases[-1]} (case {len(self.cases)} of {self.total})" if self.cases else ""
            return "\n".join([f"failed{where}", *map(str, self.faults)])
        count = f"{self.total} case{'s' if self.total != 1 else ''}"
        if self.schedules:
            how = f"{count} × {self.schedules} schedule{'s' if self.schedules != 1 else ''} in the emulator"
        else:
            how = f"{count} on the GPU"
        return f"passed: {how}, every value {'exact' if self.exact else 'within tolerance'}"

    __repr__ = __str__


def poison(like: np.ndarray) -> np.ndarray:
    """Return an array of the shape and dtype of ``like`` whose elements all say "never written".

    Floating-point elements are NaN with a payload of their own; integers are a value that ``like`` does not hold
    (where the type has one: an 8-bit array can use all its values up).
    """
    if like.dtype.kind == "f" and like.dtype.itemsize in _NAN_BITS:
        unsigned = np.dtype(f"u{like.dtype.itemsize}")
        return np.full(like.shape, _NAN_BITS[like.dtype.itemsize], unsigned).view(like.dtype)
    return np.full(like.shape, _unused_value(like), like.dtype)


def _unused_value(like: np.ndarray) -> int | float:
    if like.dtype.kind == "f":
        return float("nan")
    limits = np.iinfo(like.dtype)
    every = range(limits.min, limits.max + 1) if limits.bits == 8 else ()
    for value in (*_INTEGERS, *every):
        if limits.min <= value <= limits.max and not (like == value).any():
            return value
    return int(limits.max)


def compare(name: str, got: np.ndarray, out: Out) -> tuple[Fault | None, float]:
    """Compare one output with what was expected: return a ``wrong-result`` fault or None, and the largest error.

    ``name`` is the kernel's parameter. NaN never passes; infinity passes only where the same infinity was expected.
    """
    want = out.expected
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(got.astype(np.float64) - want.astype(np.float64))
        limit = 0.0 if out.exact else out.atol + out.rtol * np.abs(want.astype(np.float64))
        right = (got == want) if out.exact else (got == want) | (np.isfinite(error) & (error <= limit))
    if right.all():
        finite = error[np.isfinite(error)]
        return None, float(finite.max()) if finite.size else 0.0
    wrong = ~right
    unwritten = wrong & _same_bits(got, out.buffer())
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = f"{name}[{', '.join(map(str, first))}]"
    found = "was never written" if out.start is None and unwritten[first] else f"is {got[first]!s}"
    count, blank = int(wrong.sum()), int(unwritten.sum()) if out.start is None else 0
    message = f"{place} {found}, expected {want[first]!s}; {count} of {want.size} elements are wrong"
    if blank:
        message += f", {'all' if blank == count else blank} of them never written"
    hint = ""
    if blank == count:
        hint = "no thread has these elements: look at the index and at the bounds of its loop or its if"
    elif not blank and got.dtype.kind == "f" and np.isnan(got[first]):
        hint = "NaN spreads: one uninitialised value that is read is enough"
    return Fault(FaultKind.WRONG_RESULT, message + ".", hint, object=place), float("inf")


def _same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind != "f" or a.dtype.itemsize not in _NAN_BITS:
        return a == b
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    return a.view(unsigned) == b.view(unsigned)


def check_kernel(
    kernel: Kernel, cases: Iterable[Case], *, backend: str = "auto", seeds: int = 5, timeout: float = 30.0
) -> Verdict:
    """Run a kernel on every case and compare what it wrote; stop at the first case that fails.

    ``seeds`` is how many schedules the emulator tries for each case, ``timeout`` the seconds that one case may take.
    A fault that the backend reports comes before a wrong value: it is the cause, the value the consequence. Raises
    ``ValueError`` when there is no case, and what :meth:`Kernel.run` raises for arguments that do not fit.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"check_kernel takes a kernel, such as a %%cuda cell makes, not {type(kernel).__name__}")
    return _judge([(kernel, case) for case in cases], backend, seeds, timeout)


def check(
    kernel: Kernel | KernelSpec | str,
    problem: TileProblem | Iterable[TileProblem],
    *,
    grid: Dim | None = None,
    block: Dim | None = None,
    smem: int | None = None,
    backend: str = "auto",
    seeds: int = 5,
    timeout: float = 30.0,
    **params: int,
) -> Verdict:
    """Run a tile kernel on one problem or several and compare with NumPy.

    ``kernel`` is a kernel of the catalog (its name, or its entry) with constants as ``params`` (``STAGES=3``), or a
    :class:`Kernel` that takes ``(const float* A, const float* B, float* C, int tiles)``. A kernel of the catalog knows
    its ``block``, ``smem`` and cluster, gets tensor maps and a tile counter where it asks for them, and takes TILE,
    INTENSITY and SHARE from the problem; a kernel of your own needs ``block``. ``grid`` defaults to two blocks, or one
    for a single tile, and to whole clusters. The rest is as in :func:`check_kernel`.
    """
    problems = (problem,) if isinstance(problem, TileProblem) else tuple(problem)
    if isinstance(kernel, str):
        kernel = catalog.get(kernel)
    made = []
    for each in problems:
        a, b = each.inputs()
        out = Out(each.reference(), rtol=0.0, atol=each.tolerance)
        args, cluster = (a, b, out, each.tiles), 1
        if isinstance(kernel, KernelSpec):
            constants = {**params, "TILE": each.tile, "INTENSITY": each.intensity, "SHARE": each.share}
            ready = Kernel(kernel.source, kernel.name, kernel.path.name, kernel.defines(**constants))
            threads = kernel.block(**constants) if block is None else block
            shared = kernel.smem(**constants) if smem is None else smem
            cluster = kernel.cluster(**constants)
            if each.share % cluster:
                raise ValueError(
                    f"the CTAs of a cluster of {kernel.name} use one matrix of B: with CLUSTER={cluster} and share="
                    f"{each.share} some would not; give TileProblem(…, share={cluster}) or a CLUSTER that divides share"
                )
            args = _arguments(kernel, a, b, out)
        elif block is None:
            raise ValueError("how many threads has a block? A kernel of your own needs block=…")
        elif params:
            raise ValueError(f"constants such as {next(iter(params))} belong to the kernel: set them with -D in %%cuda")
        else:
            ready, threads, shared = kernel, block, smem or 0
        clusters = -(-max(1, min(each.tiles, 2)) // cluster)
        name = f"{each.tiles} tile{'s' if each.tiles != 1 else ''}"
        blocks = clusters * cluster if grid is None else grid
        made.append((ready, Case(args, grid=blocks, block=threads, cluster=cluster, smem=shared, name=name)))
    return _judge(made, backend, seeds, timeout)


def _arguments(spec: KernelSpec, a: np.ndarray, b: np.ndarray, out: Out) -> tuple:
    args = list(arguments(spec, a, b, out.expected))
    args[2] = replace(out, through=tensor_map) if "C" in spec.maps else out
    if spec.counter:  # it must be 0 again, for the next launch
        args[-1] = Out(args[-1], start=args[-1])
    return tuple(args)


def _judge(pairs: list[tuple[Kernel, Case]], backend: str, seeds: int, timeout: float) -> Verdict:
    if not pairs:
        raise ValueError("there is no case to check: a check of nothing would always pass")
    ran: list[str] = []
    faults: tuple[Fault, ...] = ()
    worst, exact, ran_on, schedules = 0.0, True, backend, seeds
    for number, (kernel, case) in enumerate(pairs, start=1):
        ran.append(case.name or f"case {number}")
        faults, error, result = _run_case(kernel, case, backend, seeds, timeout)
        ran_on, schedules = result.backend, min(schedules, len(result.seeds))
        worst, exact = max(worst, error), exact and all(a.exact for a in case.args if isinstance(a, Out))
        if faults:
            break
    return Verdict(pairs[0][0].entry, tuple(ran), len(pairs), ran_on, schedules, faults, worst, exact)


def _run_case(
    kernel: Kernel, case: Case, backend: str, seeds: int, timeout: float
) -> tuple[tuple[Fault, ...], float, Result]:
    passed = [_Passed.of(arg) for arg in case.args]
    result = kernel.run(
        *(one.given for one in passed),
        grid=case.grid,
        block=case.block,
        cluster=case.cluster,
        smem=case.smem,
        cooperative=case.cooperative,
        backend=backend,
        seeds=seeds,
        timeout=timeout,
    )
    if result.faults:
        return _causes_first(result.faults), float("inf"), result
    arrays = [index for index, one in enumerate(passed) if one.memory is not None]
    names = parameter_names(kernel.source, kernel.entry)
    worst = 0.0
    for number, run in enumerate(result.outputs or [tuple(passed[index].memory for index in arrays)]):
        faults: list[Fault] = []
        for index, got in zip(arrays, run, strict=True):
            name = names[index] if index < len(names) else f"argument {index + 1}"
            fault, error = passed[index].compare(name, got)
            worst = max(worst, error)
            faults += [replace(fault, file=kernel.file, seeds=result.seeds[number : number + 1])] if fault else []
        if faults:
            return tuple(faults), worst, result
    return (), worst, result


@dataclass(frozen=True, eq=False)
class _Passed:
    """One argument of a case and what the kernel gets for it; ``memory`` is the array that it can reach, if any."""

    asked: object
    given: object
    memory: np.ndarray | None = None
    before: bytes = b""

    @classmethod
    def of(cls, asked: object) -> _Passed:
        if isinstance(asked, Out):
            given = asked.through(asked.buffer()) if asked.through else asked.buffer()
        elif isinstance(asked, TensorMap):
            given = replace(asked, array=asked.array.copy())
        elif isinstance(asked, np.ndarray):
            given = asked.copy()
        else:
            return cls(asked, asked)
        memory = given.array if isinstance(given, TensorMap) else given
        return cls(asked, given, memory, memory.tobytes())

    def compare(self, name: str, got: np.ndarray) -> tuple[Fault | None, float]:
        # A map of no tiles shows memory that stands in for them: like an input, it must stay as it was.
        if isinstance(self.asked, Out) and got.size == self.asked.expected.size:
            return compare(name, got.reshape(self.asked.expected.shape), self.asked)
        if got.tobytes() == self.before:
            return None, 0.0
        what = "wrote to" if isinstance(self.asked, Out) else "changed its input"
        return Fault(FaultKind.WRONG_RESULT, f"the kernel {what} {name}.", object=name), float("inf")


def _causes_first(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    raced = {_array(fault) for fault in faults if fault.kind is FaultKind.RACE}
    # Who reads too early finds nothing written: in such an array that is how the race shows, not a second mistake.
    kept = [f for f in faults if f.kind is not FaultKind.UNINITIALISED_READ or _array(f) not in raced]
    # A barrier that is called wrongly orders nothing, so the races and hangs behind it are its consequences.
    return tuple(sorted(kept, key=lambda f: f.kind not in (FaultKind.ILLEGAL_COLLECTIVE, FaultKind.BARRIER_MISUSE)))


def _array(fault: Fault) -> str:
    return fault.object.partition("[")[0]
