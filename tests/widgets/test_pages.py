"""Widgets on real pages: a notebook is run, stored, converted to HTML and compared again by nbval."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from ws_course.widgets.fallback import VIEW
from ws_course.widgets.freeze import Freeze

CELLS = [
    "from pathlib import Path\n"
    "from ws_course import viz\n"
    "from ws_course.bench import record\n"
    "from ws_course.runtime.result import Span\n"
    "from ws_course.widgets import Comparison, Predict, TimelineViewer",
    "Comparison(record.read(Path('artificial.json')))",
    "Predict('Which is faster?', ['one', 'two'], 'two', 'It overlaps.')",
    "TimelineViewer([Span(0, 0, 'load', 0, 5, 0)], provenance=viz.Provenance.emulated())",
    "fig, ax = viz.figure(4, 2)\n"
    "viz.ladder(ax, [viz.Bar('a', 1.0)], provenance=viz.Provenance.modelled('a test'), title='bar')\n"
    "fig",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def run(folder, artificial_record):
    """A notebook as it is after "run all"."""
    artificial_record().save(folder / "artificial.json")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute()


@pytest.fixture(scope="module")
def stored(run):
    """The same notebook as it is stored."""
    return Freeze()(nbformat.from_dict(run), {})[0]


def outputs(notebook):
    return [output.data for cell in notebook.cells for output in cell.outputs]


def test_a_run_notebook_has_live_views(run):
    assert [VIEW in data for data in outputs(run)] == [True, True, True, False]
    assert run.metadata.widgets


def test_a_stored_notebook_has_only_their_still_forms(stored):
    assert [sorted(data) for data in outputs(stored)] == [
        ["image/png", "text/plain"],
        ["text/html", "text/plain"],
        ["image/png", "text/plain"],
        ["image/png", "text/plain"],
    ]
    assert "widgets" not in stored.metadata


def test_freezing_keeps_a_view_that_has_no_other_form():
    output = nbformat.v4.new_output("display_data", {VIEW: {"model_id": "a"}, "text/plain": "IntSlider()"})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=[output])])
    assert VIEW in outputs(Freeze()(notebook, {})[0])[0]


@pytest.mark.parametrize("which", ["run", "stored"])
def test_an_exported_page_shows_pictures(which, request):
    notebook = nbformat.from_dict(request.getfixturevalue(which))
    if which == "run":
        notebook.metadata.pop("widgets")  # as a front end stores it unless the reader asks for more
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert len(re.findall(r'<img[^>]*src="data:image/png', page)) == 3
    assert "<summary>answer</summary>" in page
    assert f'type="{VIEW}"' not in page


def test_a_page_with_the_state_of_its_widgets_is_exported_as_pictures_by_freezing(run):
    plain, _ = HTMLExporter().from_notebook_node(nbformat.from_dict(run))
    assert f'type="{VIEW}"' in plain, "the live view comes first, and needs a script from the network"
    page, _ = HTMLExporter(preprocessors=[Freeze]).from_notebook_node(nbformat.from_dict(run))
    assert len(re.findall(r'<img[^>]*src="data:image/png', page)) == 3 and f'type="{VIEW}"' not in page


def test_nbval_finds_the_stored_notebook_unchanged(stored, folder):
    path = folder / "stored.ipynb"
    nbformat.write(stored, path)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", str(path)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert f"{len(CELLS)} passed" in done.stdout
