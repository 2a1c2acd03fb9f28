"""The timeline player in a real browser: on an exported page without kernel and network, and in JupyterLab."""

import re
from dataclasses import replace

import nbformat
import pytest
from nbconvert import HTMLExporter

from ws_course.runtime.result import Span
from ws_course.trace.timeline import Timeline
from ws_course.viz import palette
from ws_course.widgets import Player
from ws_course.widgets.freeze import Freeze

pytestmark = pytest.mark.browser

# A loader and two compute warps, six tiles, two slots: a tile is asked for in 10 ns and computed in 40 or 50.
SOURCE = """
from ws_course.runtime.result import Span
from ws_course.trace.timeline import Timeline
from ws_course.widgets import Player
spans = [Span(0, w, "wait", 0, 100, -1, "full[0]") for w in (1, 2)]
for n in range(6):
    asked, begins = (20 * n, 100) if n == 0 else (20 * n if n < 2 else 50 + 50 * n, 100 + 50 * n)
    spans.append(Span(0, 0, "load", asked, asked + 10, n))
    spans += [Span(0, 1, "compute", begins, begins + 40, n), Span(0, 2, "compute", begins, begins + 50, n)]
spans.append(Span(0, 0, "wait", 30, 150, -1, "empty[0]"))
player = Player(Timeline("six tiles", tuple(spans), "measured now (by hand)", "ns", stages=2))
"""


def make_player():
    names = {}
    exec(SOURCE, names)
    return names["player"]


def notebook(*sources, outputs=()):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for cell, data in zip(book.cells, outputs, strict=False):
        cell.outputs = [nbformat.v4.new_output("execute_result", data, execution_count=1)]
        cell.execution_count = 1
    return book


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A stored notebook as HTML, in a light and in a dark theme, and the player's HTML on a page of no theme."""
    folder = tmp_path_factory.mktemp("exported")
    html = make_player().html()
    stored = Freeze()(notebook("player", outputs=[make_player()._repr_mimebundle_()[0]]), {})[0]
    for theme in ("light", "dark"):
        page, _ = HTMLExporter(theme=theme).from_notebook_node(stored)
        (folder / f"{theme}.html").write_text(page)
    (folder / "none.html").write_text(f"<!doctype html><meta charset=utf-8><body>{html}")
    return folder


@pytest.fixture
def open_page(browser, exported, tmp_path):
    """Open an exported page without a network; what it showed last is kept as a picture."""
    opened = []

    def open_(name, **settings):
        context = browser.new_context(viewport={"width": 1100, "height": 900}, offline=True, **settings)
        page = context.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto((exported / f"{name}.html").as_uri())
        opened.append((page, name))
        return page

    yield open_
    for number, (page, name) in enumerate(opened):
        page.screenshot(path=tmp_path / f"{number}_{name}.png")
        page.context.close()


class Seen:
    """What a reader sees of a player."""

    def __init__(self, page):
        self.page, self.root = page, page.locator(".ws-player").first
        self.root.wait_for()

    def press(self, *keys):
        self.root.focus()
        for key in keys:
            self.page.keyboard.press(key)
        return self

    @property
    def words(self):
        return self.root.get_by_role("status").inner_text()

    @property
    def time(self):
        return int(self.root.get_by_role("slider").get_attribute("aria-valuetext").split()[0])

    @property
    def cursor(self):
        return float(self.root.locator("line.cursor").get_attribute("x1"))

    @property
    def ring(self):
        """State and tile, then phase and parity of full and of empty, of each slot."""
        slots = self.root.get_by_role("listitem").all()
        return [" ".join(re.sub(r"slot \d|\w+\[\d\]|phase|· parity|tile", "", s.inner_text()).split()) for s in slots]


def test_keys_move_the_cursor_the_words_and_the_ring(open_page):
    page = open_page("light")
    player = Seen(page)
    assert page.locator("img").count() == 0, "the picture has given way"
    assert player.words == "at 0 ns: loader warp 0 loads tile 0; compute warps 1, 2 wait at full[0]"
    assert player.ring == ["filling 0 0 0 0 0", "empty 0 0 0 0"]
    start = player.cursor

    player.press("ArrowRight", "ArrowRight")
    assert player.words == "at 20 ns: loader warp 0 loads tile 1; compute warps 1, 2 wait at full[0]"
    assert player.ring == ["in flight or full 0 0 0 0 0", "filling 1 0 0 0 0"]
    assert player.cursor > start

    player.press("Shift+ArrowRight")
    assert player.words == "at 100 ns: loader warp 0 waits at empty[0]; compute warps 1, 2 compute tile 0"
    assert player.ring[0] == "being read 0 1 1 0 0", "full[0] has completed phase 0"

    player.press("Shift+ArrowRight")
    assert player.words == "at 150 ns: loader warp 0 loads tile 2; compute warps 1, 2 compute tile 1"
    assert player.ring == ["filling 2 1 1 1 1", "being read 1 1 1 0 0"], "empty[0] has completed phase 0"

    player.press("Shift+ArrowRight", "Shift+ArrowRight")
    assert player.ring[0] == "filling 4 2 0 2 0", "phases count on, parities flip back"
    player.press("ArrowLeft")
    assert player.words.startswith("at 240 ns: ")
    assert player.words.endswith("compute warp 1 is between two jobs; compute warp 2 computes tile 2")

    player.press("End")
    assert player.words == "at 400 ns: loader warp 0 has finished; compute warps 1, 2 have finished"
    assert player.ring == ["empty 3 1 3 1", "empty 3 1 3 1"]
    player.press("Home")
    assert (player.time, player.cursor) == (0, start)
    assert player.root.get_by_text("measured now (by hand)").last.is_visible()
    assert page.errors == []


def test_it_plays_pauses_and_zooms(open_page):
    player = Seen(open_page("light"))
    status = player.root.get_by_role("status")
    player.press(" ")
    assert status.get_attribute("aria-live") == "off", "too fast to be read out"
    player.page.wait_for_timeout(700)
    player.press(" ")
    stopped = player.time
    assert stopped > 5 and status.get_attribute("aria-live") == "polite"
    player.page.wait_for_timeout(200)
    assert player.time == stopped

    bar = player.root.locator("rect.span").nth(1)
    wide = float(bar.get_attribute("width"))
    player.press("+")
    assert float(bar.get_attribute("width")) == pytest.approx(2 * wide)
    assert player.root.get_by_role("button", name="zoom out").is_enabled()
    player.press("End")
    right = player.root.locator("svg.plot").bounding_box()["width"]
    assert 0 < player.cursor < right, "the view has followed the cursor"
    player.root.get_by_role("button", name="zoom out").click()
    assert player.root.get_by_role("button", name="zoom out").is_disabled()

    plot = player.root.locator("svg.plot").bounding_box()
    player.page.mouse.click(plot["x"] + plot["width"] / 2, plot["y"] + 30)
    assert 100 < player.time < 250
    player.root.get_by_role("slider").fill("150")
    assert player.words.startswith("at 150 ns: loader warp 0 loads tile 2")


def test_every_control_has_a_name_and_shows_where_the_keys_are(open_page):
    player = Seen(open_page("none"))
    names = [button.get_attribute("aria-label") for button in player.root.get_by_role("button").all()]
    assert names == ["previous tile", "previous event", "play", "next event", "next tile", "zoom out", "zoom in"]
    player.root.get_by_role("button", name="next tile").click()
    assert player.time == 100
    player.page.keyboard.press("Tab")  # by key, so that the focus is shown
    outline = player.page.evaluate("getComputedStyle(document.activeElement).outline")
    assert "solid" in outline and "2px" in outline


def test_who_wants_no_motion_gets_steps(open_page):
    page = open_page("none", reduced_motion="reduce")
    player = Seen(page).press("Shift+ArrowRight", " ")
    page.wait_for_function("document.querySelector('.ws-player input').value > 100", timeout=5000)
    assert player.time == 140, "the next event, and nothing in between"
    player.press(" ")


def test_in_a_model_roles_speak_and_slots_fill_before_they_are_read(open_page, exported):
    loads = [Span(0, slot, "load", 10 * slot, 60 + 10 * slot, slot) for slot in (0, 1)]
    products = [Span(0, 2, "compute", 60 + 40 * n, 100 + 40 * n, n) for n in (0, 1)]
    modelled = Player(Timeline("a model", (*loads, *products), "modelled (by hand)", "ns", stages=2))
    (exported / "model.html").write_text(f"<!doctype html><meta charset=utf-8><body>{modelled.html()}")
    player = Seen(open_page("model")).press("ArrowRight")
    assert player.words == "at 10 ns: loader loads tiles 0, 1; compute has not begun"
    player.press("ArrowRight", "ArrowRight")
    assert player.words == "at 70 ns: loader has finished; compute computes tile 0"
    assert player.ring == ["being read 0 1 1 0 0", "full 1 1 1 0 0"]


def test_a_piece_of_a_run_does_not_pretend_to_know_what_was_before_or_comes_after(open_page, exported):
    piece = Player(replace(make_player().timeline, facts={"keep": [24, 30]}))
    (exported / "piece.html").write_text(f"<!doctype html><meta charset=utf-8><body>{piece.html()}")
    player = Seen(open_page("piece"))
    assert player.root.get_by_text("tiles 24 to 29 of CTA 0 (from 0), numbered 0 to 5").is_visible()
    assert player.ring == ["filling 0 12 0 12 0", "not in this piece ? ? ? ?"]
    player.press("Shift+ArrowRight", "Shift+ArrowRight")
    assert player.ring == ["filling 2 13 1 13 1", "being read 1 13 1 12 0"]
    player.press("End")
    assert player.words.startswith("at 400 ns: loader warp 0 has nothing more in this piece; ")
    assert player.ring == ["not in this piece ? ? ? ?"] * 2
    assert player.page.errors == []


def test_the_last_number_of_the_axis_is_inside_the_plot(open_page):
    player = Seen(open_page("none"))
    last = player.root.locator("text.tick").last
    assert last.text_content() == "400"
    plot, number = player.root.locator("svg.plot").bounding_box(), last.bounding_box()
    assert number["x"] + number["width"] <= plot["x"] + plot["width"]


def colours(page):
    """The colours of a player as "#RRGGBB": its ground, three kinds of text, the cursor."""
    found = page.evaluate("""() => {
        const canvas = document.createElement("canvas").getContext("2d");
        const hex = (colour) => {
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
            return "#" + parts.map((part) => part.toString(16).padStart(2, "0")).join("");
        };
        const of = (part, name) => hex(getComputedStyle(document.querySelector(`.ws-player${part}`))[name]);
        return [of("", "backgroundColor"), of(" .sentence", "color"), of(" .label", "color"),
                of(" text.warp", "fill"), of(" line.cursor", "stroke")];
    }""")
    return [colour.upper() for colour in found]


@pytest.mark.parametrize(
    "name, scheme, dark",
    [("light", "dark", False), ("dark", "light", True), ("none", "light", False), ("none", "dark", True)],
)
def test_it_is_readable_on_light_and_dark_pages(open_page, name, scheme, dark):
    page = open_page(name, color_scheme=scheme)
    Seen(page)
    ground, *texts, cursor = colours(page)
    assert ground == (palette.INK if dark else palette.PAPER)
    assert all(palette.contrast(ground, text) >= 4.5 for text in texts)
    assert palette.contrast(ground, cursor) >= 3


def test_without_scripts_the_picture_stays(open_page):
    page = open_page("light", java_script_enabled=False)
    assert page.get_by_alt_text("six tiles; measured now (by hand)").bounding_box()["height"] > 100
    assert page.locator(".ws-player").count() == 0


@pytest.mark.slow
def test_in_jupyterlab_the_stored_picture_comes_alive_and_keeps_its_keys(lab, page, tmp_path):
    stored = notebook(
        f"{SOURCE}player",
        "from ipywidgets import VBox\nlive = Player(player.timeline, title='a live view')\nVBox([live])",
        outputs=[make_player()._repr_mimebundle_()[0]],
    )
    folder = tmp_path / "notebooks"
    folder.mkdir()
    nbformat.write(stored, folder / "player.ipynb")
    page.goto(lab(folder)("player.ipynb"))
    picture = page.get_by_alt_text("six tiles; measured now (by hand)")
    picture.wait_for(timeout=60_000)
    assert picture.evaluate("image => image.naturalWidth") > 500
    assert page.locator(".ws-player").count() == 0, "a notebook that is not trusted runs no script"

    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click()
    for title in ("six tiles", "a live view"):
        root = page.get_by_role("group", name=f"Timeline player: {title}")
        root.wait_for(timeout=60_000)
        root.scroll_into_view_if_needed()
        root.focus()
        for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight"):
            page.keyboard.press(key)
        assert root.get_by_role("status").inner_text().startswith("at 100 ns: loader warp 0 waits at empty[0]")
        assert root.evaluate("node => node === document.activeElement"), "JupyterLab has not taken the keys"
