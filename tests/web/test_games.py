"""Every game, played to its end by clicking, looked at as a picture, and replayed."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as Xml

import httpx
import pytest

from .conftest import Served
from .playing import begin, play_on

GAMES = {
    "amazons": ({"rows": "5", "columns": "5"}, "random"),
    "rlgame": ({"size": "5", "pawns": "2"}, "random"),
    "dots": ({}, "random"),
    "dominion": ({"victory_pile": "1"}, "dominion-money"),
    "tetris": ({"height": "8"}, ""),
    "2048": ({"rows": "3", "columns": "3"}, ""),
}


@pytest.mark.parametrize("game", GAMES)
def test_every_game_can_be_played_by_clicking(page: Any, served: Served, game: str) -> None:
    options, opponent = GAMES[game]
    begin(page, served.url, game, opponent, **options)
    made = play_on(page)
    assert made > 5
    assert "The game is over" in page.inner_text("#status")
    for kind in ("svg", "png"):
        link = page.locator(f"#as-{kind}").get_attribute("href")
        answer = httpx.get(served.url.rstrip("/") + link)
        assert answer.headers["content-type"].startswith("image/")
        if kind == "png":
            assert answer.content.startswith(b"\x89PNG")
        else:
            assert len(list(Xml.fromstring(answer.text))) > 1
    # The link opens the same position elsewhere; the journal replays it.
    shown = page.text_content("#text")
    page.goto(served.url.rstrip("/") + page.locator("#here").get_attribute("href"))
    page.wait_for_selector("#game[data-over=true]")
    assert page.text_content("#text") == shown
    page.goto(f"{served.url}replay")
    page.locator("td a").first.click()
    page.wait_for_selector("#log li")
    page.keyboard.press("End")
    page.wait_for_selector("#status:has-text('The game is over')")
    assert page.text_content("#text") == shown
    number = page.url.rpartition("/")[2]
    assert httpx.get(f"{served.url}replay/{number}/turn/1.svg").text.startswith("<svg")
    assert httpx.get(f"{served.url}replay/{number}/turn/99999.svg").status_code == 404
