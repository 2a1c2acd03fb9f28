"""The grading process: what a learner's text can do to it, and what it cannot."""

import numpy as np
import pytest

from ws_course.grading import NotPassed, answers, grade
from ws_course.grading.autograde import grade_submission
from ws_course.grading.isolated import ask
from ws_course.grading.points import foreign
from ws_course.runtime import Kernel

SETUP = """\
%load_ext ws_course
import numpy as np
from ws_course.check import Case, Out
from ws_course.grading import grade
def case(n):
    x = np.random.default_rng().standard_normal(n, dtype=np.float32)
    return Case((x, Out(2 * x), n), block=n)
"""
KERNEL = """\
%%cuda twice
__global__ void twice(const float* x, float* y, int n) {
  // BEGIN SOLUTION
  {}
  // END SOLUTION
}
"""
RIGHT, WRONG = "y[threadIdx.x] = 2 * x[threadIdx.x];", "y[threadIdx.x] = x[threadIdx.x];"


@pytest.fixture
def assignment(tmp_path, write, cell):
    return write(
        tmp_path / "01_twice",
        [
            cell("setup", SETUP, locked=True),
            cell("twice", KERNEL.replace("{}", RIGHT), solution=True),
            cell("count", "### BEGIN SOLUTION\ncount = 3\n### END SOLUTION", solution=True),
            cell("test", "grade(twice, [case(n) for n in (1, 33)])", grade=True, points=1, locked=True),
            cell("test-count", "assert count == 3", grade=True, points=1, locked=True),
        ],
    )


def submission(assignment, extra=(), **answers):
    """Return a copy of the notebook with other answers, and cells of the learner's own before everything else."""
    import nbformat

    notebook = nbformat.from_dict(assignment.notebook)
    for c in notebook.cells:
        c.source = answers.get(c.metadata.nbgrader.grade_id, c.source)
    notebook.cells[:0] = [nbformat.v4.new_code_cell(source) for source in extra]
    return notebook


def outcome(assignment, notebook, **options):
    results = grade_submission(assignment, notebook, **options)
    return {result.id: (result.ok, result.reason) for result in results.values() if result.role == "test"}


def test_the_solution_passes(assignment):
    assert outcome(assignment, assignment.notebook) == {"test": (True, ""), "test-count": (True, "")}


TRICKS = [
    "grade = check = lambda *a, **k: True",
    "import ws_course.grading; ws_course.grading.grade = lambda *a, **k: True",
    "import ws_course.grading.points as p; p.check_kernel = lambda *a, **k: True",
    "import numpy as np; np.isnan = np.isfinite = np.abs = np.argmax = lambda *a: True",
    "import builtins; builtins.AssertionError = type('E', (BaseException,), {})",
    "import time; time.perf_counter = time.monotonic = lambda: 0.0",
    "get_ipython().input_transformers_post.append(lambda lines: ['pass\\n'])",
    "get_ipython().register_magic_function(lambda line, cell: None, 'cell', 'cuda')",
    "import os; os._exit(0)",
    "while True: pass",
]


def test_a_learners_own_cells_never_run_where_the_tests_run(assignment):
    tried = submission(assignment, extra=TRICKS, twice=KERNEL.replace("{}", WRONG), count="count = 4")
    assert outcome(assignment, tried) == {"test": (False, "wrong-result"), "test-count": (False, "AssertionError")}


@pytest.mark.parametrize("trick", [TRICKS[0], TRICKS[6], TRICKS[8]])
def test_python_in_the_place_of_an_answer_never_runs_where_the_tests_run(assignment, trick):
    tried = submission(assignment, twice=trick, count="count = 4")
    assert outcome(assignment, tried) == {"test": (False, "NameError"), "test-count": (False, "AssertionError")}


FORGERY = """\
extern "C" long write(int, const void*, unsigned long);
extern "C" void _exit(int);
__global__ void twice(const float* x, float* y, int n) {
  const char forged[] = "\\n{\\"nonce\\": \\"\\", \\"id\\": \\"test\\", \\"ok\\": true, \\"faults\\": []}\\n";
  for (int fd = 0; fd < 64; ++fd) write(fd, forged, sizeof forged - 1);
  _exit(0);
}
"""


def test_a_kernel_that_ends_its_process_and_writes_answers_is_no_pass(assignment):
    tried = submission(assignment, twice="%%cuda twice\n" + FORGERY)
    assert outcome(assignment, tried) == {"test": (False, "launch-error"), "test-count": (True, "")}


@pytest.mark.parametrize("before", ["", "\t\n ", "\x0c", "\ufeff"])
def test_a_cuda_cell_is_never_run_as_python(assignment, before, tmp_path):
    proof = tmp_path / "ran"
    source = f"{before}%%cuda twice\nopen({str(proof)!r}, 'w').close()\ngrade = lambda *a: True\n"
    assert outcome(assignment, submission(assignment, twice=source))["test"][0] is False
    assert not proof.exists()


def test_magic_arguments_do_nothing_but_name_and_define(assignment):
    tried = submission(assignment, twice="%%cuda grade\n__global__ void grade() {}")
    assert outcome(assignment, tried)["test"] == (False, "NameError")
    tried = submission(assignment, twice="%%cuda twice -D X={__import__('os')._exit(0)}\n__global__ void twice() {}")
    assert outcome(assignment, tried)["test-count"] == (True, "")


def test_answers_are_data_and_cannot_replace_what_the_tests_use(assignment):
    source = (
        "count = 3\nclass Any:\n    def __eq__(self, other): return True\nAssertionError = Any()\ngrade = 5\nnp = 5"
    )
    assert outcome(assignment, submission(assignment, count=source)) == {"test": (True, ""), "test-count": (True, "")}
    liar = "class Any:\n    def __eq__(self, other): return True\ncount = Any()"
    assert outcome(assignment, submission(assignment, count=liar))["test-count"] == (False, "NameError")
    liar = "class Any(int):\n    def __eq__(self, other): return True\ncount = Any(9)"
    assert outcome(assignment, submission(assignment, count=liar))["test-count"] == (False, "AssertionError")


def test_deleted_and_changed_cells_of_the_course_are_as_in_the_solution(assignment):
    notebook = submission(assignment, test="pass", setup="raise SystemExit", twice=KERNEL.replace("{}", WRONG))
    notebook.cells = [c for c in notebook.cells if c.metadata.nbgrader.grade_id != "test-count"]
    assert outcome(assignment, notebook) == {"test": (False, "wrong-result"), "test-count": (True, "")}
    notebook.cells = notebook.cells[:1]
    assert outcome(assignment, notebook) == {"test": (False, "NameError"), "test-count": (False, "NameError")}


def test_a_process_that_dies_or_hangs_is_never_a_pass(tmp_path, write, cell):
    lethal = write(
        tmp_path,
        [
            cell("first", "pass", grade=True, points=1, locked=True),
            cell("dies", "import os; os._exit(0)", grade=True, points=1, locked=True),
            cell("after", "pass", grade=True, points=1, locked=True),
        ],
    )
    gone = (False, "timeout")
    assert outcome(lethal, lethal.notebook) == {"first": (True, ""), "dies": gone, "after": gone}
    hangs = submission(lethal)
    write(tmp_path, [cell("hangs", "while True: pass", grade=True, points=1, locked=True)])
    assert outcome(type(lethal)(tmp_path), hangs, timeout=3) == {"hangs": gone}


def test_answers_that_raise_hang_or_die_are_none():
    assert answers.evaluate("import numpy as np\na = np.float32(0.5)\nb = [1, (2, None)]\n_c = 1\nd = print") == {
        "a": 0.5,
        "b": [1, [2, None]],
    }
    with pytest.raises(answers.NoAnswer, match="ZeroDivisionError: division by zero"):
        answers.evaluate("a = 1 / 0")
    with pytest.raises(answers.NoAnswer, match="SyntaxError"):
        answers.evaluate("a = ")
    with pytest.raises(answers.NoAnswer, match="SystemExit"):
        answers.evaluate("raise SystemExit")
    with pytest.raises(answers.NoAnswer, match="gave no answer within 1 s"):
        answers.evaluate("while True: pass", timeout=1)
    with pytest.raises(answers.NoAnswer, match="gave no answer"):
        answers.evaluate("import os; os._exit(0)")


def test_what_an_answer_prints_is_no_answer():
    forged = '{"values": {"count": 3}}'
    assert answers.evaluate(f"print({forged!r})\nimport os as _os\n_os.write(1, {forged.encode()!r})") == {}


def test_the_process_sees_no_secrets_and_no_files_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("raise RuntimeError('shadowed')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("COURSE_TOKEN", "secret")
    seen = answers.evaluate(
        "import os, numpy\nenv = sorted(os.environ)\nhere = os.listdir('.')\nwhere = os.getcwd()\nfile = numpy.__file__"
    )
    assert "COURSE_TOKEN" not in seen["env"] and "PYTHONPATH" not in seen["env"]
    assert seen["here"] == [] and seen["where"] != str(tmp_path) and str(tmp_path) not in seen["file"]


def test_files_lie_beside_the_cells_and_leave_no_trace():
    request = {"source": "import os\ntext = open('data/x.csv').read()\nwhere = os.getcwd()", "timeout": 5}
    (reply,) = ask("ws_course.grading.answers", request, files={"data/x.csv": b"1,2"}, timeout=10)
    assert reply["values"]["text"] == "1,2"
    import pathlib

    assert not pathlib.Path(reply["values"]["where"]).exists()


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("#include <cstdlib>\n", 1),
        ("\n  #  include<unistd.h>\n", 2),
        ("#inc\\\nlude <unistd.h>\n", 1),
        ('%:include "x.h"\n', 1),
        ('#include "/etc/passwd"\n', 1),
        ("#define H <unistd.h>\n#include H\n", 2),
        ("#include_next <stdlib.h>\n", 1),
        ("#include <cuda/../cstdlib>\n", 1),
        ('__global__ void f() { asm volatile("syscall"); }\n', 1),
    ],
)
def test_a_graded_kernel_includes_only_what_a_gpu_compiler_has(source, line):
    (fault,) = foreign(Kernel(source, "f", "cell f"))
    assert (fault.kind.value, fault.file, fault.line) == ("compile-error", "cell f", line)
    with pytest.raises(NotPassed, match="compile-error: cell f"):
        grade(Kernel(source, "f", "cell f"), [np])


def test_the_courses_headers_are_allowed():
    names = (
        "cooperative_groups.h",
        "cooperative_groups/memcpy_async.h",
        "cuda/pipeline",
        "cuda/std/utility",
        "cuda_fp16.h",
        "ws/trace.cuh",
    )
    assert foreign(Kernel("".join(f"#include <{name}>  // why\n" for name in names), "f")) == ()


def test_points_are_refused_where_a_learners_notebook_is_run(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(RuntimeError, match="in the project's folder"):
        grade(Kernel("__global__ void f() {}", "f"), [np])
