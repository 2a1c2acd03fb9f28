"""Store a notebook so that its widgets are pictures until somebody runs it."""

from __future__ import annotations

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from traitlets import Bool

from ws_course.widgets.fallback import VIEW


class Freeze(Preprocessor):
    """An nbconvert preprocessor: keep the still form of every widget, drop the live one.

    A stored live view refers to a kernel that is gone: a notebook that is opened but not yet run would show an error
    in its place. Running the cell brings the live widget back.
    """

    enabled = Bool(True, help="Whether views are removed at all.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Remove live views from outputs that have another form, and the widgets' state from the metadata."""
        for cell in nb.cells:
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                if len(data.keys() - {VIEW, "text/plain"}) > 0:
                    data.pop(VIEW, None)
        nb.metadata.pop("widgets", None)
        return nb, resources
