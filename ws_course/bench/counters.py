"""Profiler counters of every kernel, beside its times: ``python -m ws_course.bench.counters [PATH [LOG]]``.

Nsight Compute (``ncu``) runs this module once more, which launches each case, and its hardware counters of those
launches become a record: issue slots, stalls, bytes between device memory, L2 and SMs, bank conflicts. A profiled
launch runs many times over, with caches flushed in between: its time is no measurement of speed.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ws_course.bench import record
from ws_course.bench.ladder import (
    CLUSTERS,
    SHARE,
    TILES,
    Bench,
    Case,
    cases,
    compile_all,
    compile_variant,
    runs_on,
)
from ws_course.bench.record import RECORDS, slug
from ws_course.bench.surroundings import versions
from ws_course.kernels.catalog import ABLATIONS, HOPPER, LADDER, get
from ws_course.runtime import gpu

SCHEMA = 1
SET = "counters"
FOLDER = RECORDS / SET
SECTOR = 32  # bytes that L2 looks up at a time
PLACES = ("/opt/nvidia/nsight-compute/*/ncu", "/usr/local/cuda*/bin/ncu")

STALLS = (
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "gmma",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
)
"""Why a warp does not issue (Nsight Compute, "Warp Scheduler States"); "selected" is the one that does."""


@dataclass(frozen=True)
class Field:
    """Name a counter: the profiler's ``metrics``, of which the first that a device has counts, and what it says.

    "x/y" is the quotient of two metrics: the profiler prints ratios of its own with two decimals only.
    ``scale`` turns the profiler's base unit (seconds, bytes, Hz, shares, plain counts) into ``unit``.
    """

    name: str
    metrics: tuple[str, ...]
    unit: str
    what: str
    scale: float = 1


def _field(name: str, metrics: str, unit: str, what: str, scale: float = 1) -> Field:
    return Field(name, tuple(metrics.split()), unit, what, scale)


_INTO_SM, _OUT_OF_SM = "l1tex__m_xbar2l1tex_read_bytes", "l1tex__m_l1tex2xbar_write_bytes"
_SHARED = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"

FIELDS: tuple[Field, ...] = (
    _field("time_ms", "gpu__time_duration.sum", "ms", "of the launch under the profiler, caches cold", 1e3),
    _field("sm_clock_ghz", "sm__cycles_elapsed.avg.per_second", "GHz", "clock of the SMs meanwhile", 1e-9),
    _field("registers", "launch__registers_per_thread", "registers", "a thread at launch"),
    _field(
        "issue_slots",
        "smsp__issue_active.sum/smsp__cycles_active.sum",
        "share",
        "cycles in which a scheduler issues an instruction, mean of all schedulers",
    ),
    _field("ipc", "sm__inst_executed.sum/sm__cycles_active.sum", "instructions/cycle", "warp instructions, one SM"),
    _field("instructions", "smsp__inst_executed.sum", "instructions", "warp instructions, all SMs"),
    _field("instructions_busiest", "smsp__inst_executed.max", "instructions", "of the scheduler that has most"),
    _field("instructions_idlest", "smsp__inst_executed.min", "instructions", "of the scheduler that has least"),
    _field("fma", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "operations", "multiply-adds of all threads"),
    _field(
        "fma_pipe",
        "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
        "share",
        "of the multiply-add pipe's rate that is used",
    ),
    _field("warps_active", "smsp__warps_active.sum/smsp__cycles_active.sum", "warps", "resident, one scheduler"),
    _field(
        "warps_eligible", "smsp__warps_eligible.sum/smsp__cycles_active.sum", "warps", "that could issue, one scheduler"
    ),
    *(
        _field(
            f"stall_{reason}",
            f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.pct",
            "cycles",
            "of that latency in this state",
        )
        for reason in STALLS
    ),
    _field("dram_read_bytes", "dram__bytes_read.sum dram__bytes_op_read.sum", "bytes", "device memory -> L2"),
    _field("dram_write_bytes", "dram__bytes_write.sum dram__bytes_op_write.sum", "bytes", "L2 -> device memory"),
    _field("dram", "dram__throughput.avg.pct_of_peak_sustained_elapsed", "share", "of device memory's peak rate"),
    _field("l2_read_bytes", "lts__t_sectors_srcunit_tex_op_read.sum", "bytes", "that SMs ask L2 for", SECTOR),
    _field("l2_write_bytes", "lts__t_sectors_srcunit_tex_op_write.sum", "bytes", "that SMs write to L2", SECTOR),
    _field("l2_bytes", "lts__t_bytes.sum", "bytes", "all that L2 looks up"),
    _field("l2_hits", "lts__t_sector_hit_rate.pct", "share", "of what L2 looks up is there"),
    _field("l2", "lts__throughput.avg.pct_of_peak_sustained_elapsed", "share", "of L2's peak rate"),
    _field("sm_in_bytes", f"{_INTO_SM}.sum", "bytes", "that arrive at SMs; a multicast counts at each receiver"),
    _field("sm_out_bytes", f"{_OUT_OF_SM}.sum", "bytes", "that leave SMs"),
    _field("tma_in_bytes", f"{_INTO_SM}_mem_global_op_tma_ld.sum", "bytes", "that bulk and tensor copies bring"),
    _field("tma_out_bytes", f"{_OUT_OF_SM}_mem_global_op_tma_st.sum", "bytes", "that they store"),
    _field(
        "multicast_in_bytes",
        f"{_INTO_SM}_mem_global_op_tma_ld_dest_multicast.sum",
        "bytes",
        "of those, that multicasts bring, counted at each receiver",
    ),
    _field("dsmem_in_bytes", f"{_INTO_SM}_mem_dshared.sum", "bytes", "that arrive from other SMs of the cluster"),
    _field("dsmem_out_bytes", f"{_OUT_OF_SM}_mem_dshared.sum", "bytes", "that leave for other SMs of the cluster"),
    _field(
        "shared_wavefronts",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
        "wavefronts",
        "passes that loads and stores of shared memory take",
    ),
    _field(
        "shared_pipe",
        "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
        "share",
        "of the rate of that pipe",
    ),
    _field("load_conflicts", f"{_SHARED}_op_ld.sum", "wavefronts", "more than loads need without bank conflicts"),
    _field("store_conflicts", f"{_SHARED}_op_st.sum", "wavefronts", "more than stores need without bank conflicts"),
)
"""What is counted, in the order of a record."""


class ProfilerError(RuntimeError):
    """Say why there are no counters, and what to do."""


@dataclass(frozen=True)
class Counted(Mapping[str, float]):
    """Hold the counters of one launch by the names of :data:`FIELDS`; one that the device lacks raises ``KeyError``."""

    kernel: str
    params: Mapping[str, int]
    ctas_per_sm: int
    problem: Mapping[str, object]
    launch: Mapping[str, int]
    counters: Mapping[str, float]

    def __getitem__(self, name: str) -> float:
        try:
            return self.counters[name]
        except KeyError:
            raise KeyError(f"{self.kernel} has no counter {name}: there are {', '.join(self.counters)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.counters)

    def __len__(self) -> int:
        return len(self.counters)

    @property
    def stalls(self) -> dict[str, float]:
        """Return the cycles between two instructions of a warp by its state, the longest first."""
        found = {name.removeprefix("stall_"): value for name, value in self.items() if name.startswith("stall_")}
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))


@dataclass(frozen=True)
class Counters:
    """Hold the counters of all kernels on one device, with what makes them numbers.

    ``fields`` says for each name which metric it is, in which unit, and what it counts; ``missing`` lists the metrics
    that this profiler or device does not have.
    """

    device: Mapping[str, object]
    versions: Mapping[str, str]
    date: str
    method: Mapping[str, str]
    fields: Mapping[str, Mapping[str, str]]
    missing: tuple[str, ...]
    launches: tuple[Counted, ...]

    @property
    def label(self) -> str:
        """Return where the numbers come from, as the label of a record does."""
        return f"recorded ({self.device['name']}, {self.date})"

    def find(self, kernel: str, ctas: int | str = 1, **params: int) -> Counted:
        """Return the launch with these constants, the kernel's defaults for others, at ``ctas`` per SM or the "best".

        Raises ``KeyError`` with what was counted of that kernel.
        """
        wanted = get(kernel).defines(**params)
        found = [
            x
            for x in self.launches
            if x.kernel == kernel and dict(x.params) == wanted and ctas in ("best", x.ctas_per_sm)
        ]
        if not found:
            have = [f"{_given(x)} at {x.ctas_per_sm} CTA/SM" for x in self.launches if x.kernel == kernel]
            raise KeyError(f"{self.label} has no {kernel} with {params} at {ctas} CTA/SM; it has {'; '.join(have)}")
        return min(found, key=lambda x: x["time_ms"])

    def save(self, path: str | Path) -> Path:
        """Write the counters as JSON, one launch a line, and return the path."""
        data = {"schema": SCHEMA, "set": SET, **asdict(self)}
        launches = data.pop("launches")
        lines = ",\n".join("    " + json.dumps(launch) for launch in launches)
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(data, indent=1)
        path.write_text(f'{text[:-2]},\n "launches": [\n{lines}\n ]\n}}\n', encoding="utf-8")
        return path


def _given(x: Counted) -> str:
    """Return the constants of a launch that are not the kernel's defaults."""
    usual = get(x.kernel).defaults
    return str({name: value for name, value in x.params.items() if usual.get(name) != value} or "defaults")


def read(path: str | Path) -> Counters:
    """Read a file that :meth:`Counters.save` wrote; raise ``ValueError`` for another schema or impossible numbers."""
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    if data.pop("schema", None) != SCHEMA or data.pop("set", None) != SET:
        raise ValueError(f"{path} is no file of counters of schema {SCHEMA}: count again")
    launches = tuple(Counted(**x) for x in data.pop("launches"))
    for x in launches:
        if bad := [name for name, value in x.items() if not (math.isfinite(value) and value >= 0)]:
            raise ValueError(f"{path}: {bad[0]} of {x.kernel} is {x[bad[0]]}")
    return Counters(**{**data, "missing": tuple(data["missing"])}, launches=launches)


def load(device: str | None = None) -> Counters:
    """Return the packaged counters of ``device`` ("NVIDIA H200"), else the latest ones."""
    found = [read(path) for path in sorted(FOLDER.glob(f"{slug(device)}.json" if device else "*.json"))]
    if not found:
        raise FileNotFoundError(f"no counters of {device or 'any device'}: run python -m ws_course.bench.counters")
    return max(found, key=lambda one: one.date)


# ---- what is counted ----------------------------------------------------------------------------


def counted_cases(times: record.Record | None = None) -> list[Case]:
    """Return every kernel at its default constants, with 1 and its best number of CTAs per SM, and what is compared.

    ``times`` is the record that says which number is the best one (2 where it does not). A shared B goes through a
    kernel without clusters and through clusters of all sizes, at 2 CTAs per SM.
    """
    found: list[Case] = []
    for spec in (*LADDER, *ABLATIONS, *HOPPER):
        best = _best(times, spec.name, spec.defaults.get("STAGES", 3))
        found += cases([spec.name], sorted({1, best}), SCHEDULERS=(1, 2, 4))
    found += cases(["tile_07_tma_tensor", "tile_07_diverged"], (2,))  # where the lane that goes alone costs most
    clusters = [spec.name for spec in (*ABLATIONS, *HOPPER) if "CLUSTER" in spec.defaults]
    found += cases(["tile_06_bulk_copy", *clusters], (2,), SHARE=(SHARE,), CLUSTER=CLUSTERS)
    return list(dict.fromkeys(found))


def _best(times: record.Record | None, kernel: str, stages: int) -> int:
    spec = get(kernel)
    try:
        params = spec.defines(**({"STAGES": stages} if "STAGES" in spec.defaults else {}))
        return times.find(kernel, "best", **params).ctas_per_sm if times else 2
    except KeyError:
        return 2


# ---- the profiler -------------------------------------------------------------------------------


def count(
    wanted: Iterable[Case] | None = None,
    tiles: int = TILES,
    say: Callable = print,
    keep: str | Path | None = None,
) -> Counters:
    """Profile every case that fits on this machine's GPU in one run of ``ncu`` and return the counters.

    ``wanted`` are by default :func:`counted_cases`; ``tiles`` counts tiles of 64 x 64; ``keep`` is where the
    profiler's own output goes, besides.
    Raises ``ProfilerError`` where the profiler is missing or may not read the counters, ``BackendError`` without a GPU.
    """
    device = gpu.first_gpu()
    ncu = find_profiler()
    chosen = _usual(device.name) if wanted is None else wanted
    wanted = [case for case in chosen if runs_on(case.spec, device.capability)]
    compile_all(device, {case.variant for case in wanted}, say)
    metrics = tuple(dict.fromkeys(part for field in FIELDS for metric in field.metrics for part in metric.split("/")))
    metrics = _known(ncu, metrics, wanted[:1], say)
    say(f"counting {len(metrics)} metrics of up to {len(wanted)} launches …")
    log, launched, facts = profile(ncu, metrics, wanted, tiles)
    if keep:
        Path(keep).write_text(log, encoding="utf-8")
    rows = parse(log)
    if [row["Kernel Name"][0].partition("(")[0] for row in rows] != [one["kernel"] for one in launched]:
        raise ProfilerError(f"ncu saw {len(rows)} launches where {len(launched)} were made:\n{log[-2000:]}")
    launches = tuple(Counted(**one, counters=plain(row)) for one, row in zip(launched, rows, strict=True))
    used = {field.name: metric for field in FIELDS for row in rows if (metric := _present(field, row))}
    return Counters(
        device=facts,
        versions={"ncu": profiler_version(ncu), **versions()},
        date=datetime.date.today().isoformat(),
        method={
            "profiler": "Nsight Compute; all kernels in one process, each launched once before the launch that counts",
            "passes": "a launch is repeated until all metrics are read; memory is restored and caches are flushed "
            "before each pass, clocks are left as they are (--clock-control none)",
            "inputs": "as in the record of times: standard normal float32, results checked before",
            "problem": f"A of {tiles} tiles of 64 x 64 and as much of any other tile",
        },
        fields={f.name: {"metric": used[f.name], "unit": f.unit, "what": f.what} for f in FIELDS if f.name in used},
        missing=tuple(m for f in FIELDS if f.name not in used for m in f.metrics),
        launches=launches,
    )


def _usual(device: str) -> list[Case]:
    try:
        return counted_cases(record.load("hopper-ladder", device))
    except FileNotFoundError:
        return counted_cases()


def find_profiler() -> str:
    """Return the path of ``ncu``, the newest that is installed; raise ``ProfilerError`` with the fix without one."""
    found = sorted(str(path) for pattern in PLACES for path in Path("/").glob(pattern.lstrip("/")))
    if path := shutil.which("ncu") or (found[-1] if found else None):
        return path
    raise ProfilerError(
        "Nsight Compute is not on this machine: there is no ncu on the PATH, nor under /opt/nvidia/nsight-compute or "
        "/usr/local/cuda*/bin. Install it (it comes with the CUDA toolkit), or use the recorded counters: "
        "ws_course.bench.counters.load()"
    )


def profiler_version(ncu: str) -> str:
    """Return the version of the profiler, such as "2025.3.1.0"."""
    text = subprocess.run([ncu, "--version"], capture_output=True, text=True, timeout=60).stdout
    found = re.search(r"Version (\S+)", text)
    return found[1] if found else text.strip().splitlines()[-1]


def profile(ncu: str, metrics: Sequence[str], wanted: Iterable[Case], tiles: int) -> tuple[str, list[dict], dict]:
    """Run ``ncu`` around the launches of this module; return its log, what was launched, and the device's facts.

    Raises ``ProfilerError`` with the reason if the profiler may not count or the launches failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        log, asked, launched = (Path(folder) / name for name in ("ncu.log", "cases.json", "launched.json"))
        asked.write_text(json.dumps({"tiles": tiles, "cases": [asdict(case) for case in wanted]}))
        command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(metrics)]
        command += ["--clock-control", "none", "--profile-from-start", "off", "--log-file", str(log)]
        command += [sys.executable, "-m", "ws_course.bench.counters", "--launch", str(asked), str(launched)]
        done = subprocess.run(command, capture_output=True, text=True)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        if "ERR_NVGPUCTRPERM" in text + done.stdout + done.stderr:
            raise ProfilerError(
                "the driver lets only administrators read the counters (ERR_NVGPUCTRPERM): run this as root, or load "
                "the driver with NVreg_RestrictProfilingToAdminUsers=0"
            )
        if not launched.exists():
            if _unknown(text + done.stderr):
                return text + done.stderr, [], {}
            said = (text + done.stdout + done.stderr)[-2000:]
            raise ProfilerError(f"ncu ended with status {done.returncode}:\n{said}")
        made = json.loads(launched.read_text())
        return text, made["launched"], made["device"]


def _known(ncu: str, metrics: tuple[str, ...], wanted: Sequence[Case], say: Callable) -> tuple[str, ...]:
    """Return the metrics that this profiler knows here: some versions stop at the first that they do not."""
    while metrics:
        log, _, _ = profile(ncu, metrics, wanted, 64)
        unknown = _unknown(log)
        kept = tuple(m for m in metrics if m not in unknown and m.split(".")[0] not in unknown)
        if not unknown or kept == metrics:
            break
        say(f"this profiler does not know {', '.join(m for m in metrics if m not in kept)}")
        metrics = kept
    return metrics


def _unknown(log: str) -> set[str]:
    return set(re.findall(r"[Ff]ailed to find metric[:s]*\s+'?(?:regex:)?\^?([\w.]+)", log))


def parse(log: str) -> list[dict[str, tuple[str, str]]]:
    """Return a dictionary per launch from the log of ``ncu --csv --page raw``: column -> (text, unit).

    Lines before the header (``==PROF== …``) are skipped; the line after it holds the units. Raises ``ProfilerError``
    with the log's end if there is no table.
    """
    lines = log.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    if start is None:
        raise ProfilerError(f"ncu printed no table:\n{log[-2000:]}")
    table = [line for line in lines[start:] if line.startswith('"')]
    header, units, *rows = csv.reader(io.StringIO("\n".join(table)))
    return [
        {name: (value, unit) for name, value, unit in zip(header, row, units, strict=True)}
        for row in rows
        if len(row) == len(header)
    ]


_UNITS = {
    "%": 0.01,
    **{f"{prefix}byte": 10.0**power for prefix, power in (("", 0), ("K", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{f"{prefix}hz": 10.0**power for prefix, power in (("", 0), ("K", 3), ("M", 6), ("G", 9))},
    **{f"{prefix}{second}": p for second in ("s", "second") for prefix, p in (("n", 1e-9), ("u", 1e-6), ("m", 1e-3))},
    **{f"cycle/{prefix}{second}": p for second in ("s", "second") for prefix, p in (("n", 1e9), ("u", 1e6), ("", 1))},
}
"""What the profiler's units are in seconds, bytes, Hz and shares; counts have units of their own and stay."""


def plain(row: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Return the :data:`FIELDS` of a parsed launch in their units, without those that it does not have."""
    found = {}
    for field in FIELDS:
        if metric := _present(field, row):
            found[field.name] = _rounded(_value(metric, row) * field.scale)
    return found


def _rounded(value: float) -> float:
    return int(value) if value == int(value) else float(f"{value:.6g}")


def _present(field: Field, row: Mapping[str, tuple[str, str]]) -> str | None:
    return next((metric for metric in field.metrics if math.isfinite(_value(metric, row))), None)


def _value(metric: str, row: Mapping[str, tuple[str, str]]) -> float:
    """Return a metric, or a quotient of two, in base units; NaN where the table has no number for it."""
    values = [_number(text) * _UNITS.get(unit, 1) for text, unit in (row.get(m, ("", "")) for m in metric.split("/"))]
    if len(values) == 1:
        return values[0]
    return values[0] / values[1] if values[1] else math.nan


def _number(text: str) -> float:
    """Return a number of the table, NaN for "n/a" and the like."""
    try:
        return float(text.replace(",", "").partition(" ")[0])
    except ValueError:
        return math.nan


def _launch(asked: str, launched: str) -> None:
    """Launch every case that fits, twice: the second time the profiler watches. Runs inside ``ncu``."""
    wanted = json.loads(Path(asked).read_text())
    device = gpu.first_gpu()
    arch = gpu.architecture(device)
    gpu.start()
    bench = Bench(wanted["tiles"])
    made = []
    for one in wanted["cases"]:
        case = Case(one["kernel"], tuple((name, value) for name, value in one["params"]), one["ctas"])
        prepared = bench.prepare(case, compile_variant(case.variant, arch), device.sms)
        if prepared is None:
            continue
        gpu.watched(prepared.fire)
        made.append({
            "kernel": case.kernel,
            "params": dict(case.params),
            "ctas_per_sm": case.ctas,
            "problem": prepared.problem_json,
            "launch": prepared.launch_json,
        })  # fmt: skip
    Path(launched).write_text(json.dumps({"launched": made, "device": gpu.facts()}))


def text(counters: Counters) -> str:
    """Return the main counters of every launch as a table, with their provenance."""
    names = ("issue_slots", "warps_active", "warps_eligible", "instructions", "l2_read_bytes", "sm_in_bytes")
    names = [name for name in (*names, "dram_read_bytes", "load_conflicts") if name in counters.fields]
    lines = [counters.label, "; ".join(f"{n}: {counters.fields[n]['unit']}" for n in names)]
    for x in counters.launches:
        values = "  ".join(f"{name} {x.counters.get(name, math.nan):.4g}" for name in names)
        stalls = ", ".join(f"{reason} {cycles:.1f}" for reason, cycles in list(x.stalls.items())[:3])
        lines.append(f"{x.kernel} {_given(x)} {x.ctas_per_sm} CTA/SM: {values}  stalls: {stalls}")
    if counters.missing:
        lines.append(f"not counted here: {', '.join(counters.missing)}")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Count and write the record, or launch for the profiler; return an exit status."""
    if arguments[:1] == ["--launch"]:
        _launch(*arguments[1:])
        return 0
    parser = argparse.ArgumentParser(
        prog="python -m ws_course.bench.counters", description="Count what the kernels do on this GPU, with ncu."
    )
    parser.add_argument("path", nargs="?", metavar="PATH", help="where to write (default: among the package's records)")
    parser.add_argument("log", nargs="?", metavar="LOG", help="where the profiler's own output goes, besides")
    asked = parser.parse_args(arguments)
    try:
        counters = count(keep=asked.log)
    except RuntimeError as error:  # no profiler, or no GPU: the message has the fix
        print(f"ws_course.bench.counters: {error}", file=sys.stderr)
        return 1
    path = counters.save(asked.path or FOLDER / f"{slug(str(counters.device['name']))}.json")
    print(text(counters), f"written to {path}", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
