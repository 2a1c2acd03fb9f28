"""The project as a whole: its commands, its lock, its documents and its notebooks agree with each other."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from ws_course import doctor
from ws_course.device import this_machine

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXT = {
    ".py",
    ".md",
    ".toml",
    ".yml",
    ".cu",
    ".cuh",
    ".cpp",
    ".h",
    ".hpp",
    ".js",
    ".css",
    ".ipynb",
    ".svg",
    ".lock",
    "",
}


def tracked():
    """Return the files that belong to the project: those in git, or everything outside ignored folders."""
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True)
    assert done.returncode == 0, "run the tests in a git clone"
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def shown(path):
    return str(path.relative_to(ROOT))


def notebooks():
    return [path for path in tracked() if path.suffix == ".ipynb"]


def direct(requirements):
    return {re.match(r"[\w.-]+", text)[0].lower() for text in requirements}


def pins():
    return dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)", LOCK.read_text(), re.MULTILINE))


# dependencies


def test_every_direct_dependency_is_pinned():
    wanted = direct([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]])
    assert wanted - set(pins()) == set()


def test_every_direct_dependency_has_a_reason():
    for line in (ROOT / "pyproject.toml").read_text().splitlines():
        if re.match(r'    "[\w-]+>=', line):
            assert re.search(r"#\s*\S+", line), line


def test_every_pin_has_a_hash_and_no_address():
    text = LOCK.read_text()
    assert "://" not in text and "find-links" not in text and "index-url" not in text
    for entry in re.split(r"\n(?=[\w.-]+==)", text):
        assert "--hash=sha256:" in entry, entry.splitlines()[0]


@pytest.mark.skipif(not os.environ.get("CI") and not (ROOT / ".venv" / ".locked").exists(), reason="not `make setup`")
def test_what_is_installed_is_what_the_lock_says():
    # a package with several pins has one per Python version; one of them is here
    allowed = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", LOCK.read_text(), re.MULTILINE):
        allowed.setdefault(name, set()).add(version)
    wrong = {}
    for name, versions in allowed.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # a marker left it out
        if version not in versions:
            wrong[name] = version
    assert wrong == {}


def test_nothing_is_left_out_on_linux():
    if sys.platform == "linux":
        missing = [name for name in direct(PROJECT["dependencies"]) if not _installed(name)]
        assert missing == []


def _installed(name):
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False


def test_the_package_ships_its_kernels_headers_records_and_scripts():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
    shipped = {pattern.removeprefix("*") for pattern in data}
    inside = {path.suffix for path in tracked() if ROOT / "ws_course" in path.parents and "include" not in path.parts}
    assert inside - {".py"} <= shipped


# commands


def targets():
    text = (ROOT / "Makefile").read_text()
    return set(re.search(r"^\.PHONY:(.*)$", text, re.MULTILINE)[1].split())


def test_every_make_command_in_the_documents_exists():
    for name in ("README.md", "CONTRIBUTING.md"):
        used = set(re.findall(r"(?:^|`)make ([a-z]+)", (ROOT / name).read_text(), re.MULTILINE))
        assert used and used <= targets(), name


def test_every_subcommand_in_the_documents_exists():
    from ws_course import cli

    known = set(cli._parser()._subparsers._group_actions[0].choices)
    texts = [(ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md", "Makefile")]
    used = {name for text in texts for name in re.findall(r"ws-course ([a-z]+)\b", text)}
    assert {"doctor", "emulate"} <= used <= known


def test_ci_runs_the_readmes_test_command():
    script = ROOT / ".ci" / "run"
    assert re.search(r"^make test$", script.read_text(), re.MULTILINE)
    assert os.access(script, os.X_OK)
    assert "make test" in (ROOT / "README.md").read_text()


@pytest.mark.skipif(not shutil.which("dash"), reason="needs dash, a shell without extensions")
def test_the_makefile_needs_no_bash():
    done = subprocess.run(["make", "-n", "-B", "SHELL=dash", "setup"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for line in re.split(r"(?<!\\)\n", done.stdout):
        checked = subprocess.run(["dash", "-n", "-c", line], capture_output=True, text=True)
        assert checked.returncode == 0, f"{line}\n{checked.stderr}"


@pytest.fixture
def clone(tmp_path):
    """Return a folder with the files that `make setup` reads first."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(folder, *words):
    return subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True, timeout=60)


def python_that(folder, script):
    path = folder / "python-here"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"PYTHON={path}"


def test_setup_without_python_says_what_to_install(clone):
    done = make(clone, "setup", "PYTHON=python-that-is-not-there")
    assert done.returncode != 0
    assert "apt-get install python3 python3-venv" in done.stdout and "make setup PYTHON=" in done.stdout


def test_setup_with_an_old_python_says_so(clone):
    old = python_that(clone, 'case "$1" in --version) echo "Python 3.9.2";; *) exit 1;; esac')
    done = make(clone, "setup", old)
    assert done.returncode != 0
    assert "Python 3.9.2 is too old" in done.stdout


def test_setup_without_the_venv_module_names_the_package(clone):
    script = f'case "$2" in *ensurepip*) exit 1;; *) exec {sys.executable} "$@";; esac'
    done = make(clone, "setup", python_that(clone, script))
    assert done.returncode != 0
    assert re.search(r"apt-get install python3\.\d+-venv", done.stdout)


# source


def test_everything_public_says_what_it_does():
    for path in tracked():
        if path.suffix != ".py" or ROOT / "ws_course" not in path.parents or not path.stat().st_size:
            continue
        module = ast.parse(path.read_text())
        public = [n for n in module.body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name[0] != "_"]
        for node in [module, *public]:
            assert ast.get_docstring(node), f"{shown(path)}: {getattr(node, 'name', 'the module')} has no docstring"


# documents


def test_the_doctor_is_content_where_the_tests_run():
    ok, text = doctor.report()
    assert ok, text
    assert this_machine().packages["jupyterlab"] == pins()["jupyterlab"]


def test_every_link_in_the_documents_leads_somewhere():
    for path in tracked():
        if path.suffix != ".md":
            continue
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.relative_to(ROOT)} links to {target}"


def test_the_glossary_has_each_term_once_with_all_columns():
    rows = [line for line in (ROOT / "GLOSSARY.md").read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    terms = [row[0] for row in cells if row[0] != "term"]
    assert len(terms) >= 40
    assert len(terms) == len({term.lower() for term in terms})
    for row in cells:
        assert len(row) == 6, row
        assert all(row), f"{row[0]}: an empty cell; write – where there is no name"
        assert row[0] == "term" or re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", row[5]), f"{row[0]} has no Japanese term"


def test_decisions_are_numbered_one_page_each():
    pages = sorted(path for path in tracked() if path.parent == ROOT / "docs" / "decisions")
    assert [int(path.name[:4]) for path in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        assert len(page.read_text().split()) <= 500, f"{page.name} is longer than a page"


def test_tracked_files_name_no_machine_and_no_registry():
    # written in pieces, so that this file does not hold what it looks for
    forbidden = re.compile(
        "|".join(["/" + folder + r"/\w" for folder in ("home", "root", "Users", "mnt", "work", "opt/py")])
        + "|" + r"py" + r"pi\.org|files\.python" + r"hosted|conda\.ana" + r"conda|deb\.deb" + r"ian"
    )  # fmt: skip
    for path in tracked():
        if path.suffix in TEXT:
            found = forbidden.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.relative_to(ROOT)}: {found[0]}"


def test_no_tracked_file_is_larger_than_a_mebibyte():
    large = {path.name: path.stat().st_size for path in tracked() if path.stat().st_size > 2**20}
    assert large == {}


# notebooks


def cells(path, kind):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("path", notebooks(), ids=shown)
def test_cells_are_short(path):
    for cell in cells(path, "code"):
        source = "".join(cell["source"])
        if not source.startswith("%%cuda"):  # a kernel is as long as it is
            assert len(source.splitlines()) <= 25, source
    # an assignment has to say exactly what is asked for
    most = 120 if ROOT / "notebooks" in path.parents else 200
    for cell in cells(path, "markdown"):
        prose = [line for line in "".join(cell["source"]).splitlines() if not line.startswith("|")]
        words = [word for word in " ".join(prose).split() if re.search(r"\w", word)]
        assert len(words) <= most, f"{len(words)} words: {' '.join(words[:12])} …"


@pytest.mark.parametrize("path", notebooks(), ids=shown)
def test_notebooks_use_the_kernel_that_everybody_has(path):
    spec = json.loads(path.read_text())["metadata"]["kernelspec"]
    assert spec["name"] == "python3"


@pytest.mark.parametrize("path", notebooks(), ids=shown)
def test_no_output_is_an_error_or_a_warning(path):
    for cell in cells(path, "code"):
        for output in cell["outputs"]:
            assert output["output_type"] != "error" or "raises-exception" in cell["metadata"].get("tags", [])
            assert output.get("name") != "stderr", "".join(output["text"])
