"""Games of a journal as text for readers and programs: headers, then the actions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dovetail.protocol import json_text as jsontext
from dovetail.protocol.journal import EpisodeRecord, episodes, uncounted
from dovetail.protocol.legal import unmask
from dovetail.protocol.scenes import Scene, choices_of
from dovetail.protocol.seats import seated
from dovetail_experiments.records.replay import replay

WIDTH = 100
"""Maximum characters in a line of actions."""


@dataclass(frozen=True, slots=True)
class RecordedGame:
    """Data of the record for a label in the journal."""

    experiment: str
    stage: str
    seats: list[str]
    rotate: bool


def texts(
    journal: Path, stages: Mapping[str, RecordedGame] | None = None, *, all_: bool = False
) -> Iterator[str]:
    """Yield the games of a journal as text, oldest first.

    A game is a block of headers ``[Name "value"]``, an empty line, and the actions with the number
    of each turn. Actions appear by name if the environment is installed and names them.

    Args:
        stages: data by label of the journal's runs, for the names of the agents.
        all_: include interrupted episodes and attempts, which do not count.

    Raises:
        DovetailError: the file is not a journal.
    """
    for number, record in episodes(journal) if all_ else counted(journal):
        yield game(number, record, (stages or {}).get(record.label))


def counted(journal: Path) -> Iterator[tuple[int, EpisodeRecord]]:
    """Yield the episodes that count with their numbers, oldest first.

    Raises:
        DovetailError: the file is not a journal.
    """
    void = uncounted(journal)
    for number, record in episodes(journal):
        if number not in void and record.result.scored:
            yield number, record


def players(record: EpisodeRecord, played: RecordedGame | None = None) -> list[str]:
    """Return the player in each seat, by its name in the experiment if known, else as recorded."""
    names = record.players
    if played is not None and len(played.seats) == len(names):
        names = seated(played.seats, record.result.index if played.rotate else 0)
    return names


def game(number: int, record: EpisodeRecord, played: RecordedGame | None = None) -> str:
    """Return one game as text."""
    result = record.result
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.time))
    headers: list[tuple[str, Any]] = [
        ("Experiment", played.experiment if played else ""),
        ("Stage", played.stage if played else ""),
        ("Game", number),
        ("Date", when),
        ("Environment", record.environment),
        ("Configuration", _json(record.configuration) if record.configuration else ""),
        ("Mode", record.mode),
        ("Episode", result.index),
        ("Seed", result.seed),
    ]
    for seat, name in enumerate(players(record, played)):
        kind = result.seats[seat].agent
        headers.append((f"Seat{seat}", name if name == kind else f"{name} ({kind})"))
    headers += [
        ("Outcome", "" if result.outcome is None else " ".join(f"{x:g}" for x in result.outcome)),
        ("Returns", " ".join(f"{seat.total:g}" for seat in result.seats)),
        ("Reason", result.reason),
        ("Blame", "" if result.blame is None else result.blame),
        ("Message", result.message),
        ("Turns", result.turns),
        ("Opening", len(result.opening) or ""),
        ("Digest", result.digest),
        ("Label", record.label),
    ]
    lines = [f"[{key} {jsontext.option(str(value))}]" for key, value in headers if value != ""]
    words = [f"{turn}. {actions}" for turn, actions in enumerate(_actions(record), 1)]
    lines += ["", *_wrapped([*words, f"{{{result.reason}}}"]), ""]
    return "\n".join(lines) + "\n"


def _actions(record: EpisodeRecord) -> list[str]:
    labels = _labels(record)
    turns = []
    for number, joint in enumerate(record.actions):
        names = [
            labels.get((number, seat), action if isinstance(action, str) else _json(action))
            for seat, action in joint
        ]
        alone = len(joint) == 1
        turns.append(
            names[0]
            if alone
            else "+".join(f"{seat}:{n}" for (seat, _), n in zip(joint, names, strict=True))
        )
    return turns


def _labels(record: EpisodeRecord) -> dict[tuple[int, int], str]:
    """Return the names of actions by turn and seat, from a replay; empty if the replay fails."""
    found: dict[tuple[int, int], str] = {}
    try:
        for (number, joint), (environment, turn) in zip(
            enumerate(record.actions), replay(record), strict=False
        ):
            for seat, action in joint:
                scene = environment.scene(seat)
                if not isinstance(scene, Scene):
                    return found
                legal = next((each.legal for each in turn.seats if each.seat == seat), None)
                actions = unmask(legal) if isinstance(legal, bytes) else legal
                for choice in choices_of(scene, actions):
                    if choice.action == action:
                        found[number, seat] = choice.label.replace(" ", "_")
    except Exception:  # without the right version of the environment, numbers suffice
        return {}
    return found


def _wrapped(words: list[str]) -> list[str]:
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=repr).decode()
