"""The player's data and its page: what the script is given, and what stays where no script runs."""

import base64
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace

import nbformat
import pytest
from IPython.core.formatters import DisplayFormatter
from nbconvert import HTMLExporter
from PIL import Image

from ws_course.runtime.result import Span
from ws_course.trace.slots import STATES, UNKNOWN
from ws_course.trace.timeline import TICKS, Timeline
from ws_course.viz import palette
from ws_course.widgets import Player
from ws_course.widgets.fallback import VIEW
from ws_course.widgets.freeze import Freeze


@pytest.fixture
def timeline(spans):
    return Timeline("three tiles", tuple(spans), "measured now (by hand)", "ns", stages=2)


def script(player):
    """The script of the page, and the data in it."""
    code = re.search(r'<script type="module">(.*)</script>', player.html(), re.DOTALL)[1]
    return code, json.loads(re.search(r'\nmountAll\("\w+", (.*)\);$', code)[1])


def test_rows_are_those_of_the_figures_and_hold_their_spans_in_order(timeline):
    rows = Player(timeline).data["rows"]
    named = [(row["role"], row["warp"]) for row in rows]
    assert [row["name"] for row in rows] == ["warp 0", "warp 1", "warp 2", "warp 3"]
    assert named == [("loader", 0), ("compute", 1), ("compute", 2), ("storer", 3)]
    for row in rows:
        assert row["spans"] == sorted(row["spans"], key=lambda span: span[1])
    assert sum(len(row["spans"]) for row in rows) == len(timeline.spans)
    assert rows[1]["spans"][:2] == [["wait", 0, 6, -1, "full[0]"], ["compute", 6, 10, 0, ""]]


def test_colours_come_from_the_palette(timeline):
    data = Player(timeline).data
    assert {work: given["colour"] for work, given in data["works"].items()} == palette.WORK
    assert [work for work, given in data["works"].items() if given["hatched"]] == ["wait"]
    assert data["states"]["full"]["colour"] == data["works"]["load"]["colour"]
    assert data["states"]["draining"]["colour"] == data["works"]["compute"]["colour"]
    assert set(data["states"]) == {*STATES, UNKNOWN}


def test_no_colour_is_written_into_script_or_style():
    for file in (Player._esm, Player._css):
        colours = set(re.findall(r"#[0-9a-fA-F]{6}\b", str(file)))
        assert colours == set()


def test_only_works_that_occur_are_in_the_legend(timeline):
    loads = tuple(span for span in timeline.spans if span.work == "load")
    assert list(Player(replace(timeline, spans=loads)).data["works"]) == ["load"]


def test_every_slot_has_its_history_from_the_start(timeline):
    (ring,) = Player(timeline).data["rings"]
    assert [history[0] for history in ring["slots"]] == [[0, "empty", -1, 0, 0]] * 2
    assert ring["slots"][1][1:] == [
        [10, "filling", 1, 0, 0],
        [16, "landing", 1, 0, 0],
        [16, "full", 1, 1, 0],
        [16, "draining", 1, 1, 0],
        [20, "empty", -1, 1, 1],
    ]


def test_a_piece_says_which_tiles_it_shows_and_nothing_about_the_time_around_it(timeline):
    assert Player(timeline).data["piece"] == ""
    piece = Player(replace(timeline, facts={"keep": [24, 27]})).data
    assert piece["piece"] == "tiles 24 to 26 of CTA 0 (from 0), numbered 0 to 2"
    history = piece["rings"][0]["slots"][1]
    assert [entry[1] for entry in history] == [UNKNOWN, "filling", "landing", "full", "draining", UNKNOWN]
    assert history[1] == [10, "filling", 1, 12, 12], "twelve rounds of the slot are behind it"
    assert "does not say" in piece["note"] and "does not say" not in Player(timeline).data["note"]


def test_the_tiles_of_several_ctas_are_named_once_where_they_are_the_same(timeline):
    spans = (*timeline.spans, *(replace(span, block=1, item=-1) for span in timeline.spans if span.work == "wait"))
    spans += tuple(replace(span, block=1) for span in timeline.spans if span.work != "wait" and span.item < 2)
    both = replace(timeline, spans=spans, facts={"keep": [24, 27]})
    assert Player(both).data["piece"].startswith("tiles 24 to 26 of CTA 0, tiles 24 to 25 of CTA 1 (")
    same = replace(both, spans=tuple(span for span in both.spans if span.item < 2))
    assert Player(same).data["piece"].startswith("tiles 24 to 25 of each CTA (")


def test_a_gap_without_a_name_is_called_one_except_in_a_model(timeline):
    gap = Span(0, 1, "wait", 40, 50, -1, "")
    measured = replace(timeline, spans=(*timeline.spans, gap))
    data = Player(measured).data
    assert data["rows"][1]["spans"][-1][4] == "(a gap without a name)" and "what tracing takes" in data["note"]
    modelled = Player(replace(measured, label="modelled (by hand)")).data
    assert modelled["rows"][1]["spans"][-1][4] == "" and "tracing" not in modelled["note"]


def test_a_warp_can_be_named_and_its_gaps_are_then_not_told_by_its_work(timeline):
    waits = (Span(0, 0, "wait", 40, 50, -1, "empty"), Span(0, 0, "wait", 50, 60, -1, "mbarrier.try_wait `full[0]`"))
    seen = replace(timeline, spans=(*timeline.spans, *waits))
    row = Player(seen, roles={0: "sender"}).data["rows"][0]
    assert (row["role"], row["warp"]) == ("sender", 0)
    assert [span[4] for span in row["spans"][-2:]] == ["(a gap without a name)", "full[0]"]
    assert Player(seen).data["rows"][0]["spans"][-2][4] == "empty"
    (axes,) = Player(seen, roles={0: "sender"}).draw().axes
    assert axes.get_yticklabels()[0].get_text() == "block 0 sender   warp  0"


def test_a_model_knows_when_loads_land(timeline):
    before, after = Player(timeline).data, Player(replace(timeline, label="modelled (by hand)")).data
    assert before["note"] != after["note"]
    assert "landing" not in [entry[1] for history in after["rings"][0]["slots"] for entry in history]


def test_in_a_model_rows_are_slots_and_kinds_of_work(timeline):
    model = replace(timeline, label="modelled (by hand)")
    assert [row["name"] for row in Player(model).data["rows"]] == ["slot 0", "", "", ""]
    assert Player(replace(model, stages=0)).data["rows"][0]["name"] == "buffer 0"
    assert Player(model).data["modelled"] and not Player(timeline).data["modelled"]


def test_without_stages_there_is_no_ring(timeline):
    assert Player(replace(timeline, stages=0)).data["rings"] == []


def test_ticks_are_never_called_a_time(timeline):
    measured, emulated = Player(timeline).data, Player(replace(timeline, unit=TICKS, label="emulated order")).data
    assert (measured["unit"], measured["axis"]) == ("ns", "time (ns)")
    assert emulated["unit"] == "tick" and "not a time" in emulated["axis"]


def test_a_wait_is_named_by_its_barrier(timeline):
    wait = Span(0, 0, "wait", 40, 50, -1, "mbarrier.try_wait.parity `empty[1]`")
    sync = Span(0, 0, "wait", 50, 60, -1, "__syncthreads ")
    spans = Player(replace(timeline, spans=(*timeline.spans, wait, sync))).data["rows"][0]["spans"]
    assert [span[4] for span in spans[-2:]] == ["empty[1]", "__syncthreads"]


def test_a_tile_is_jumped_to_where_its_product_begins(timeline):
    assert Player(timeline).data["tiles"] == [6, 16, 26]
    loads = tuple(span for span in timeline.spans if span.work == "load")
    assert Player(replace(timeline, spans=loads)).data["tiles"] == [0, 10, 20]


def test_blocks_are_picked(timeline):
    both = replace(timeline, spans=(*timeline.spans, *(replace(span, block=7) for span in timeline.spans)))
    assert {row["block"] for row in Player(both).data["rows"]} == {0, 7}
    assert [ring["block"] for ring in Player(both).data["rings"]] == [0, 7]
    only = Player(both, blocks=[7]).data
    assert {row["block"] for row in only["rows"]} == {7} == {ring["block"] for ring in only["rings"]}
    with pytest.raises(ValueError, match="no spans in blocks"):
        Player(both, blocks=[3])


def test_a_label_that_names_no_source_is_refused(timeline):
    with pytest.raises(ValueError, match="must say where it comes from.*'my laptop'.*'recorded'"):
        Player(replace(timeline, label="my laptop"))


def test_a_work_without_a_colour_is_refused(timeline):
    with pytest.raises(ValueError, match="no colour for the work.*sleep"):
        Player(replace(timeline, spans=(Span(0, 0, "sleep", 0, 1),)))


def test_times_that_javascript_would_round_are_refused(timeline):
    late = tuple(replace(span, start=span.start + 2**60, end=span.end + 2**60) for span in timeline.spans)
    with pytest.raises(ValueError, match="subtract the first start"):
        Player(replace(timeline, spans=late))


def test_another_timeline_takes_the_place_of_the_first(timeline):
    player = Player(timeline, title="mine")
    player.show(replace(timeline, title="other", label="emulated order", unit=TICKS))
    assert (player.data["title"], player.data["label"]) == ("mine", "emulated order")
    assert repr(player) == "<Player: mine>" and "logical" in player.data["axis"]


def test_ipython_stores_text_and_a_page_that_plays_by_itself(timeline):
    data, _ = DisplayFormatter().format(Player(timeline))
    assert data == {"text/plain": "<Player: three tiles>", "text/html": Player(timeline).html()}


def test_the_page_is_the_same_in_every_run_and_another_for_another_timeline(timeline):
    assert Player(timeline).html() == Player(timeline).html()
    names = {re.search(r'data-player="(\w+)"', Player(timeline, title=title).html())[1] for title in ("a", "b")}
    assert len(names) == 2


def test_the_page_has_a_picture_for_readers_without_scripts(timeline):
    before_script = Player(timeline).html().split("<style>")[0]
    assert 'alt="three tiles; measured now (by hand)"' in before_script
    png = re.search(r'src="data:image/png;base64,([^"]+)"', before_script)[1]
    assert Image.open(io.BytesIO(base64.b64decode(png))).width > 1000
    assert len(png) < 60_000


def test_a_name_cannot_end_the_script(timeline):
    evil = Span(0, 0, "wait", 40, 50, -1, "</script><b>x")
    player = Player(replace(timeline, spans=(*timeline.spans, evil), title='a "title" <i>'))
    assert player.html().count("</script>") == 1 and "<i>" not in player.html()
    assert script(player)[1] == json.loads(json.dumps(player.data))


@pytest.mark.skipif(not shutil.which("node"), reason="node checks the syntax")
def test_the_script_is_a_module(timeline, tmp_path):
    path = tmp_path / "player.mjs"
    path.write_text(script(Player(timeline))[0])
    done = subprocess.run(["node", "--check", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_stored_and_exported_notebook_keeps_all_of_it(timeline):
    player = Player(timeline)
    output = nbformat.v4.new_output("display_data", player._repr_mimebundle_()[0])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("player", outputs=[output])])
    stored = Freeze()(notebook, {})[0]
    assert stored.cells[0].outputs[0].data["text/html"] == player.html()
    page, _ = HTMLExporter().from_notebook_node(stored)
    place = re.search(r'data-player="\w+"', player.html())[0]
    assert place in page and script(player)[0] in page and VIEW not in page
