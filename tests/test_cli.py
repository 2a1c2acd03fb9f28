"""The command line, as a person or a script calls it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ws_course import cli, device
from ws_course.kernels import catalog
from ws_course.runtime import argspec

ADD = """\
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""

# half of the block waits at a barrier that the other half never reaches
HANG = """\
extern "C" __global__ void hang(int* out) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    while (atomicAdd(out, 0) == 0) {
    }
  }
  out[0] = 1;
}
"""

WRITE_PAST_THE_END = """\
extern "C" __global__ void past(int* out) { out[threadIdx.x] = 1; }
"""

LAUNCH = ["--grid", "4", "--block", "64"]
ADD_ARGS = ["--arg", "in:f32[200]=normal", "--arg", "in:f32[200]=arange", "--arg", "out:f32[200]", "--arg", "i32=200"]


@pytest.fixture
def source(tmp_path):
    """Write a kernel file and return its path."""

    def write(text, name="add.cu"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def run(capsys, *words):
    """Return exit code, standard output and standard error of one command."""
    try:
        code = cli.main(words)
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    return code, out, err


def test_doctor_prints_a_table_and_says_whether_the_lessons_run(capsys):
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert "C++ compiler" in out and "NVIDIA driver" in out


def test_doctor_exits_with_one_where_nothing_runs(capsys, monkeypatch):
    monkeypatch.setattr("ws_course.doctor.this_machine", lambda: device.Machine())
    code, out, _ = run(capsys, "doctor")
    assert code == 1 and "✗" in out
    code, out, _ = run(capsys, "doctor", "--json")
    assert code == 1 and json.loads(out)["ok"] is False


def test_doctor_json(capsys):
    code, out, _ = run(capsys, "doctor", "--json")
    assert code == 0
    assert {"ok", "verdict", "findings", "machine"} == set(json.loads(out))


def test_the_installed_command_is_this_module():
    command = Path(sys.executable).with_name("ws-course")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ws-course ")


def test_no_command_lists_the_commands(capsys):
    code, _, err = run(capsys)
    assert code == 2 and "COMMAND" in err


def test_emulate_runs_a_kernel_and_saves_its_arrays(capsys, source, tmp_path):
    out = tmp_path / "out.npz"
    code, text, err = run(capsys, "emulate", source(ADD), *LAUNCH, *ADD_ARGS, "--out", str(out), "--seeds", "3")
    assert code == 0, text + err
    assert "no fault" in text
    saved = np.load(out)
    assert sorted(saved) == ["arg0", "arg1", "arg2"]
    np.testing.assert_allclose(saved["arg2"], saved["arg0"] + saved["arg1"], rtol=1e-6)


def test_emulate_json_without_faults(capsys, source):
    code, text, _ = run(capsys, "emulate", source(ADD, "other.cu"), "--entry", "add", *LAUNCH, *ADD_ARGS, "--json")
    assert code == 0
    assert json.loads(text)["faults"] == []


def test_emulate_exits_with_three_and_names_kind_file_and_line(capsys, source):
    path = source(WRITE_PAST_THE_END, "past.cu")
    words = ["emulate", path, "--grid", "1", "--block", "32", "--arg", "out:i32[16]"]
    code, text, _ = run(capsys, *words, "--seeds", "2", "--json")
    assert code == 3
    (fault,) = json.loads(text)["faults"]
    assert fault["kind"] == "out-of-bounds"
    assert (Path(fault["file"]).name, fault["line"]) == ("past.cu", 1)
    assert fault["message"]
    assert len(set(fault["seeds"])) == 2, "the same fault under two schedules is one fault"
    code, text, _ = run(capsys, *words)
    assert code == 3 and "past.cu:1" in text


def test_emulate_ends_a_kernel_that_never_ends(capsys, source):
    path = source(HANG, "hang.cu")
    words = ["emulate", path, "--grid", "1", "--block", "64", "--arg", "inout:i32[1]=0", "--timeout", "3", "--json"]
    code, text, _ = run(capsys, *words)
    assert code == 3
    assert {fault["kind"] for fault in json.loads(text)["faults"]} <= {"deadlock", "timeout"}


def test_emulate_reports_a_kernel_that_does_not_compile_at_its_line(capsys, source):
    path = source(ADD.replace("a[i] + b[i]", "a[i] + nothing"))
    code, text, _ = run(capsys, "emulate", path, *LAUNCH, *ADD_ARGS, "--json")
    assert code == 3
    fault = json.loads(text)["faults"][0]
    assert (fault["kind"], fault["line"]) == ("compile-error", 3)
    assert "nothing" in fault["message"]


def test_emulate_takes_constants(capsys, source, tmp_path):
    path = source('extern "C" __global__ void fill(int* out) { out[threadIdx.x] = VALUE; }', "fill.cu")
    out = tmp_path / "out.npz"
    words = ["--grid", "1", "--block", "8", "--arg", "out:i32[8]", "-D", "VALUE=42", "--out", str(out)]
    code, text, err = run(capsys, "emulate", path, *words)
    assert code == 0, text + err
    assert np.load(out)["arg0"].tolist() == [42] * 8


@pytest.mark.parametrize(
    "words, says",
    [
        (["--grid", "4", "--block", "64", "--arg", "in:f33[3]=1"], "'f33' is no type"),
        (["--grid", "4", "--block", "2000", *ADD_ARGS], "at most 1024"),
        (["--grid", "0", "--block", "64", *ADD_ARGS], "at least 1"),
        (["--grid", "x", "--block", "64", *ADD_ARGS], "write integers with commas between"),
        (["--grid", "1,1,1,1", "--block", "64", *ADD_ARGS], "one to three integers"),
        (["--grid", "3", "--block", "64", "--cluster", "2", *ADD_ARGS], "not a multiple of cluster"),
        (["--grid", "4", "--block", "64", "--smem", "-1", *ADD_ARGS], "smem=-1"),
        (["--grid", "4", "--block", "64", *ADD_ARGS[:-2]], "argument"),
        (["--grid", "4", "--block", "64", *ADD_ARGS, "--seeds", "0"], "at least one schedule"),
        (["--grid", "4", "--block", "64", *ADD_ARGS, "-D", "9=1"], "NAME=VALUE"),
        (["--grid", "4", "--block", "64", *ADD_ARGS, "--out", "no/such/folder/out.npz"], "no folder"),
        (["--grid", "4", "--block", "64", *ADD_ARGS, "--out", "."], "is a folder"),
        (["--grid", "4", "--block", "64", *ADD_ARGS, "--out", "x" * 300], "no file can be written there"),
        (["--grid", "4", "--block", "64", *ADD_ARGS, "--timeout", "0"], "more than 0"),
        (["--grid", "4", "--block", "64", *ADD_ARGS, "--timeout", "nan"], "more than 0"),
        (["--grid", "4", "--block", "64", "--arg", "in:f16[2]=70000"], "is no f16"),
        (["--grid", "1,70000", "--block", "64", *ADD_ARGS], "65535"),
        (["--block", "64", *ADD_ARGS], "--grid"),
    ],
)
def test_emulate_refuses_bad_usage_in_one_clear_message(capsys, source, words, says):
    code, out, err = run(capsys, "emulate", source(ADD), *words)
    assert code == 2
    assert out == ""
    assert says in err and "Traceback" not in err


def test_emulate_refuses_a_file_that_is_not_there(capsys):
    code, _, err = run(capsys, "emulate", "no_such.cu", *LAUNCH)
    assert code == 2 and "no_such.cu" in err


def test_emulate_help_explains_how_to_write_arguments(capsys):
    code, out, _ = run(capsys, "emulate", "--help")
    assert code == 0
    examples = re.findall(r"^  (\S+=?\S*)   ", cli.SPECS, re.MULTILINE)
    assert len(examples) == 5 and all(example in out for example in examples)
    assert len(argspec.build(examples)) == 5
    assert set(cli.SPECS.rpartition("types ")[2].replace(",", "").split()) == set(argspec.DTYPES)


def test_a_shell_sees_the_exit_code(source):
    command = shutil.which("ws-course", path=str(Path(sys.executable).parent))
    done = subprocess.run(
        [command, "emulate", source(ADD), "--grid", "0", "--block", "1"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, "one line, no traceback"


def test_check_judges_a_rung(capsys):
    code, out, err = run(
        capsys, "check", "tile_04_pipeline_roles", "-D", "STAGES=3", "--tiles", "0,1,3", "--backend", "emulator"
    )
    assert code == 0, out + err
    assert out.startswith("passed: 3 cases × 5 schedules")


def test_check_judges_a_file_and_finds_what_is_wrong_with_it(capsys, source):
    text = catalog.get("tile_00_one_buffer").source
    words = ["--entry", "tile_00_one_buffer", "--block", "256", "-D", "COMPUTE_THREADS=256", "--backend", "emulator"]
    right = source(text, "mine.cu")
    assert run(capsys, "check", right, *words, "--tiles", "3")[0] == 0
    wrong = source(text.replace("c.y += a * b.y", "c.y += a * b.x"), "wrong.cu")
    code, out, _ = run(capsys, "check", wrong, *words, "--tiles", "3")
    assert code == 3
    assert "wrong-result" in out and "C[0, 0, 1]" in out


@pytest.mark.parametrize(
    "words, says",
    [
        (["tile_99"], "no kernel is called 'tile_99'"),
        (["tile_00_one_buffer", "-D", "STAGES=2"], "has no constant STAGES"),
        (["tile_04_pipeline_roles", "-D", "STAGES=two"], "STAGES=two: a constant of a tile kernel is an integer"),
        (["tile_00_one_buffer", "--tiles", "-1"], "a number of tiles is 0 or more"),
        (["tile_00_one_buffer", "--tiles", "some"], "write integers"),
        (["tile_00_one_buffer", "--tiles", "1,99999999999999"], "give fewer with --tiles"),
        (["no_such.cu"], "cannot read no_such.cu"),
    ],
)
def test_check_refuses_bad_usage(capsys, words, says):
    code, out, err = run(capsys, "check", *words)
    assert (code, out) == (2, "")
    assert says in err and "Traceback" not in err


@pytest.mark.skipif(device.has_gpu(), reason="would measure")
def test_what_needs_a_gpu_says_so(capsys):
    for words in (["record"], *([word, "tile_00_one_buffer", "--backend", "gpu"] for word in ("check", "trace"))):
        code, _, err = run(capsys, *words)
        assert code == 1 and "doctor" in err


def test_record_says_how_it_is_called(capsys):
    code, out, _ = run(capsys, "record", "--help")
    assert code == 0 and out.startswith("usage: ws-course record") and "hopper-ladder" in out
    code, _, err = run(capsys, "record", "no-such-set")
    assert code == 2 and "ws-course record: error" in err and "no-such-set" in err


def test_exercises_are_up_to_date(capsys, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[1])
    code, out, err = run(capsys, "exercises", "--check")
    assert code == 0, out + err


def test_trace_tells_what_each_warp_did_and_exports_it(capsys, tmp_path):
    words = ["tile_04_pipeline_roles", "-D", "TILE=32", "-D", "STAGES=3", "--tiles", "4", "--backend", "emulator"]
    code, out, _ = run(capsys, "trace", *words, "--perfetto", str(tmp_path / "order.json"))
    assert code == 0 and "emulated order" in out and "tile_04_pipeline_roles, STAGES 3" in out
    assert re.search(r"warp 0 +loader +load 4", out) and re.search(r"warp 7 +storer +store 4", out)
    trace = json.loads((tmp_path / "order.json").read_text())
    assert trace["otherData"]["provenance"] == "emulated order"
    again = tmp_path / "again.json"
    code, _, _ = run(capsys, "trace", *words, "--keep", "9:10", "--perfetto", str(again))
    assert code == 2 and not again.exists(), "what cannot run leaves no empty file"
    code, out, _ = run(capsys, "trace", *words, "--grid", "2", "--keep", "1:2")
    assert code == 0 and "CTA 1" not in out and re.search(r"loader +load 1", out)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_no_traceback(capsys, source):
    code, _, err = run(capsys, "trace", "tile_00_one_buffer", "--backend", "emulator", "--perfetto", "/dev/full")
    assert code == 2 and "--perfetto /dev/full: no file can be written there (No space left on device)" in err
    words = ["--grid", "4", "--block", "64", *ADD_ARGS, "--out", "/dev/full"]
    code, _, err = run(capsys, "emulate", source(ADD), *words)
    assert code == 2 and "--out /dev/full" in err and "No space left" in err


@pytest.mark.parametrize(
    "words, says",
    [
        (["tile_99"], "no kernel is called 'tile_99'"),
        (["tile_00_one_buffer", "-D", "STAGES=2"], "has no constant STAGES"),
        (["tile_00_one_buffer", "--keep", "4"], "such as 24:32"),
        (["tile_00_one_buffer", "--keep", "4:4"], "say which tiles"),
        (["tile_00_one_buffer", "--tiles", "-1"], "a number of tiles is 0 or more"),
        (["tile_00_one_buffer", "--perfetto", "no/such/folder.json"], "there is no folder no/such"),
        (["tile_00_one_buffer", "--perfetto", "."], "--perfetto . is a folder: name a file in it"),
        (["tile_00_one_buffer", "--perfetto", "x" * 300], "no file can be written there (File name too long)"),
        (["tile_00_one_buffer", "--tiles", "99999999999999"], "give fewer with --tiles"),
        (["tile_00_one_buffer", "--keep", "100:200"], "with 6 tiles on 1 CTA, a CTA has tiles 0 to 5"),
        (["tile_11_cluster_multicast", "-D", "SHARE=3"], "one matrix of B"),
    ],
)
def test_trace_refuses_bad_usage(capsys, words, says):
    code, out, err = run(capsys, "trace", *words, "--backend", "emulator")
    assert (code, out) == (2, "")
    assert says in err and "Traceback" not in err


def test_a_kernel_that_the_file_does_not_have_is_bad_usage(tmp_path, capsys):
    file = tmp_path / "add.cu"
    file.write_text('extern "C" __global__ void add(float* y) { y[0] = 1; }')
    status = cli.main(["emulate", str(file), "--entry", "nope", "--grid", "1", "--block", "1", "--arg", "out:f32[1]"])
    assert status == 2 and "no kernel called nope: give --entry one of add" in capsys.readouterr().err
