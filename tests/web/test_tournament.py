"""Runs that others started, watched on the page: a tournament, and a game with clocks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail.client.client import Experiment
from dovetail.protocol.messages import ClockRule

from .conftest import Served

TOURNAMENT = """
name = "cup"
seed = 5
[environment]
name = "connect_four"
[agents.depth2]
type = "alpha-beta"
parameters = { depth = 2 }
[agents.dice]
type = "random"
[agents.search]
type = "mcts"
parameters = { simulations = 50 }
[[tournaments]]
name = "all"
players = ["depth2", "dice", "search"]
episodes = 2000
"""
"""It lasts longer than the test, which ends it; a short one may be over before the page asks for
the runs again."""


@pytest.mark.slow
def test_a_running_tournament_is_watched(page: Any, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "cup.toml"
    file.write_text(TOURNAMENT)
    page.goto(f"{served.url}now")
    page.wait_for_selector("#counts:not(:empty)")
    line = [sys.executable, "-m", "dovetail", "run", str(file), "--connect", served.broker]
    with subprocess.Popen(
        [*line, "--out", str(tmp_path / "out")], stdout=subprocess.DEVNULL
    ) as cup:
        try:
            page.wait_for_selector("#runs td:has-text('depth2')")
            board = page.locator("#games li:has(a:has-text('depth2'))").first
            board.locator(".piece").first.wait_for()
            board.locator("a").click()
            page.wait_for_selector("#board .piece")
            page.wait_for_selector("#log li")
            assert "column" in page.inner_text("#log button >> nth=0")
            assert page.locator(".target").count() == 0
            page.wait_for_selector("#status:has-text('The game is over')")
            page.keyboard.press("Home")
            page.wait_for_selector("#board svg:not(:has(.piece))")
        finally:
            cup.kill()


def test_the_clocks_of_a_game_that_was_not_begun_on_the_page(page: Any, served: Served) -> None:
    with Experiment.connect(served.broker) as experiment:
        agents = [experiment.create("random", seed=seat) for seat in range(2)]
        run = experiment.run(
            "connect_four",
            agents,
            names=["ann", "bob"],
            clock=ClockRule(decision=5000.0, episode=6000.0),
            stepwise=True,
        )
        run.start()
        page.goto(f"{served.url}now")
        page.locator("#games a:has-text('Connect Four: ann – bob')").click()
        page.wait_for_selector("#clock:has-text('the clock stands')")
        page.wait_for_selector("#seats li:nth-child(2) .clock:text-is('100:00')")
        run.step()
        page.wait_for_selector("#status:has-text('bob to act')")
        page.wait_for_selector("#clock:has-text('the clock stands')")
        assert page.locator("#seats .clock").count() == 2
        run.cancel()
        page.wait_for_selector("#game[data-over=true]")
        page.wait_for_selector("#clock:empty", state="attached")
