"""Opponents that fit a game, by strength, for those who only want to play."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dovetail_web.tables import Sitter

LEVELS = ("easy", "medium", "strong")
TRAINED = Path(__file__).parent / "trained.zip"
"""States of agents that have learned."""


@dataclass(frozen=True)
class Player:
    """An agent that plays at a level."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    trained: tuple[str, ...] = ()
    """The names of its states by seat, for the game as it is without options."""


QUICK = Player("mcts", {"simulations": 150, "seconds": 1.0})
"""The player that stands in for one that does not answer."""
GENERAL: dict[str, Sequence[Player]] = {
    "easy": [Player("mcts", {"simulations": 10, "seconds": 1.0}), Player("random")],
    "medium": [QUICK],
    "strong": [Player("mcts", {"simulations": 5000, "seconds": 2.0})],
}
"""For a game without players of its own; the first that is connected is taken."""
SPECIAL: dict[str, dict[str, Sequence[Player]]] = {
    "2048": {"strong": [Player("ntuple-2048", {"plies": 2}, ("2048",))]},
    "amazons": {"strong": [Player("amazons-player")]},
    "connect_four": {
        "medium": [Player("alpha-beta", {"depth": 4})],
        "strong": [Player("td", trained=("connect_four",))],
    },
    "dominion": {
        "easy": [Player("random")],
        "medium": [Player("dominion-money")],
        "strong": [Player("dominion-big-money")],
    },
    "dots": {
        "medium": [Player("alpha-beta", {"depth": 3})],
        "strong": [Player("dots-player", trained=("dots",))],
    },
    "rlgame": {"strong": [Player("td", trained=("rlgame-white", "rlgame-black"))]},
    "tetris": {"strong": [Player("tetris-player")]},
}


def opponent(
    game: str, level: str, agents: Mapping[str, Any], *, usual: bool = True
) -> Sitter | None:
    """Return who plays a game at a level; None if no agent for it is connected.

    Args:
        game: its name.
        level: one of ``LEVELS``.
        agents: those that are connected, by name.
        usual: whether the game has no options set, so that trained players know it.

    >>> opponent("chess", "easy", {"random": {}})
    Sitter(kind='agent', name='random', parameters={}, level='easy', trained=(), peer='')
    """
    known = [*SPECIAL.get(game, {}).get(level, ()), *GENERAL.get(level, ())]
    for each in known:
        if each.name in agents and (usual or not each.trained):
            return Sitter("agent", each.name, each.parameters, level, each.trained)
    return None


def levels(game: str, agents: Mapping[str, Any]) -> dict[str, str]:
    """Return the levels at which a game can be played here, each with who plays."""
    found = {level: opponent(game, level, agents) for level in LEVELS}
    return {
        level: each.name + ", trained" * bool(each.trained)
        for level, each in found.items()
        if each is not None
    }


@cache
def state(name: str) -> bytes:
    """Return a state that comes with the page."""
    with zipfile.ZipFile(TRAINED) as archive:
        return archive.read(f"{name}.state")
