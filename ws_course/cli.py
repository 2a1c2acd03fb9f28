"""The command ``ws-course``: a thin front for the modules that do the work, each imported when it is asked for."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ws_course.kernels.catalog import KernelSpec
    from ws_course.problem import TileProblem
    from ws_course.runtime import Kernel

OK, FAILED, USAGE, FAULTS = 0, 1, 2, 3

SPECS = """\
an argument (SPEC) is one of
  in:f32[1024]=normal       an input array: normal, uniform, zeros, ones, arange, a constant or a list
  in:i32[6]=1,0,1,1,0,1     an input array, element by element
  out:f32[3*128]            an output array, poisoned before the launch (NaN, or -1234567 for integers)
  inout:i32[1]=0            an array that is read and written
  i32=16                    a scalar
with the types f16 f32 f64, i8 i16 i32 i64, u8 u16 u32 u64"""


class UsageError(Exception):
    """Say what is wrong with a command line; ends the program with exit code 2."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 good, 1 this machine cannot, 2 bad usage, 3 faults found."""
    parser = _parser()
    arguments, arguments.rest = parser.parse_known_args(argv, argparse.Namespace(takes_rest=False))
    if arguments.rest and not arguments.takes_rest:
        parser.error(f"unrecognized arguments: {' '.join(arguments.rest)}")
    try:
        code = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # the reader, such as `head`, has seen enough; nothing is left to say at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except UsageError as error:
        print(f"ws-course {arguments.command}: {error}", file=sys.stderr)
        return USAGE
    except RuntimeError as error:
        # imported here, since the doctor must work where nothing else does
        from ws_course.runtime import BackendError

        if not isinstance(error, BackendError):
            raise
        print(f"ws-course {arguments.command}: {error}", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    from ws_course import __version__

    parser = argparse.ArgumentParser(prog="ws-course", description="The tools of the warp specialization course.")
    parser.add_argument("--version", action="version", version=f"ws-course {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    doctor = commands.add_parser("doctor", help="say what this machine can run, and how to mend what it cannot")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=_doctor)

    emulate = commands.add_parser(
        "emulate",
        help="run any CUDA kernel file on the CPU and report its faults",
        description="Run a CUDA kernel in the emulator. Exit 0 without faults, 3 with faults, 2 for bad usage.",
        epilog=SPECS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    emulate.add_argument("file", type=Path, metavar="FILE.cu")
    emulate.add_argument("--entry", metavar="NAME", help="the __global__ function (default: the file's stem)")
    for name in ("grid", "block", "cluster"):
        emulate.add_argument(f"--{name}", type=_integers, metavar="X[,Y,Z]", required=name != "cluster", default=(1,))
    emulate.add_argument("--smem", type=int, default=0, metavar="BYTES", help="dynamic shared memory per block")
    emulate.add_argument("--cooperative", action="store_true", help="launch so that the whole grid can synchronise")
    emulate.add_argument("--arg", action="append", default=[], metavar="SPEC", help="one kernel argument, in order")
    emulate.add_argument("--define", "-D", action="append", default=[], metavar="NAME=VALUE", help="a constant")
    emulate.add_argument("--seeds", type=int, default=1, metavar="N", help="how many schedules to try (default 1)")
    emulate.add_argument(
        "--timeout", type=float, default=30.0, metavar="SECONDS", help="for each schedule (default 30)"
    )
    emulate.add_argument("--out", type=Path, metavar="FILE.npz", help="save the arrays afterwards as arg0, arg1, …")
    emulate.add_argument("--json", action="store_true", help="print JSON")
    emulate.set_defaults(run=_emulate)

    check = commands.add_parser("check", help="run a tile kernel on random inputs and compare with NumPy")
    check.add_argument("kernel", metavar="RUNG|FILE.cu", help="a kernel of the catalog, or a file with its parameters")
    check.add_argument("--define", "-D", action="append", default=[], metavar="NAME=VALUE", help="a constant")
    check.add_argument("--tiles", type=_integers, default=(0, 1, 2, 5, 13), metavar="N,N,…", help="default 0,1,2,5,13")
    check.add_argument("--entry", metavar="NAME", help="of a file: the __global__ function (default: the file's stem)")
    check.add_argument("--block", type=_integers, metavar="X[,Y,Z]", help="of a file: threads per block")
    check.add_argument("--smem", type=int, metavar="BYTES", help="of a file: dynamic shared memory per block")
    check.add_argument(
        "--grid", type=_integers, metavar="X[,Y,Z]", help="default: two blocks, or one for a single tile"
    )
    check.add_argument("--backend", choices=("auto", "gpu", "emulator"), default="auto")
    check.add_argument("--seeds", type=int, default=5, metavar="N", help="how many schedules to try (default 5)")
    check.set_defaults(run=_check)

    trace = commands.add_parser("trace", help="run a tile kernel and say, or export, what each warp did when")
    trace.add_argument("kernel", metavar="RUNG", help="a kernel of the catalog")
    trace.add_argument("--define", "-D", action="append", default=[], metavar="NAME=VALUE", help="a constant")
    trace.add_argument("--tiles", type=int, default=6, metavar="N", help="of the whole grid (default 6)")
    trace.add_argument(
        "--grid", type=int, metavar="CTAS", help="default: one, on a GPU one for each SM; whole clusters"
    )
    trace.add_argument(
        "--keep",
        type=_range,
        metavar="M:N",
        help="keep tiles M to N-1 of the first CTA or cluster (default: everything)",
    )
    trace.add_argument("--backend", choices=("auto", "gpu", "emulator"), default="auto")
    trace.add_argument("--perfetto", type=Path, metavar="FILE", help="write a file for ui.perfetto.dev")
    trace.set_defaults(run=_trace)

    # these two have options of their own, which their modules read
    for name, text in (
        ("record", "measure the kernels on this machine's GPU and write the records"),
        ("exercises", "write exercises/ from solutions/, or compare with --check"),
    ):
        other = commands.add_parser(name, help=text, add_help=False)
        other.set_defaults(run=_record if name == "record" else _exercises, takes_rest=True)
    return parser


def _integers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: write integers with commas between, such as 4 or 4,2") from None


def _range(text: str) -> range:
    first, _, last = text.partition(":")
    try:
        return range(int(first), int(last))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: write two integers with a colon between, such as 24:32") from None


def _doctor(arguments: argparse.Namespace) -> int:
    from ws_course import doctor

    if arguments.json:
        answer = doctor.report_json()
        print(json.dumps(answer, indent=1))
        return OK if answer["ok"] else FAILED
    ok, text = doctor.report()
    print(text)
    return OK if ok else FAILED


def _emulate(arguments: argparse.Namespace) -> int:
    import numpy as np

    from ws_course.runtime import argspec

    if arguments.seeds < 1:
        raise UsageError(f"--seeds {arguments.seeds}: at least one schedule has to be tried")
    _expect_writable("--out", arguments.out)
    if not 0 < arguments.timeout <= 3600:
        raise UsageError(f"--timeout {arguments.timeout:g}: give more than 0 and at most 3600 seconds")
    kernel = _kernel(arguments.file, arguments.entry, _defines(arguments))
    try:
        values = argspec.build(arguments.arg)
        result = kernel.run(
            *values,
            grid=arguments.grid,
            block=arguments.block,
            cluster=arguments.cluster,
            smem=arguments.smem,
            cooperative=arguments.cooperative,
            backend="emulator",
            seeds=arguments.seeds,
            timeout=arguments.timeout,
        )
    except (ValueError, TypeError) as error:
        raise UsageError(error) from error
    if arguments.out:
        arrays = {f"arg{i}": value for i, value in enumerate(values) if isinstance(value, np.ndarray)}
        with _writing("--out", arguments.out), arguments.out.open("wb") as file:  # a name without .npz stays as it is
            np.savez(file, **arrays)
    if arguments.json:
        print(json.dumps({
            "faults": [fault.to_json() for fault in result.faults],
            "seeds": list(result.seeds),
            "seconds": result.seconds,
            "printed": result.printed,
        }, indent=1))  # fmt: skip
    else:
        print(result.printed, end="")
        print(result)
    return OK if result.ok else FAULTS


def _check(arguments: argparse.Namespace) -> int:
    from ws_course.check import check
    from ws_course.kernels import catalog
    from ws_course.problem import TileProblem

    own = arguments.kernel.endswith(".cu")
    how = {name: getattr(arguments, name) for name in ("grid", "block", "smem", "backend", "seeds")}
    try:
        usual = catalog.LADDER[0] if own else catalog.get(arguments.kernel)
        of_problem, numbers, defines = _constants(usual, arguments)
        problems = [_affordable(TileProblem(tiles, **of_problem)) for tiles in arguments.tiles]
        if own:
            verdict = check(_kernel(Path(arguments.kernel), arguments.entry, defines), problems, **how)
        else:
            verdict = check(usual, problems, **how, **numbers)
    except KeyError as error:
        raise UsageError(error.args[0]) from error
    except (ValueError, TypeError) as error:
        raise UsageError(error) from error
    print(verdict)
    return OK if verdict else FAULTS


def _trace(arguments: argparse.Namespace) -> int:
    from ws_course.kernels import catalog
    from ws_course.problem import TileProblem
    from ws_course.runtime import BackendError
    from ws_course.trace.perfetto import write
    from ws_course.trace.run import timeline
    from ws_course.trace.summary import summary

    _expect_writable("--perfetto", arguments.perfetto)
    how = {name: getattr(arguments, name) for name in ("grid", "keep", "backend")}
    try:
        spec = catalog.get(arguments.kernel)
        of_problem, numbers, _ = _constants(spec, arguments)
        problem = _affordable(TileProblem(arguments.tiles, **of_problem))
        found = timeline(spec, problem, **how, **numbers)
    except KeyError as error:
        raise UsageError(error.args[0]) from error
    except (ValueError, TypeError) as error:
        raise UsageError(error) from error
    except BackendError:
        raise
    except RuntimeError as error:
        print(error)
        return FAULTS
    print(summary(found))
    if arguments.perfetto:
        with _writing("--perfetto", arguments.perfetto):
            write(found, arguments.perfetto)
        print(f"written to {arguments.perfetto}: open it at https://ui.perfetto.dev")
    return OK


def _record(arguments: argparse.Namespace) -> int:
    from ws_course.bench.__main__ import main as record

    return record(arguments.rest, "ws-course record")


def _exercises(arguments: argparse.Namespace) -> int:
    from ws_course.grading import generate

    return generate.main(arguments.rest)


def _expect_writable(option: str, path: Path | None) -> None:
    """Raise ``UsageError`` where no file can be written, before anything runs whose result would be lost."""
    if path is None:
        return
    with _writing(option, path):
        if not path.parent.is_dir():
            raise UsageError(f"{option} {path}: there is no folder {path.parent}")
        if path.is_dir():
            raise UsageError(f"{option} {path} is a folder: name a file in it")
        new = not path.exists()
        if new or path.is_file():  # not a terminal or a pipe: opening one may already do something
            path.open("ab").close()
        if new:
            path.unlink()


@contextmanager
def _writing(option: str, path: Path) -> Iterator[None]:
    """Turn an error of the file system into a ``UsageError`` that names the option."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{option} {path}: no file can be written there ({error.strerror}): name one in a folder of your own"
        ) from error


def _affordable(problem: TileProblem) -> TileProblem:
    """Return a problem whose arrays fit in memory; raise ``UsageError`` before they are made."""
    from ws_course.runtime.argspec import LIMIT

    size = problem.bytes  # of A, B and C
    if size > 3 * LIMIT:
        raise UsageError(
            f"{problem.tiles} tiles of {problem.tile} x {problem.tile} take {size / 2**30:.0f} GiB, and at most "
            f"{3 * LIMIT >> 30} GiB are allowed here: give fewer with --tiles, or smaller ones with -D TILE"
        )
    return problem


def _defines(arguments: argparse.Namespace) -> dict[str, str]:
    defines = {}
    for text in arguments.define:
        name, _, value = text.partition("=")
        if not name.isidentifier():
            raise UsageError(f"--define {text}: write NAME=VALUE, such as STAGES=3")
        defines[name] = value or "1"
    return defines


def _constants(
    spec: KernelSpec, arguments: argparse.Namespace
) -> tuple[dict[str, int], dict[str, int], dict[str, str]]:
    """Return the constants that make the problem, the others, and all of them as text."""
    names = {"TILE": "tile", "INTENSITY": "intensity", "SHARE": "share"}
    defines = {**{name: str(spec.defaults[name]) for name in names}, **_defines(arguments)}
    numbers = {name: _integer(name, value) for name, value in defines.items()}
    return {names[name]: numbers.pop(name) for name in names}, numbers, defines


def _integer(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"--define {name}={value}: a constant of a tile kernel is an integer") from None


def _kernel(path: Path, entry: str | None, defines: dict[str, int | str]) -> Kernel:
    from ws_course.runtime import Kernel
    from ws_course.runtime.names import entry_points

    try:
        kernel = Kernel.from_file(path, entry, **defines)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    there = entry_points(kernel.source)
    if there and kernel.entry.partition("<")[0].strip() not in there:
        raise UsageError(f"{path} has no kernel called {kernel.entry}: give --entry one of {', '.join(there)}")
    return kernel


if __name__ == "__main__":
    sys.exit(main())
