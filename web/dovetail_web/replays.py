"""Replays of a journal's episodes, from seed and actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import TRIED, EpisodeRecord, episodes
from dovetail_experiments.records.replay import replay
from dovetail_web.games import LONGEST_NAME
from dovetail_web.positions import drawn, plain
from dovetail_web.tables import HINT, SHOWN

MOST_LISTED = 500
MOST_TURNS = 5000


def listed(journal: Path, titled: Callable[[str], str], whose: str = "") -> list[dict[str, Any]]:
    """Return the newest episodes of a journal, newest first; raise as ``episodes`` does.

    Args:
        journal: the journal.
        titled: gives the title of an environment.
        whose: a part of the title or of a player's name; only episodes with it are returned.
    """
    found: list[dict[str, Any]] = []
    for number, record in episodes(journal):
        if record.label in (HINT, SHOWN, TRIED):
            continue
        title = titled(record.environment[:LONGEST_NAME])
        if not any(whose.casefold() in each.casefold() for each in (title, *record.players)):
            continue
        found.append({**about(number, record), "title": title})
        if len(found) > 2 * MOST_LISTED:
            del found[:MOST_LISTED]
    return found[-MOST_LISTED:][::-1]


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
    raise DovetailError(f"{journal.name} has no episode {number}")


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
