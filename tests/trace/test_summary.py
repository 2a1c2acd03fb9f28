"""A timeline as text: shares of time where there is time, none where there is only an order."""

from ws_course.runtime import Span
from ws_course.trace.summary import summary
from ws_course.trace.timeline import TICKS, Timeline

SPANS = (Span(0, 0, "load", 10, 20, 0), Span(0, 0, "wait", 20, 50, -1, "empty"), Span(0, 0, "load", 50, 60, 1))


def test_shares_are_of_time():
    assert summary(Timeline("ring", SPANS, "measured now (GPU)")).splitlines() == [
        "ring: measured now (GPU), 50 ns",
        "  CTA 0   warp 0  loader         load 2 (40%), wait 1 (60%)",
    ]


def test_an_order_has_no_shares():
    assert summary(Timeline("ring", SPANS, "emulated order", TICKS)).splitlines() == [
        "ring: emulated order, 50 ticks",
        "  CTA 0   warp 0  loader         load 2, wait 1",
    ]


def test_nothing_is_said_to_be_nothing():
    assert summary(Timeline("ring", (), "emulated order", TICKS)) == "ring: emulated order, no spans"
