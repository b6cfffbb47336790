"""The question to a language model, and the parser of its answer; no network."""

from __future__ import annotations

import json
import re
import string
from typing import Any

from dovetail.peer.agents.agent import Decision
from dovetail.protocol import codec
from dovetail.protocol.spaces import Text
from dovetail_bridges.choices import about, choices, is_legal, position, space_of, total

_NUMBER = re.compile(r"(?:ACTION:?\s*)?(-?[0-9]{1,18})\.?", re.IGNORECASE)
_VALUE = re.compile(r"(?:ACTION:?\s*)?(.+)", re.IGNORECASE)
_WORDS = re.compile(r"^[ \t]*([*_`]*)ACTION[ \t]*:", re.IGNORECASE | re.MULTILINE)
SHOWN = 200
"""Characters of a wrong answer quoted in the next question."""


class BadAnswer(ValueError):
    """The model's answer is not a legal action; the text says what was expected."""


def question(decision: Decision, rules: str = "") -> list[dict[str, str]]:
    """Return the messages that ask for an action.

    Args:
        decision: the seat's decision, with text and scene if the game has them.
        rules: additional rules from the user.
    """
    seat = decision.seat
    system = ["You play a game, and you want to win.", *about(seat.spec, seat.seat)]
    if rules:
        system.append(rules)
    listed = choices(decision)
    if listed is None and writes(decision):
        form = (
            "Think briefly. Then end with ACTION: at the beginning of a line, and after it the "
            "text of your action, and nothing else."
        )
    elif listed is None:
        form = "Think briefly. Then end with one line: ACTION: and your action as JSON."
    else:
        form = "Think briefly. Then end with one line: ACTION: and the number of one legal action."
    system.append(form)
    lines = [f"Turn {decision.turn}."]
    if decision.reward:
        lines.append(f"You earned {decision.reward:g} since your last action.")
    lines += ["The position, as you see it:", position(decision.text, decision.observation)]
    if listed is not None:
        lines.append("Legal actions:")
        lines += [
            f"{each.action}: {each.label}" if each.label else f"{each.action}" for each in listed
        ]
        more = total(decision) - len(listed)
        if more > 0:
            lines.append(f"... and {more} more")
    return [
        {"role": "system", "content": "\n".join(system)},
        {"role": "user", "content": "\n".join(lines)},
    ]


def read(answer: str, decision: Decision) -> Any:
    """Return the action in an answer's last line.

    An action that is text is everything after the last ``ACTION:`` at the start of a line.

    Raises:
        BadAnswer: there is none, or it is not legal.

    >>> _NUMBER.fullmatch("ACTION: 3").group(1)
    '3'
    """
    if choices(decision) is None and writes(decision):
        return _text(answer, decision)
    lines = [line.strip().strip("*`") for line in answer.splitlines() if line.strip()]
    last = lines[-1].strip() if lines else ""
    if choices(decision) is not None:
        match = _NUMBER.fullmatch(last)
        if match is None:
            raise BadAnswer("the last line must be ACTION: and the number of one legal action")
        action: Any = int(match.group(1))
    else:
        match = _VALUE.fullmatch(last)
        try:
            action = json.loads(match.group(1) if match is not None else "")
        except codec.UNREADABLE:
            raise BadAnswer("the last line must be ACTION: and your action as JSON") from None
    if not is_legal(decision, action):
        raise BadAnswer(f"{str(action)[:40]} is not a legal action here")
    return action


def writes(decision: Decision) -> bool:
    """Return whether a seat's actions are text."""
    return isinstance(space_of(decision.seat.spec, decision.seat.seat), Text)


def _text(answer: str, decision: Decision) -> str:
    """Return the text after an answer's last marker, without emphasis."""
    markers = list(_WORDS.finditer(answer))
    if not markers:
        raise BadAnswer("it must end with ACTION: at the beginning of a line, and your text")
    action = answer[markers[-1].end() :].strip(markers[-1][1] + string.whitespace)
    space = space_of(decision.seat.spec, decision.seat.seat)
    if not action or not is_legal(decision, action):
        assert isinstance(space, Text)
        allowed = f"{max(1, space.min_length)} to {space.max_length} characters"
        if space.charset is not None:
            allowed += f" of {space.charset[:SHOWN]!r}"
        raise BadAnswer(f"after ACTION: there must be {allowed}, not {len(action)}")
    return action


def again(answer: str, problem: BadAnswer) -> list[dict[str, str]]:
    """Return the messages that follow a bad answer."""
    return [
        {"role": "assistant", "content": answer[-SHOWN:] or "(nothing)"},
        {"role": "user", "content": f"That cannot be used: {problem}. Answer again."},
    ]
