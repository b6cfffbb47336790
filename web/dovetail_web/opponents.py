"""Opponents that fit a game, by strength, for those who only want to play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail_web.tables import Sitter

LEVELS = ("easy", "medium", "strong")
Opponent = tuple[str, dict[str, Any]]
"""An agent's name and its options."""
GENERAL: dict[str, Sequence[Opponent]] = {
    "easy": [("mcts", {"simulations": 10, "seconds": 1.0}), ("random", {})],
    "medium": [("mcts", {"simulations": 150, "seconds": 1.0})],
    "strong": [("mcts", {"simulations": 5000, "seconds": 2.0})],
}
"""For a game without players of its own; the first that is connected is taken."""
SPECIAL: dict[str, dict[str, Sequence[Opponent]]] = {
    "amazons": {"strong": [("amazons-player", {})]},
    "connect_four": {"medium": [("alpha-beta", {"depth": 4})]},
    "dominion": {
        "easy": [("random", {})],
        "medium": [("dominion-money", {})],
    },
    "dots": {"medium": [("dots-player", {})]},
    "tetris": {"strong": [("tetris-player", {})]},
}


def opponent(game: str, level: str, agents: Mapping[str, Any]) -> Sitter | None:
    """Return who plays a game at a level; None if no agent for it is connected.

    >>> opponent("chess", "easy", {"random": {}})
    Sitter(kind='agent', name='random', parameters={}, level='easy')
    """
    known = [*SPECIAL.get(game, {}).get(level, ()), *GENERAL.get(level, ())]
    for name, parameters in known:
        if name in agents:
            return Sitter("agent", name, parameters, level)
    return None


def levels(game: str, agents: Mapping[str, Any]) -> list[str]:
    """Return the levels at which a game can be played here."""
    return [level for level in LEVELS if opponent(game, level, agents) is not None]
