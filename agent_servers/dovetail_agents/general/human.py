"""A person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import msgspec

from dovetail.peer.agents.agent import Agent, Decision, End
from dovetail.protocol import codec
from dovetail.protocol.display_text import coloured
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.scenes import choices_of, scene_of
from dovetail.protocol.spaces import Discrete, Space, Text

MANY = 60
"""Maximum number of legal actions, or of ranges of them, to list."""


class PersonLeft(DovetailError):
    """The person at the terminal has left the game."""


class Human(Agent):
    """Asks a person at the terminal; ``q`` leaves.

    Actions are typed by number or by their label in the game's scene, in upper or lower case.
    """

    name = "human"
    wants = ("text", "scene")

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.input: TextIO = sys.stdin
        self.output: TextIO = sys.stdout
        self._left = False

    def step(self, decision: Decision) -> Any:
        self._say(f"\n{_shown(decision.text, decision.observation)}")
        if decision.reward:
            self._say(f"Reward since your last action: {decision.reward:g}")
        spec, seat = decision.seat.spec, decision.seat.seat
        space = spec.action_space(seat) if spec.action_spaces else None
        labels = _labels(decision)
        hint = _hint(decision.legal, space, labels)
        self._say(f"You are player {seat + 1}. {hint}{_time(decision)}")
        while True:
            self.output.write("Action (q leaves): ")
            self.output.flush()
            line = self.input.readline()
            answer = line.strip()
            if not line or answer == "q":
                self._left = True
                raise PersonLeft("the person left the game")
            named = _named(answer, labels)
            if named:
                return labels[named]
            try:
                return _read(answer, decision.legal, space)
            except ValueError as error:
                self._say(f"{error}. {hint}")

    def end(self, end: End) -> None:
        if self._left:
            self._say("You left the game.")
            return
        if end.text is not None or end.observation is not None:
            self._say(f"\n{_shown(end.text, end.observation)}")
        self._say(_result(end))

    def _say(self, text: str) -> None:
        self.output.write(f"{coloured(text)}\n")
        self.output.flush()


def _shown(text: str | None, observation: Any) -> str:
    return text.rstrip("\n") if text else str(observation)


def _time(decision: Decision) -> str:
    clock = decision.clock
    if clock is None:
        return ""
    limits = [max(0.0, limit) for limit in (clock.decision, clock.left) if limit is not None]
    return f" You have {min(limits):.0f} s." if limits else ""


def _labels(decision: Decision) -> dict[str, Any]:
    """Return the legal actions by their labels in the scene."""
    if decision.scene is None:
        return {}
    found = choices_of(scene_of(decision.scene), decision.legal)
    return {choice.label: choice.action for choice in found}


def _named(answer: str, labels: Mapping[str, Any]) -> str | None:
    """Return the label that was typed; case matters only if labels differ by it."""
    if answer in labels:
        return answer
    alike = [label for label in labels if label.casefold() == answer.casefold()]
    return alike[0] if len(alike) == 1 else None


def _hint(legal: Sequence[int] | None, space: Space | None, labels: Mapping[str, Any]) -> str:
    if legal is not None and len(legal) > MANY and labels:
        return f"{len(legal)} actions are legal, written like {next(iter(labels))!r}."
    if legal is not None:
        named = f", or by name, such as {next(iter(labels))!r}" if labels else ""
        return f"Legal actions: {_ranges(legal)}{named}."
    match space:
        case Discrete():
            return f"Legal actions: {_ranges(range(space.start, space.start + space.n))}."
        case Text():
            return f"Type {space.min_length} to {space.max_length} characters."
        case None:
            return "Type an action as JSON."
        case _:
            kind = type(space).__name__
            return f"Type a {kind} as JSON: {msgspec.json.encode(space).decode()}."


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as text, with runs of three or more as ranges.

    >>> _ranges([0, 1, 2, 4, 6, 7])
    '0-2, 4, 6, 7'
    >>> _ranges(range(2**62))
    '0-4611686018427387903'
    """
    if isinstance(numbers, range) and len(numbers) > 2:
        return f"{numbers[0]}-{numbers[-1]}"
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], number
        elif len(runs) == MANY:
            runs.append((number, number))
            break
        else:
            runs.append((number, number))
    parts: list[str] = []
    for first, last in runs[:MANY]:
        parts += [f"{first}-{last}"] if last > first + 1 else map(str, range(first, last + 1))
    more = f", ... ({len(numbers)} in all)" if len(runs) > MANY else ""
    return ", ".join(parts) + more


def _read(answer: str, legal: Sequence[int] | None, space: Space | None) -> Any:
    """Return the action that a person typed.

    Raises:
        ValueError: it is not an action, or not legal; the message says which.
    """
    if legal is not None or isinstance(space, Discrete):
        try:
            number = int(answer)
        except ValueError:
            raise ValueError(f"{answer[:40]!r} is not a number") from None
        possible = number in legal if legal is not None else space and space.contains(number)
        if not possible:
            raise ValueError(f"{number} is not legal")
        return number
    value: Any = answer
    if not isinstance(space, Text):
        try:
            value = msgspec.json.decode(answer)
        except codec.UNREADABLE:
            raise ValueError(f"{answer[:40]!r} is not JSON") from None
    if space is not None and not space.contains(value):
        raise ValueError(f"{answer[:40]!r} is not in the action space")
    return value


def _result(end: End) -> str:
    if end.outcome is None:
        text = f"The game is over. Your return is {end.total:g}."
    else:
        score = end.outcome[end.seat.seat]
        text = "You won." if score == 1 else "You lost." if score == 0 else "Drawn."
    if end.reason == "terminated":
        return text
    if end.blame is None:
        return f"{text} Reason: {end.reason}."
    whose = "you" if end.blame == end.seat.seat else f"player {end.blame + 1}"
    return f"{text} Reason: {end.reason}, by {whose}."
