"""Board, seats, status and controls of every game stand in one screen, on a desk and on a phone."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Served
from .playing import begin, play_on

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


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["desk", "phone"])
def test_a_game_stands_in_one_screen(chromium: Any, served: Served, size: tuple[int, int]) -> None:
    width, height = size
    context = chromium.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(120_000)
    page = context.new_page()
    try:
        for game, options in GAMES.items():
            begin(page, served.url, game, "" if game in ("tetris", "2048") else "random", **options)
            before = page.evaluate(MEASURED)
            play_on(page, 4)
            found = page.evaluate(MEASURED)
            for each in (before, found):
                assert each["low"] <= height, game
                assert each["wide"] <= width, game
                assert set(each["rim"]) <= {12}, "coordinates have one size"
            assert found["board"]["y"] == before["board"]["y"], "the board never moves"
            assert max(found["board"]["width"], found["board"]["height"]) > 0.4 * min(size)
    finally:
        context.close()
