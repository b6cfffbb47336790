"""Whole games by mouse and by keyboard, on a desk and on a phone, in the light and in the dark, and
how they look after some decisions and at their ends.

A failed comparison names the sheet of what it saw: look at it, and if it is right, run again with
``DOVETAIL_KEEP=1``, which writes it to ``played/``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Served
from .playing import WAYS, whole

GAMES: dict[str, tuple[dict[str, str], str]] = {
    "connect_four": ({}, "random"),
    "amazons": ({"rows": "5", "columns": "5"}, "random"),
    "rlgame": ({"size": "6", "pawns": "4"}, "random"),
    "dots": ({}, "random"),
    "dominion": ({"victory_pile": "1"}, "dominion-money"),
    "tetris": ({"height": "9"}, ""),
    "2048": ({"rows": "3", "columns": "3"}, ""),
}
"""Their options, with which they are soon over, and who plays against the person."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_looks_as_it_did(
    chromium: Any, served: Served, tmp_path: Path, game: str, name: str
) -> None:
    options, opponent = GAMES[game]
    whole(chromium, served.url, tmp_path, name, game, opponent, **options)
