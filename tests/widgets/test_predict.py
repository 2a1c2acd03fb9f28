"""Predict, then reveal."""

import pytest

from ws_course import viz
from ws_course.widgets import Predict

ASK = {
    "question": "Who waits at `__syncthreads()`?",
    "choices": ["the loaders", "every thread of the block"],
    "answer": "every thread of the block",
    "why": "It counts <all> threads.",
}


def test_nothing_is_revealed_before_a_choice():
    ask = Predict(**ASK)
    assert ask.pick.value is None and ask.reveal.disabled and ask._answer.value == ""


def test_a_right_choice():
    ask = Predict(**ASK)
    ask.pick.value = ASK["answer"]
    ask.reveal.click()
    assert "✔" in ask._answer.value and "It counts &lt;all&gt; threads." in ask._answer.value


def test_a_wrong_choice_is_named_beside_the_right_one():
    ask = Predict(**ASK)
    ask.pick.value = "the loaders"
    ask.reveal.click()
    assert "✘ You chose “the loaders”. It is “every thread of the block”." in ask._answer.value
    assert ask.pick.disabled and ask.reveal.disabled


def test_the_figure_comes_with_the_answer():
    figure, ax = viz.figure(2, 1)
    viz.ladder(ax, [viz.Bar("a", 1.0)], provenance=viz.Provenance.modelled("a test"))
    ask = Predict(**ASK, figure=figure)
    assert ask._image.value == b"" and ask._image.layout.display == "none"
    ask.pick.value = "the loaders"
    ask.reveal.click()
    assert bytes(ask._image.value).startswith(b"\x89PNG") and ask._image.layout.display == ""


def test_the_still_form_lists_the_choices_and_folds_the_answer():
    data, _ = Predict(**ASK)._repr_mimebundle_()
    before, _, folded = data["text/html"].partition("<details>")
    assert "<li>the loaders</li>" in before and "<code>__syncthreads()</code>" in before
    assert "It counts &lt;all&gt; threads." in folded and "It counts" not in before
    assert data["text/plain"].splitlines() == [
        "Predict: Who waits at `__syncthreads()`?",
        "  ( ) the loaders",
        "  ( ) every thread of the block",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "nobody"}, "not among the choices"),
        ({"choices": ["one"], "answer": "one"}, "two or more"),
        ({"choices": ["one", "one"], "answer": "one"}, "different"),
    ],
)
def test_wrong_calls_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Predict(**{**ASK, **changes})
