"""A page says within seconds that its server is gone, and that a server that came back does not
know a game."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail_web import people
from dovetail_web.chairs import Chair
from dovetail_web.hub import SILENT, Hub
from dovetail_web.people import MOST_TABLES, SHARE, People
from dovetail_web.tables import Plan, Sitter, Table

from .conftest import Served, web
from .test_trouble import broker


def test_an_open_game_tells_that_its_server_is_silent_or_another(page: Any, tmp_path: Path) -> None:
    with broker(tmp_path, "tcp://127.0.0.1:*") as address:
        line = [sys.executable, "-m", "dovetail", "env", "connect_four", "--connect", address]
        with subprocess.Popen(line, cwd=tmp_path) as game:
            try:
                with web(tmp_path, "--connect", address) as (process, url):
                    Served(url, tmp_path, address).offers("connect_four", "person")
                    page.goto(f"{url}play/connect_four")
                    page.select_option("select[name='seat.1']", "person")
                    page.click("button.main")
                    page.wait_for_selector("#game[data-waiting=true]")
                    process.send_signal(signal.SIGSTOP)
                    began = time.monotonic()
                    page.wait_for_selector("#say:has-text('does not answer')")
                    seconds = time.monotonic() - began
                    assert "The server does not answer" in page.inner_text("#status")
                    page.locator(".target").first.press("Enter")  # goes nowhere, and says so
                    assert "does not answer" in page.inner_text("#say")
                    process.send_signal(signal.SIGCONT)
                    page.wait_for_selector("#game[data-lost=false]")
                    page.wait_for_selector("#say:empty", state="attached")
                    assert "Your turn" in page.inner_text("#status")
                    assert seconds < 6  # 3 on an idle machine
                page.wait_for_selector("#game[data-lost=true]")
                port = url.rstrip("/").rpartition(":")[2]
                with web(tmp_path, "--connect", address, "--port", port):
                    page.wait_for_selector(
                        "#status:has-text('does not have this game any more: its server was started again')"
                    )
                    assert page.get_attribute("#game", "data-waiting") == "false"
                    assert page.inner_text("#seats .who >> nth=0").startswith("You")
                    page.click("#others-to-play")  # another game is a click away
                    page.wait_for_url("**/#play")
            finally:
                game.terminate()


# -- who is there ---------------------------------------------------------------------------------

PLAN = Plan(
    "connect_four", {}, (Sitter("person", "Ann"), Sitter("person", "Bea")), 1, m.ClockRule()
)


class Seats:
    """The seats of people, without a broker."""

    def add(self, name: str, changed: Any) -> Chair:
        return Chair(name, changed)

    def remove(self, key: str) -> None:
        pass


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> People:
    """Return the people of a page whose games begin at once."""
    hub = Hub("tcp://127.0.0.1:1")  # never started
    hub.chairs = cast(Any, Seats())
    monkeypatch.setattr(people, "BEGIN_SECONDS", 0.0)
    monkeypatch.setattr(hub, "make", lambda steps: None)
    return hub.people


def test_one_address_has_its_share_of_the_tables(
    here: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = MOST_TABLES // SHARE
    for _ in range(most):
        here.play(PLAN, "10.0.0.1")
    with pytest.raises(DovetailError, match=f"{most} games are being played from your"):
        here.play(PLAN, "10.0.0.1")
    here.play(PLAN, "10.0.0.2")
    # A game that no one watches makes room.
    old = next(iter(here.tables.values()))
    old.seen -= 60
    new = here.play(PLAN, "10.0.0.1")
    assert (old.done, old.abandoned, new.done) == (True, True, False)
    assert "No one was here" in old.problem
    for address in ("10.0.0.2", "10.0.0.3", "10.0.0.4"):
        while sum(each.by == address for each in here.tables.values()) < most:
            here.play(PLAN, address)
    with pytest.raises(DovetailError, match=f"{MOST_TABLES} games are being played here"):
        here.play(PLAN, "10.0.0.5")


def test_who_has_closed_the_page_is_named(here: People) -> None:
    table: Table = here.play(PLAN)
    ann, bea = table.people
    assert (here.away(table), here.left(table)) == ([], False)
    bea.seen -= 60
    assert (here.away(table), here.left(table)) == (["Bea"], False)
    ann.seen -= 60
    table.seen -= 60
    assert (here.away(table), here.left(table)) == (["Ann", "Bea"], True)
    table.run = 7
    here._hub.catalogue = {"runs": [{"run": 7, "state": "running"}, {"run": 8, "state": "running"}]}
    states = [each["state"] for each in here._hub.now({})["runs"]]
    assert states == ["running", "left by its players"]
    table.done = True
    assert here.away(table) == []


def test_a_silent_broker_is_said_to_be_silent() -> None:
    hub = Hub("tcp://127.0.0.1:1")  # never started
    assert "Connecting" in hub.trouble
    hub.problem = ""
    assert (hub.silent, hub.trouble) == (False, "")
    hub._answered -= SILENT + 2
    assert hub.silent
    assert hub.trouble.startswith("The broker at tcp://127.0.0.1:1 has not answered for 7 s")


def test_a_person_has_one_question_open(here: People, monkeypatch: pytest.MonkeyPatch) -> None:
    table = here.play(replace(PLAN, helped=True))
    chair = table.people[0]
    chair.decision = cast(Any, SimpleNamespace(seat=SimpleNamespace(seat=0), turn=0))
    here.hint(table, chair, "mcts")
    with pytest.raises(DovetailError, match="Wait for the hint that you have asked for"):
        here.hint(table, chair, "mcts")
    chair.hint = {"number": 0, "by": "mcts", "problem": "has none"}
    here.hint(table, chair, "mcts")
