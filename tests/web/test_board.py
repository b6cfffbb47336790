"""The board of every game: it stands in one screen, on a desk and on a phone; a click is answered
soon, arrow keys move on it, and its positions have links and pictures."""

from __future__ import annotations

import os
import re
import statistics
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import httpx
import pytest
from tests.web.pictures import play

import dovetail_web

from .conftest import Served
from .playing import begin, newest, play_on

SLOW = """
const { fetch } = window;
window.fetch = async (...given) => {
    await new Promise((done) => setTimeout(done, 300));
    return fetch(...given);
};
"""
"""Positions come late, as over a slow network."""


@pytest.mark.slow
def test_a_click_is_answered_on_the_board_within_a_tenth_of_a_second(page: Any, url: str) -> None:
    begin(page, url, "dots", rows="5", columns="5")
    took = play(page, 12)
    assert len(took) == 12
    if os.getloadavg()[0] < (os.cpu_count() or 1):  # else it says how busy the machine is
        assert statistics.median(took) < 100


def test_links_and_pictures_of_a_position(page: Any, served: Served) -> None:
    begin(page, served.url, "amazons", rows="4", columns="4")
    play_on(page, 2)
    page.wait_for_selector("#game[data-waiting=true], #game[data-over=true]")
    shown = page.text_content("#text")
    top = served.url.rstrip("/")
    for kind in ("svg", "png"):
        link = page.locator(f"#as-{kind}").get_attribute("href")
        answer = httpx.get(top + link, timeout=60)
        assert answer.headers["content-type"].startswith("image/")
        if kind == "png":
            assert answer.content.startswith(b"\x89PNG")
        else:
            drawn = Xml.fromstring(answer.text)
            assert len(drawn.findall(".//{*}rect")) >= 16
            assert drawn.findall(".//{*}path"), "queens and arrows"
    assert httpx.get(f"{top}{link}".replace(".png", ".gif")).status_code == 404
    # The link opens the same position elsewhere, though the game has gone further.
    here = page.locator("#here").get_attribute("href")
    play_on(page)
    page.add_init_script(SLOW)
    page.goto(top + here)
    page.wait_for_selector("#board svg .piece")
    page.wait_for_selector(f"#slider:not([max='{here.rpartition('=')[2]}'])")
    page.wait_for_function(
        "text => document.getElementById('text').textContent === text", arg=shown
    )
    # The finished game has pictures in its replay.
    replay = newest(f"{top}/", "amazons")
    assert httpx.get(f"{replay}/turn/1.svg", timeout=60).text.startswith("<svg")
    assert httpx.get(f"{replay}/turn/99999.svg", timeout=60).status_code == 404


GAMES: dict[str, dict[str, Any]] = {
    "connect_four": {},
    "amazons": {},
    "rlgame": {},
    "dots": {},
    "dominion": {},
    "tetris": {},
    "2048": {},
}
MEASURED = """() => {
  const low = (of) => document.querySelector(of)?.getBoundingClientRect().bottom ?? Infinity;
  const rims = [...document.querySelectorAll('#board .files span, #board .ranks span')];
  return {
    wide: document.documentElement.scrollWidth,
    low: Math.max(...['#bar', '#board .frame', '.controls', '#seats'].map(low)),
    board: document.querySelector('#board .board').getBoundingClientRect().toJSON(),
    rim: rims.map((each) => parseFloat(getComputedStyle(each).fontSize)),
  };
}"""


SIZES = [(1280, 800), (390, 844)]


def stands(page: Any, game: str, size: tuple[int, int]) -> Any:
    """Return the place of a game's board, which stands in one screen with all that belongs to
    it."""
    found = page.evaluate(MEASURED)
    assert found["low"] <= size[1], game
    assert found["wide"] <= size[0], game
    assert set(found["rim"]) <= {12}, "coordinates have one size"
    assert max(found["board"]["width"], found["board"]["height"]) > 0.4 * min(size)
    return found["board"]


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_a_game_stands_in_one_screen(chromium: Any, served: Served, size: tuple[int, int]) -> None:
    width, height = size
    context = chromium.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(120_000)
    page = context.new_page()
    try:
        for game, options in GAMES.items():
            begin(page, served.url, game, "" if game in ("tetris", "2048") else "random", **options)
            before = stands(page, game, size)
            play_on(page, 4)
            assert stands(page, game, size)["y"] == before["y"], "the board never moves"
    finally:
        context.close()


HERE = Path(dovetail_web.__file__).parent
RINGS = """() => {
  const fields = "a[href], button, input, select, textarea, summary, [tabindex]";
  const stops = [...document.querySelectorAll(fields)].filter(
    (each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility());
  return stops.flatMap((each) => {
    each.focus();
    if (each.matches("main, .skip") || document.activeElement !== each) return [];
    if (each.matches(".target"))
      return getComputedStyle(each.querySelector(".ring")).stroke === "none" ? ["target"] : [];
    const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(each);
    const reach = parseFloat(outlineOffset) + parseFloat(outlineWidth);
    const box = each.getBoundingClientRect();
    let sides = outlineStyle === "none" ? 0 : 4;
    for (let up = each.parentElement; up && up !== document.body; up = up.parentElement) {
      const [style, rim] = [getComputedStyle(up), up.getBoundingClientRect()];
      let cut = 0;
      if (style.overflowX !== "visible")
        cut += (box.left - reach < rim.left - 1) + (box.right + reach > rim.right + 1);
      if (style.overflowY !== "visible")
        cut += (box.top - reach < rim.top - 1) + (box.bottom + reach > rim.bottom + 1);
      sides = Math.min(sides, 4 - cut);
    }
    return sides < 3 ? [each.outerHTML.slice(0, 90)] : [];
  });
}"""
"""Returns what can have the focus without a ring of which three sides are seen."""
ALONE = ("2048", "tetris")
FOCUSED = "!!document.activeElement?.closest('#board .target, #buttons button')"


def tab(page: Any) -> None:
    """Press Tab until the focus is on something that can be chosen."""
    page.wait_for_selector("#board .target, #buttons button", state="attached")
    for _ in range(60):
        if page.evaluate(FOCUSED):
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab does not lead to a choice")


def started(page: Any, served: Served, game: str) -> None:
    served.offers(game)
    begin(page, served.url, game, "" if game in ALONE else "random")
    tab(page)


@pytest.mark.parametrize("game", ["connect_four", "dots", "amazons"])
def test_arrows_lead_from_choice_to_choice(page: Any, served: Served, game: str) -> None:
    started(page, served, game)
    part = "document.activeElement.dataset.part"
    seen = {page.evaluate(part)}
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        assert page.evaluate(FOCUSED)
        seen.add(page.evaluate(part))
    assert len(seen) > 1


def test_2048_takes_its_arrows_when_the_board_has_the_focus(page: Any, served: Served) -> None:
    started(page, served, "2048")
    for _ in range(6):
        number = page.get_attribute("#game", "data-number")
        for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp"):  # one of them is legal
            page.keyboard.press(key)
        page.wait_for_selector(f"#game[data-waiting=true]:not([data-number='{number}'])")
    assert re.match(r"Turn [1-9]", page.inner_text("#status"))


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["desk", "phone"])
def test_the_focus_is_seen_wherever_it_is(page: Any, served: Served, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for path in ("", "play/dominion", "replay", "write", "results"):
        page.goto(served.url + path)
        page.wait_for_load_state()
        page.keyboard.press("Tab")
        assert page.evaluate(RINGS) == [], path
        assert page.is_visible("#theme")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    started(page, served, "connect_four")
    page.keyboard.press("Enter")
    page.wait_for_selector("#log li")
    page.click(".menu summary")
    page.keyboard.press("Tab")
    assert page.evaluate(RINGS) == []


def test_scripts_read_what_something_writes() -> None:
    scripts = {each.name: each.read_text() for each in (HERE / "static").glob("*.js")}
    text = "\n".join([*scripts.values(), *(e.read_text() for e in HERE.rglob("*.html"))])
    for name in set(re.findall(r"\bdataset\.(\w+)", text)):
        attribute = "data-" + re.sub("([A-Z])", lambda found: f"-{found[1].lower()}", name)
        written = (
            rf"\bdataset\.{name} = |\b{attribute}\b[\"']?[=:]|toggleAttribute\(\"{attribute}\""
        )
        assert re.search(written, text), f"dataset.{name} is read, and nothing writes it"
