"""Replays of a journal's episodes, from seed and actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import TRIED, EpisodeRecord, episodes
from dovetail_experiments.records.replay import replay
from dovetail_web.games import LONGEST_NAME
from dovetail_web.positions import drawn, plain
from dovetail_web.tables import HINT, SHOWN

MOST_LISTED = 500
MOST_TURNS = 5000


RESULTS = {"won": "Won", "lost": "Lost", "draw": "Drawn", "cut": "Not played to the end"}
"""The results by which the list can be filtered, with their names for visitors."""


class Filter(NamedTuple):
    """The episodes to list; an empty field fits all."""

    whose: str = ""
    """A part of the title or of a player's name."""
    game: str = ""
    """The name of the environment."""
    result: str = ""
    """One of ``RESULTS``; *won* and *lost* are by the players who are named, if any are."""

    def fits(self, each: Mapping[str, Any]) -> bool:
        """Return whether to list an episode."""
        part, names = self.whose.casefold(), each["agents"]
        own = {seat for seat, name in enumerate(names) if part in name.casefold()}
        named = part in each["title"].casefold() or bool(own)
        if not named or (self.game and self.game != each["environment"]):
            return False
        return not self.result or self._ended(each, own or set(range(len(names))))

    def _ended(self, each: Mapping[str, Any], own: set[int]) -> bool:
        won, cut = set(each["winners"]), bool(each["reason"] != "terminated")
        match self.result:
            case "won":
                return bool(won & own)
            case "lost":
                return bool(won and own - won)
            case "draw":
                return not won and not cut and len(each["outcome"] or ()) > 1
        return cut


def listed(
    journal: Path, titled: Callable[[str], str], wanted: Filter
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the newest episodes of a journal, newest first, and the titles of all its games.

    Raises as ``episodes`` does.

    Args:
        journal: the journal.
        titled: gives the title of an environment.
        wanted: the episodes to return.
    """
    found: list[dict[str, Any]] = []
    games: dict[str, str] = {}
    for number, record in episodes(journal):
        empty = record.result.reason == "cancelled" and not record.actions
        if empty or record.label in (HINT, SHOWN, TRIED):
            continue
        name = record.environment[:LONGEST_NAME]
        if name not in games:
            games[name] = titled(name)
        episode = {**about(number, record), "title": games[name]}
        if not wanted.fits(episode):
            continue
        found.append(episode)
        if len(found) > 2 * MOST_LISTED:
            del found[:MOST_LISTED]
    return found[-MOST_LISTED:][::-1], dict(sorted(games.items(), key=itemgetter(1)))


def about(number: int, record: EpisodeRecord) -> dict[str, Any]:
    """Return a recorded episode's details for the page."""
    result = record.result
    return {
        "number": number,
        "environment": record.environment[:LONGEST_NAME],
        "agents": [name[:LONGEST_NAME] for name in record.players],
        "outcome": result.outcome,
        "winners": winners(result.outcome or []),
        "returns": [seat.total for seat in result.seats],
        "seconds": [seat.seconds for seat in result.seats],
        "turns": result.turns,
        "reason": result.reason,
        "blame": result.blame,
        "message": result.message,
        "seed": result.seed,
    }


def winners(outcome: Sequence[float]) -> list[int]:
    """Return the seats that won; none of a draw.

    >>> winners([1, 0]), winners([0.5, 0.5]), winners([])
    ([0], [], [])
    """
    best = [seat for seat, points in enumerate(outcome) if points == max(outcome)]
    return best if len(best) < len(outcome) else []


def found(journal: Path, number: int) -> EpisodeRecord:
    """Return the episode with a number.

    Raises:
        DovetailError: there is none, or the journal cannot be read.
    """
    for at, record in episodes(journal):
        if at == number:
            return record
    raise DovetailError(f"there is no replay {number}")


def positions(record: EpisodeRecord) -> Iterator[dict[str, Any]]:
    """Yield an episode's positions, replayed by the installed environment.

    Raises:
        DovetailError: it is not installed, the replay differs, or the game is too long.
    """
    last = len(record.actions)
    for number, (environment, turn) in enumerate(replay(record)):
        rewards = [0.0] * len(record.result.seats)
        for view in turn.seats:
            rewards[view.seat] = view.reward
        scene, problem = drawn(environment.scene())
        acted = record.actions[number - 1] if number else []
        yield {
            "turn": number,
            "to_act": turn.to_act,
            "actions": [[seat, plain(action)] for seat, action in acted],
            "rewards": plain(rewards),
            "outcome": turn.outcome,
            "reason": record.result.reason if number == last else None,
            "scene": scene,
            "problem": problem,
            "text": environment.text(),
            "thoughts": [],
        }
        if not turn.to_act:
            return
        if number == MOST_TURNS:
            raise DovetailError(f"the page shows the first {MOST_TURNS} turns of this game")
