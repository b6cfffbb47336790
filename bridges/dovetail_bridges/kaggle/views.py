"""Observations in the form expected by Kaggle's agent files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dovetail.peer.agents.agent import Decision
from dovetail.protocol import json_text
from dovetail.protocol.scenes import scene_of
from dovetail.protocol.spaces import Text
from dovetail_bridges import choices
from dovetail_bridges.conversion import plain

Theirs = tuple[dict[str, Any], dict[str, Any]]
"""The observation and configuration of an environment of Kaggle's."""
OVERAGE = 60.0
"""Seconds of ``remainingOverageTime`` for runs without such a limit."""


def view(
    decision: Decision, theirs: Theirs | None, in_a_row: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the observation and the configuration.

    Connect Four has the keys of ``connectx``; every game has those of Kaggle's OpenSpiel games,
    except ``serializedGameAndState``.  An environment of Kaggle's has its own.
    """
    clock = decision.clock
    if theirs is not None and clock is None:
        return theirs
    left = OVERAGE if clock is None or clock.left is None else clock.left
    limit = 2.0 if clock is None or clock.decision is None else clock.decision
    if theirs is not None:
        observation, configuration = theirs
        return {**observation, "remainingOverageTime": left}, {**configuration, "actTimeout": limit}
    seat = decision.seat.seat
    shown = [] if decision.scene is None else scene_of(decision.scene).choices
    labels = {each.action: each.label for each in shown if isinstance(each.action, int)}
    legal = decision.legal
    observation = {
        "step": decision.turn,
        "mark": seat + 1,
        "remainingOverageTime": left,
        "playerId": seat,
        "currentPlayer": seat,
        "isTerminal": False,
        "observationString": decision.text or "",
        "legalActions": legal,
        "legalActionStrings": None if legal is None else [labels.get(a, str(a)) for a in legal],
    }
    configuration = {
        "actTimeout": limit,
        "episodeSteps": decision.seat.spec.max_turns or 1000,
        "runTimeout": 1200,
    }
    seen = decision.observation
    if decision.seat.spec.name == "connect_four" and isinstance(seen, np.ndarray):
        planes = np.asarray(seen)[:, ::-1]  # theirs begins at the top
        mine, other = seat + 1, 2 - seat
        observation["board"] = (planes[0] * mine + planes[1] * other).astype(int).ravel().tolist()
        configuration |= {"rows": seen.shape[1], "columns": seen.shape[2], "inarow": in_a_row}
    elif isinstance(seen, np.ndarray):
        observation["board"] = seen.ravel().tolist()
        observation["shape"] = list(seen.shape)
    else:
        observation["board"] = plain(seen)
    return observation, configuration


def action(answer: Any, decision: Decision, theirs: Theirs | None) -> Any:
    """Return the action in an answer, which agents for OpenSpiel's games wrap.

    Actions of Kaggle's environments are names where they have any, and otherwise JSON.
    """
    if theirs is None:
        wrapped = isinstance(answer, dict) and "submission" in answer
        return answer["submission"] if wrapped else answer
    if isinstance(choices.space_of(decision.seat.spec, decision.seat.seat), Text):
        return json_text.write(answer)
    return choices.chosen(decision, answer)


def theirs(decision: Decision) -> Theirs | None:
    """Return the observation and configuration of an environment of Kaggle's."""
    try:
        found = json.loads(decision.observation)
    except (TypeError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("configuration"), dict):
        return None
    return found, found.pop("configuration")
