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
