"""A first-time visitor: within a minute of opening the page a game is played, and its end told."""

from __future__ import annotations

import time
from typing import Any

import pytest

from .conftest import Served
from .playing import play_on


@pytest.mark.slow
@pytest.mark.parametrize("level", ["easy", "medium"])
def test_a_first_time_visitor_plays_at_once_and_learns_who_won_and_why(
    page: Any, served: Served, level: str
) -> None:
    served.offers("connect_four", "alpha-beta")
    begun = time.monotonic()
    page.goto(served.url)
    page.click(f".tile[data-name='connect_four'] button[value={level}]")
    page.wait_for_selector("#game[data-waiting=true]")
    play_on(page)
    page.wait_for_selector("#game[data-over=true]")
    said = page.inner_text("#headline")
    assert said.endswith(" won") or said == "Draw"
    assert page.inner_text("#facts").startswith(("Four in a row, ", "The board is full"))
    page.click("#who summary")
    assert f"({level})" in page.inner_text("#who li:visible")
    page.click("#swap")
    page.wait_for_selector("#seats li:nth-child(2):has-text('you')")
    assert time.monotonic() - begun < 60
