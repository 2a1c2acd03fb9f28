"""Store a notebook so that its widgets are pictures until somebody runs it, and its pictures are small."""

from __future__ import annotations

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from traitlets import Bool

from ws_course.viz.figures import compact
from ws_course.widgets.fallback import VIEW


class Freeze(Preprocessor):
    """An nbconvert preprocessor: keep the still form of every widget, drop the live one.

    A stored live view refers to a kernel that is gone: a notebook that is opened but not yet run would show an error
    in its place. Running the cell brings the live widget back.
    """

    enabled = Bool(True, help="Whether views are removed at all.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Remove live views that have another form, the widgets' state and the Python version; make pictures small."""
        for cell in nb.cells:
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                if len(data.keys() - {VIEW, "text/plain"}) > 0:
                    data.pop(VIEW, None)
                if "image/png" in data:
                    data["image/png"] = compact(data["image/png"])
        nb.metadata.pop("widgets", None)
        # Not which Python ran it: a page must not change because somebody else stored it.
        nb.metadata["language_info"] = {"name": "python"}
        return nb, resources
