"""Openings: first plies that the broker plays, drawn once for all pairings or read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dovetail.client.client import Experiment
from dovetail.protocol import codec, outside
from dovetail.protocol.errors import DovetailError, Refused
from dovetail.protocol.journal import TRIED
from dovetail_experiments.statistics.units import key

Line = list[list[Any]]
"""The joint actions of each turn."""
PLIES = 4
"""Default number of random plies; more are drawn if they give too few distinct positions."""
MOST_PLIES = 10
TRIES = 4
"""Maximum number of openings drawn for each one needed."""


@dataclass(frozen=True, slots=True)
class Book:
    """Opening lines, each with the environment seed it requires, if any."""

    lines: list[Line]
    seeds: list[int]

    def of(self, first: int, episodes: int, size: int) -> list[int] | None:
        """Return the environment's seed of each episode; None if the run may choose them.

        Args:
            first: the index of the first episode.
            size: the number of consecutive episodes that share an opening.
        """
        if not self.seeds:
            return None
        rounds = (index // size for index in range(first, first + episodes))
        return [self.seeds[number % len(self.seeds)] for number in rounds]


def draw(
    experiment: Experiment,
    environment: str,
    agents: Sequence[int | str],
    configuration: dict[str, Any],
    *,
    plies: int | None,
    count: int,
    seed: int,
    lookahead: bool = False,
) -> Book:
    """Draw openings uniformly from the legal actions, without repeating a position.

    Positions that end the game are replaced. The agents are seated but never asked. There are fewer
    than ``count`` openings if the game has no more.

    Args:
        plies: the number of plies; None for ``PLIES``, or more if the game needs them.
        lookahead: whether agents may query successor positions; some refuse a seat without it.
    """
    best = Book([], [])
    for length in [plies] if plies is not None else range(PLIES, MOST_PLIES + 1, 2):
        options = {"configuration": configuration, "seed": seed, "lookahead": lookahead}
        found = _draw(experiment, environment, agents, length, count, options)
        if len(found.lines) > len(best.lines):
            best = found
        if len(best.lines) == count:
            break
    return best


def _draw(
    experiment: Experiment,
    environment: str,
    agents: Sequence[int | str],
    plies: int,
    count: int,
    options: dict[str, Any],
) -> Book:
    run = experiment.run(
        environment,
        agents,
        episodes=TRIES * count + 10,
        mode="evaluate",
        stepwise=True,
        secret=True,
        label=TRIED,
        opening_turns=plies,
        **options,
    )
    chosen: dict[str, int] = {}
    for _ in range(run.asked.episodes):
        try:
            turn = run.start(abandon=True)
        except Refused:  # the game has no list of legal actions to draw from
            break
        if turn.to_act:
            position = msgspec.json.encode([turn.observations, turn.text], enc_hook=repr).decode()
            chosen.setdefault(position if turn.observations else str(turn.index), turn.index)
        if len(chosen) == count:
            break
    run.cancel()
    results = {each.index: each for each in run}
    book = Book([], [])
    for index in chosen.values():
        opening = results[index].opening
        if len(opening) == plies:
            book.lines.append(opening)
            book.seeds.append(results[index].seed)
    return book


def problem(
    experiment: Experiment,
    environment: str,
    agents: Sequence[int | str],
    lines: Sequence[Line],
    **options: Any,
) -> str:
    """Return which opening cannot be played and why; empty if all can.

    Each one is played once; the agents are seated but never asked.

    Args:
        options: options of the run: ``configuration``, ``seed``, ``lookahead``.

    Raises:
        DovetailError: the agents cannot be seated, or a program has failed.
    """
    run = experiment.run(
        environment,
        agents,
        episodes=len(lines),
        openings=list(lines),
        mode="evaluate",
        stepwise=True,
        secret=True,
        label=TRIED,
        retries=0,
        **options,
    )
    for _ in lines:
        run.start(abandon=True)
    run.cancel()
    for episode in run:
        if episode.reason == "terminated":
            return f"opening {episode.index + 1} of {len(lines)} ends the game"
        if episode.message.startswith("opening, "):
            what = episode.message.removeprefix("opening, ")
            return f"opening {episode.index + 1} of {len(lines)}, {what}"
    return ""


def read(path: Path) -> Book:
    """Read openings from a file with one per line.

    A line has action numbers separated by spaces, or is a JSON array with an entry per turn: an
    action, or an array with the actions of all seats that act at once. Empty lines and lines that
    start with # are ignored.

    Raises:
        DovetailError: the file cannot be read, or a line is not an opening.
    """
    try:
        text = outside.text(path, outside.LIST)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise DovetailError(f"cannot read the openings {path}: {why}") from None
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            found = (
                msgspec.json.decode(stripped, type=list[Any])
                if stripped.startswith("[")
                else [int(word) for word in stripped.split()]
            )
        except codec.UNREADABLE:
            raise DovetailError(
                f"{path}:{number}: {stripped[:40]!r} is not an opening; write action numbers "
                "between spaces, or a JSON array with an entry for each turn"
            ) from None
        lines.append(found)
    if not lines:
        raise DovetailError(f"{path} has no openings; write one on each line")
    return given(lines)


def given(lines: Sequence[Sequence[Any]]) -> Book:
    """Return openings that are given in full."""
    joint = [[turn if isinstance(turn, list) else [turn] for turn in line] for line in lines]
    unique = {key(line): line for line in joint}
    return Book(list(unique.values()), [])
