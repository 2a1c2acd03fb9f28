"""The player of a pipeline: buttons are calls, the picture follows."""

import time

import pytest

from ws_course.model.ring import CALLS
from ws_course.widgets.fallback import VIEW
from ws_course.widgets.ring_player import RingPlayer


def test_a_unified_pipeline_has_all_calls_for_all_warps_a_partitioned_one_those_of_the_role():
    assert set(RingPlayer(2, [0, 1], [0, 1]).buttons) == {(warp, call) for warp in (0, 1) for call in CALLS}
    assert set(RingPlayer(2, [0], [1]).buttons) == {(0, call) for call in CALLS[:2]} | {(1, call) for call in CALLS[2:]}


def test_a_click_makes_the_call_and_changes_the_picture():
    player = RingPlayer()
    before = player.image.value
    player.buttons[0, "producer_acquire"].click()
    assert player.ring.states == ["filling", "empty"]
    assert player.image.value != before
    assert "1. warp 0 producer_acquire: returns, stage 0 is empty" in player.words.value


def test_a_warp_that_waits_cannot_click_until_its_call_returns():
    player = RingPlayer()
    player.buttons[1, "consumer_wait"].click()
    assert player.buttons[1, "consumer_wait"].button_style == "warning"
    assert player.buttons[1, "consumer_release"].disabled and not player.buttons[0, "producer_acquire"].disabled
    player.buttons[0, "producer_acquire"].click()
    player.buttons[0, "producer_commit"].click()
    player.land.click()
    assert "warp 1 consumer_wait returns" in player.words.value
    assert not player.buttons[1, "consumer_release"].disabled


def test_the_reader_can_run_into_the_deadlock_and_start_again():
    player = RingPlayer(1, [0], [0])
    for call in ("producer_acquire", "producer_commit", "producer_acquire"):
        player.buttons[0, call].click()
    player.land.click()
    assert player.ring.stuck and "deadlock" in player.words.value
    player.restart.click()
    assert player.ring.states == ["empty"] and "Make the first call" in player.words.value


def test_the_still_form_is_a_picture_with_words():
    data, metadata = RingPlayer(2, [0], [1], names={0: "loader <a>"})._repr_mimebundle_()
    assert VIEW in data and data["text/plain"] == "<RingPlayer: partitioned, 2 stages>"
    assert "empty, empty" in metadata["image/png"]["alt"]


def test_names_are_escaped():
    player = RingPlayer(names={0: "<b>"})
    assert "&lt;b&gt;" in player.view.children[0].children[0].value


@pytest.mark.parametrize("stages", [2, 4])
def test_an_answer_takes_less_than_a_fifth_of_a_second(stages):
    player = RingPlayer(stages)
    player.buttons[0, "producer_acquire"].click()
    # Nothing waits in there, so this is the wall time on a machine that is not busy with something else.
    begin = time.process_time()
    player.buttons[0, "producer_commit"].click()
    assert time.process_time() - begin < 0.2
