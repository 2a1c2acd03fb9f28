"""The table of a fault: the marked line, its neighbours, and nothing that the browser would run."""

from html.parser import HTMLParser

import pytest

from ws_course.faults import Fault, FaultKind, Site
from ws_course.viz import fault_html

SOURCE = "\n".join(f"line {n};" for n in range(1, 21))


class Text(HTMLParser):
    """Collect the visible text and the tags, and insist that tags close in order."""

    def __init__(self, html):
        super().__init__()
        self.text, self.tags, self.marked, self._open = "", set(), "", []
        self.feed(html)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if "mark" in self._open:
            self.marked += data


def fault(**changes):
    given = {"kind": FaultKind.DEADLOCK, "message": "Warp 2 waits for ever.", "file": "k.cu", "line": 10}
    return Fault(**{**given, **changes})


def test_the_line_is_marked_with_three_neighbours_on_each_side():
    page = Text(fault_html(fault(), SOURCE))
    assert page.marked == "> 10  line 10;"
    shown = [n for n in range(1, 21) if f"line {n};" in page.text]
    assert shown == list(range(7, 14))


@pytest.mark.parametrize(("line", "shown"), [(1, range(1, 5)), (20, range(17, 21))])
def test_the_ends_of_the_file(line, shown):
    page = Text(fault_html(fault(line=line), SOURCE))
    assert [n for n in range(1, 21) if f"line {n};" in page.text] == list(shown)


@pytest.mark.parametrize(("line", "source"), [(0, SOURCE), (21, SOURCE), (10, "")])
def test_without_a_line_there_is_no_code(line, source):
    page = Text(fault_html(fault(line=line), source))
    assert "pre" not in page.tags and "Warp 2 waits for ever." in page.text


def test_everything_that_is_known_is_said():
    others = (Site("k.cu", 4, block=0, warp=1, what="waits at consumer_wait, 64 of 96 arrivals pending"),)
    page = Text(
        fault_html(
            fault(block=0, warp=2, lane=3, object="full[1]", hint="A role skipped its arrive.", others=others), SOURCE
        )
    )
    for words in ("deadlock", "k.cu:10", "block 0, warp 2, lane 3", "full[1]", "k.cu:4", "64 of 96", "line 4;"):
        assert words in page.text
    assert "usual cause: A role skipped its arrive." in page.text


def test_everything_is_escaped():
    evil = "<script>alert('x')</script>&\""
    html = fault_html(
        fault(message=evil, hint=evil, file=evil, object=evil, line=1, others=(Site(evil, 1, what=evil),)),
        f"{evil}\nnext",
    )
    page = Text(html)
    assert "script" not in page.tags
    assert page.text.count(evil) == 8  # place, object, message, code, other place, what, code of the other, hint
