"""``%%cuda`` in a real IPython session: kernels bound, errors shown at the cell's lines, the session alive."""

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from ws_course.check import Verdict
from ws_course.faults import Fault, FaultKind
from ws_course.magic import CompileReport, make_kernel
from ws_course.runtime import Kernel

SCALE = """\
__global__ void scale(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] *= FACTOR;
}
"""
BROKEN = """\
__global__ void broken(float* x) {
  float y = 1.0f;
\tx[0] = y + undeclared;
}
"""


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "ws_course")
    yield shell
    InteractiveShell.clear_instance()


def run(shell, source):
    """Run a cell; return its result, what it printed, and the plain text of what it displayed."""
    with capture_output() as captured:
        result = shell.run_cell(source, store_history=False)
    return result, captured.stdout + captured.stderr, [output.data for output in captured.outputs]


def test_a_cell_becomes_a_kernel_that_runs(shell):
    result, _, shown = run(shell, f"%%cuda scale -D FACTOR=3 --backend emulator\n{SCALE}")
    assert result.success
    assert shown[0]["text/plain"] == "scale is compiled and ready to run"
    kernel = shell.user_ns["scale"]
    assert isinstance(kernel, Kernel) and kernel.entry == "scale" and kernel.defines == {"FACTOR": 3}
    x = np.arange(32, dtype=np.float32)
    assert kernel.run(x, 16, grid=1, block=32, backend="emulator").ok
    np.testing.assert_array_equal(x, np.where(np.arange(32) < 16, 3, 1) * np.arange(32))


def test_the_name_defaults_to_the_only_global_function(shell):
    run(shell, f"%%cuda -DFACTOR=2\n{SCALE}")
    assert shell.user_ns["scale"].defines == {"FACTOR": 2}


def test_an_error_is_shown_at_the_line_of_the_cell(shell):
    result, printed, shown = run(shell, f"%%cuda --backend emulator\n{BROKEN}")
    assert result.success and "Traceback" not in printed
    text = shown[0]["text/plain"]
    assert text.startswith("broken does not compile: 1 error")
    assert "line 4:" in text and "undeclared" in text
    quoted, caret = text.splitlines()[-2:]
    assert quoted == "    4 | \tx[0] = y + undeclared;"
    assert caret == "      | \t" + " " * len("x[0] = y + ") + "^"
    assert "line 4:" in shown[0]["text/html"]


def test_a_broken_cell_replaces_the_kernel_and_the_session_lives_on(shell):
    run(shell, f"%%cuda scale -D FACTOR=1\n{SCALE}")
    run(shell, f"%%cuda scale\n{BROKEN}")
    kernel = shell.user_ns["scale"]
    result = kernel.run(np.zeros(1, np.float32), grid=1, block=1, backend="emulator")
    assert [fault.kind for fault in result.faults] == [FaultKind.COMPILE_ERROR]
    assert result.faults[0].line == 4
    assert shell.run_cell("1 + 1").result == 2


def test_runtime_faults_name_the_line_of_the_cell(shell):
    source = "%%cuda beyond\n__global__ void beyond(float* x) {\n  x[threadIdx.x] = 1;\n}\n"
    run(shell, source)
    result = shell.user_ns["beyond"].run(np.zeros(1, np.float32), grid=1, block=2, backend="emulator")
    assert result.faults[0].kind == FaultKind.OUT_OF_BOUNDS
    assert source.splitlines()[result.faults[0].line - 1] == "  x[threadIdx.x] = 1;"


def test_the_line_is_not_expanded_as_python(shell):
    shell.user_ns["hits"] = []
    run(shell, f"%%cuda scale -D FACTOR={{hits.append(1)}}\n{SCALE}")
    assert shell.user_ns["hits"] == []


@pytest.mark.parametrize(
    ("line", "body", "says"),
    [
        ("", "__device__ int f() { return 1; }", "no __global__ function"),
        ("", "__global__ void a() {}\n__global__ void b() {}", "--entry a"),
        ("print", "__global__ void a() {}", "already names a function"),
        ("np", "__global__ void a() {}", "already names a function, class or module"),
        ("two-words", "__global__ void a() {}", "cannot be a variable's name"),
        ("a -D 3=4", "__global__ void a() {}", "-D NAME=VALUE"),
        ("a --entyr b", "__global__ void a() {}", "unrecognized arguments"),
    ],
)
def test_a_cell_that_cannot_be_a_kernel_gets_one_line(shell, line, body, says):
    shell.run_cell("import numpy as np")
    result, printed, _ = run(shell, f"%%cuda {line}\n{body}")
    assert isinstance(result.error_in_exec, UsageError)
    assert says in printed and "Traceback" not in printed


def test_a_named_kernel_among_several_needs_no_entry():
    body = "__global__ void a() {}\ntemplate <int N> __global__ void b() {}"
    assert make_kernel(body, "b")[1].entry == "b"
    name, kernel = make_kernel(body, entry="b<4>")
    assert (name, kernel.entry, kernel.file) == ("b", "b<4>", "cell b")
    assert kernel.source.splitlines()[1] == "__global__ void a() {}"


def test_several_errors_are_counted_and_a_foreign_file_is_not_quoted():
    kernel = Kernel("\nint a;\n", "k", "cell k")
    faults = (
        Fault(FaultKind.COMPILE_ERROR, "one <here>", file="cell k", line=2, column=5),
        Fault(FaultKind.COMPILE_ERROR, "two", file="cuda/barrier", line=2),
    )
    report = CompileReport("k", kernel, faults)
    assert str(report).startswith("k does not compile: 2 errors")
    assert "    2 | int a;\n      |     ^" in str(report)
    assert "compile-error: cuda/barrier:2: two" in str(report)
    assert "one &lt;here&gt;" in report._repr_html_()


def test_faults_and_verdicts_are_drawn_with_the_line_of_the_cell(shell):
    run(shell, f"%%cuda scale -D FACTOR=1\n{SCALE}")
    shell.user_ns["fault"] = Fault(FaultKind.RACE, "both <write> it.", file="cell scale", line=3)
    shell.user_ns["verdict"] = Verdict("scale", ("n = 4",), 1, "emulator", 1, (shell.user_ns["fault"],))
    shell.user_ns["passed"] = Verdict("scale", ("n = 4",), 1, "emulator", 5)
    for name in ("fault", "verdict"):
        data, _ = shell.display_formatter.format(shell.user_ns[name])
        assert "*= FACTOR" in data["text/html"] and "both &lt;write&gt; it." in data["text/html"]
        assert "race: cell scale:3: both <write> it." in data["text/plain"]
    data, _ = shell.display_formatter.format(shell.user_ns["passed"])
    assert data["text/plain"] == "passed: 1 case × 5 schedules in the emulator, every value within tolerance"
    assert data["text/plain"] in data["text/html"]
