"""How soon a click is answered, and the links and pictures of a position."""

from __future__ import annotations

import os
import statistics
from typing import Any
from xml.etree import ElementTree as Xml

import httpx
import pytest
from tests.web.pictures import play

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
