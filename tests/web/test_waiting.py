"""While an agent thinks, people can have it decided, or replace the agent."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Served
from .playing import CLICK, begin

STUCK = """
import threading

from dovetail import Agent

class Stuck(Agent):
    name = "NAME"

    def step(self, decision):
        threading.Event().wait()
"""


NUMBERS = itertools.count(1)


@pytest.fixture
def stuck(served: Served, tmp_path: Path) -> Iterator[str]:
    """Serve an agent that never answers, by a program that then makes no other; yield its name."""
    name, file = f"stuck-{next(NUMBERS)}", tmp_path / "stuck.py"
    file.write_text(STUCK.replace("NAME", name))
    line = [sys.executable, "-m", "dovetail", "agent", f"{file}:Stuck", "--connect", served.broker]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as program:
        served.offers("dots", name)
        yield name
        program.kill()


def choose(page: Any) -> None:
    page.wait_for_selector("#game[data-waiting=true]")
    page.locator(".target").first.evaluate(CLICK)


def test_an_agent_that_does_not_answer_is_helped_and_replaced(
    page: Any, served: Served, stuck: str
) -> None:
    begin(page, served.url, "connect_four", stuck)
    choose(page)
    page.wait_for_selector("#clock:text-matches('for \\\\d+ s of at most 60 s')")
    page.click("#decide")
    page.wait_for_selector("#log [data-turn='2'][data-seat='1']")
    choose(page)
    page.click("#replace")
    page.wait_for_selector("#seats li:nth-child(2):has-text('mcts')")
    page.wait_for_selector("#log [data-turn='4'][data-seat='1']")
    page.wait_for_selector("#game[data-waiting=true]")


def test_the_wait_that_the_form_allows_ends_by_itself(
    page: Any, served: Served, stuck: str
) -> None:
    page.goto(f"{served.url}play/connect_four")
    page.select_option("select[name='seat.1']", stuck)
    page.click("#options summary")
    page.fill("input[name='patience']", "1")
    page.click("button.main")
    for turn in (2, 4):
        choose(page)
        page.wait_for_selector(f"#log [data-turn='{turn}'][data-seat='1']")


def test_ones_own_hand_is_shown_while_another_thinks(page: Any, served: Served, stuck: str) -> None:
    page.goto(f"{served.url}play/dominion")
    page.select_option("select[name='seat.1']", stuck)
    page.click("#options summary")
    page.fill("input[name='seed']", "2")  # the other begins
    page.click("button.main")
    page.wait_for_selector("#clock:text-matches('for [3-9] s')")
    page.wait_for_selector("#board :text-is('Your hand')", state="attached")
    assert page.locator("#board :text-is('Copper')").count() == 2, "in the supply and in the hand"
