"""No word of the protocol stands in front of people, on any page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.clients.building import ROOT

from dovetail.broker.durable.journal import Journal
from dovetail.protocol.journal import EpisodeRecord
from dovetail.protocol.messages import Episode, Reason, SeatResult
from dovetail_experiments.arena.games import FORFEITED, ArenaGame
from dovetail_experiments.arena.store import FILE, ArenaStore

from .conftest import Served, web
from .playing import begin, play_on

GAMES = ("2048", "amazons", "connect_four", "dominion", "dots", "rlgame", "tetris")
REASONS = (*get_args(Reason), FORFEITED)
TERMS = {
    *("terminated", "truncated", "stalled", "afterstates", "lookahead", "stepwise", "dtype"),
    *("person-at-the-page", "undefined", "null", "NaN"),
}
"""Words that are whole in themselves, but not those of a visitor."""
READ = """(whole) => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  const apart = whole ? "code, pre" : "code, pre, .option, .rules";
  const hidden = [...document.querySelectorAll(apart)].map((each) => [each, each.style.display]);
  for (const [each] of hidden) each.style.display = "none";
  const found = [document.title, document.body.innerText];
  for (const [each, display] of hidden) each.style.display = display;
  for (const each of document.querySelectorAll("option")) found.push(each.textContent);
  for (const name of ["title", "aria-label", "placeholder", "alt"])
    for (const each of document.querySelectorAll(`[${name}]`)) found.push(each.getAttribute(name));
  return found.join("\\n");
}"""
"""Reads the text of a page for eyes and screen readers, without code and what was typed."""


def contract() -> set[str]:
    """Return the names and values of the contract's messages that are not plain words."""
    found: set[str] = set()

    def read(part: Any) -> None:
        if isinstance(part, dict):
            found.update(part.get("properties", ()))
            values = [*part.get("enum", ()), part.get("const")]
            found.update(each for each in values if isinstance(each, str))
            part = list(part.values())
        for each in part if isinstance(part, list) else ():
            read(each)

    read(json.loads((ROOT / "protocol" / "schema.json").read_text()))
    return {each for each in found if re.search(r"\w[-_]\w", each)}


CONTRACT = contract()


def jargon(text: str, words: set[str]) -> list[str]:
    """Return what of a text is one of these words, an identifier, or a seat counted from 0."""
    known = "|".join(map(re.escape, words))
    return sorted(
        {
            *re.findall(rf"(?<![\w-])(?:{known})(?![\w-])", text),
            *re.findall(r"\b[A-Za-z]\w*_\w+\b", text),
            *re.findall(r"\b[Ss]eat \d+|\b[Uu]nits?\b(?!, each a)", text),
        }
    )


def check(page: Any) -> None:
    """Check what a page says at this moment."""
    for whole, words in ((False, CONTRACT | TERMS), (True, CONTRACT)):
        text = page.evaluate(READ, whole)
        assert jargon(text, words) == [], f"{page.url}:\n{text}"


def test_jargon_is_found() -> None:
    assert {"environment-failed", "illegal-action", "on_timeout", "peer_timeout"} <= CONTRACT
    said = "environment-failed (seat 0), Connect Four of connect_four; 3 units, a new unity"
    wanted = ["connect_four", "environment-failed", "seat 0", "units"]
    assert jargon(said, CONTRACT) == wanted
    assert jargon("It was terminated.", CONTRACT | TERMS) == ["terminated"]


@pytest.mark.slow
def test_pages_of_games_and_results(page: Any, served: Served) -> None:
    url = served.url
    for game in GAMES:
        served.offers(game)
        page.goto(f"{url}play/{game}")
        check(page)
    page.fill("input[name='o.max_pieces']", "-5")
    page.evaluate("document.forms[0].noValidate = true")
    page.click("button.main")
    page.wait_for_selector(".problem")
    check(page)
    begin(page, url, "connect_four")
    check(page)
    play_on(page, 2)
    check(page)
    page.click("#resign")
    page.click("#ask-resign .sure")
    page.wait_for_selector("#game[data-over=true]")
    check(page)
    page.goto(f"{url}replay")
    check(page)
    page.click("td a >> nth=0")
    page.wait_for_selector("#log li")
    check(page)
    page.goto(url)
    page.wait_for_selector("#feature .seat")
    check(page)
    page.goto(f"{url}now")
    page.click("#programs")
    page.wait_for_selector("#peers td")
    check(page)
    for path in (
        *("write", "results", "results/0/1", "results/0/1/sweep"),
        *("results/compare?of=0.1&of=0.2", "results/compare", "nothing", "replay/999999"),
    ):
        page.goto(f"{url}{path}")
        check(page)


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Return the address of an arena's page, with games that ended in each way, and a token."""
    (tmp_path / "arena.toml").write_text(
        'name = "Course"\n[submissions]\n[[ladders]]\nname = "four"\ngame = "connect_four"\n'
    )
    with ArenaStore(tmp_path / "arena" / FILE, create=True) as store:
        token = store.invite("alice")
        store.invite("bob")
        one = store.enter("four", "alice", "first")
        other = store.enter("four", "", "random")
        journal = Journal(tmp_path / "arena" / "journal")
        for number, reason in enumerate(REASONS):
            unit = store.plan(1, "four", 0, [one, other])
            blame = None if reason in ("terminated", "truncated") else 0
            scores = [0.0, 1.0]
            message = "" if blame is None else "ValueError: no such column"
            played = (scores, scores, [4, 4], [0.5, 0.25])
            ends = {"reason": reason, "blame": blame, "message": message}
            games = [ArenaGame(each, [each, 1 - each], *played, **ends) for each in range(2)]
            store.finish(1, unit, games, 3)
            seats = [SeatResult("random", 1, 0.0), SeatResult("random", 2, 1.0)]
            ended = Episode(1, 1, number, 5, "terminated", seats)
            label = f"four/{unit.id}/0"
            journal.write([EpisodeRecord(ended, "connect_four", {}, "evaluate", [], label=label)])
        journal.close()
        store.mark("bob", "banned", "plays two games at once")
    (tmp_path / "arena" / "token").write_text("of the operator\n")
    with web(tmp_path, "--arena", "arena.toml") as (_, url):
        yield url, token


@pytest.mark.slow
def test_pages_of_an_arena(page: Any, arena: tuple[str, str]) -> None:
    url, token = arena
    for path in ("arena", "arena/four", "arena/four/1", "arena/four/1/2", "arena/hall"):
        page.goto(f"{url}{path}")
        check(page)
    for secret, paths in (
        (token, ("arena/mine", "arena/four", "arena/four/1")),
        ("of the operator", ("operator", "arena/four/1")),
    ):
        page.context.clear_cookies()
        page.goto(f"{url}arena")
        page.fill("input[name=token]", secret)
        page.click("button:has-text('Sign in')")
        page.wait_for_selector("button:has-text('Sign out')" if secret == token else "#archive")
        for path in paths:
            page.goto(f"{url}{path}")
            check(page)
    page.goto(f"{url}operator")
    for button in ("Begin the final…", "Ban…"):
        page.click(f"button:has-text('{button}') >> nth=0")
        page.wait_for_selector("dialog[open]")
        check(page)
        page.click("dialog a")
