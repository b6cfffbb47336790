"""A tournament that runs elsewhere, watched on the page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import Served

TOURNAMENT = """
name = "cup"
seed = 5
[environment]
name = "connect_four"
[agents.one]
type = "alpha-beta"
parameters = { depth = 2 }
[agents.dice]
type = "random"
[agents.search]
type = "mcts"
parameters = { simulations = 50 }
[[tournaments]]
name = "all"
players = ["one", "dice", "search"]
episodes = 4
"""


@pytest.mark.slow
def test_a_running_tournament_is_watched(page: Any, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "cup.toml"
    file.write_text(TOURNAMENT)
    page.goto(served.url)
    page.wait_for_selector("#counts:not(:empty)")
    line = [sys.executable, "-m", "dovetail", "run", str(file), "--connect", served.broker]
    with subprocess.Popen(
        [*line, "--out", str(tmp_path / "out")], stdout=subprocess.DEVNULL
    ) as cup:
        try:
            page.wait_for_selector("#runs td:has-text('alpha-beta')")
            board = page.locator("#games li:has(a:has-text('alpha-beta'))").first
            board.locator(".piece").first.wait_for()
            board.locator("a").click()
            page.wait_for_selector("#board .piece")
            page.wait_for_selector("#log li")
            assert "column" in page.inner_text("#log li >> nth=0")
            assert page.locator(".target").count() == 0
            page.wait_for_selector("#status:has-text('The game is over')")
            page.keyboard.press("Home")
            page.wait_for_selector("#board svg:not(:has(.piece))")
        finally:
            cup.kill()
