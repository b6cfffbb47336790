"""Opponents for a game, by strength."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dovetail_web.tables import Sitter

LEVELS = ("easy", "medium", "strong")
TRAINED = Path(__file__).parent / "trained.zip"
"""The archive of trained agents' states."""


@dataclass(frozen=True)
class Player:
    """An agent that plays at a level."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    trained: tuple[str, ...] = ()
    """The names of its states by seat, for the game without options."""
    despite: tuple[str, ...] = ()
    """The game's options with which its states can still be used."""

    @property
    def called(self) -> str:
        """Return its name for visitors."""
        return self.name + " (trained)" * bool(self.trained)


QUICK = Player("mcts", {"simulations": 150, "seconds": 1.0})
"""The player that replaces one that does not answer."""
STAND_IN = Sitter("agent", QUICK.name, QUICK.parameters, "stand-in")
GENERAL: dict[str, Sequence[Player]] = {
    "easy": [Player("mcts", {"simulations": 10, "seconds": 1.0}), Player("random")],
    "medium": [QUICK],
    "strong": [Player("mcts", {"simulations": 5000, "seconds": 2.0})],
}
"""Players by level for a game without its own; the first one connected is used."""
SPECIAL: dict[str, dict[str, Sequence[Player]]] = {
    "2048": {"strong": [Player("ntuple-2048", {"plies": 2}, ("2048",), ("four", "tiles"))]},
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
        "strong": [Player("dots-player", trained=("dots",), despite=("rewards",))],
    },
    "rlgame": {
        "strong": [
            Player(
                "td",
                trained=("rlgame-white", "rlgame-black"),
                despite=("first", "loss", "base_pawns", "max_moves"),
            )
        ]
    },
    "tetris": {"strong": [Player("tetris-player")]},
}


def opponent(
    game: str, level: str, agents: Mapping[str, Any], options: Collection[str] = ()
) -> Sitter | None:
    """Return the opponent at a level; None if no agent for it is connected.

    Args:
        game: the name of the game.
        level: one of ``LEVELS``.
        agents: the connected agents, by name.
        options: the game's options that are set; trained states may not fit with them.

    >>> opponent("chess", "easy", {"random": {}})
    Sitter(kind='agent', name='random', parameters={}, level='easy', trained=(), peer='')
    """
    known = [*SPECIAL.get(game, {}).get(level, ()), *GENERAL.get(level, ())]
    for each in known:
        if each.name in agents and not (each.trained and set(options) - set(each.despite)):
            return Sitter("agent", each.name, each.parameters, level, each.trained)
    return None


def levels(game: str, agents: Mapping[str, Any]) -> dict[str, str]:
    """Return the available levels of a game, each with its opponent."""
    found = {level: opponent(game, level, agents) for level in LEVELS}
    return {
        level: each.name + ", trained" * bool(each.trained)
        for level, each in found.items()
        if each is not None
    }


def explained(sitter: Sitter, description: str) -> str:
    """Return what an opponent does, for visitors who do not know its name.

    Args:
        sitter: the opponent.
        description: its description in the catalogue.

    >>> explained(Sitter("agent", "mcts", {"simulations": 10}), "Plays random games.")
    'Plays random games. Here: simulations 10.'
    """
    options = ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in sitter.parameters.items()
    )
    parts = [description, f"Here: {options}." * bool(options)]
    parts.append("This one has been trained." * bool(sitter.trained))
    return " ".join(filter(None, parts))


@cache
def state(name: str) -> bytes:
    """Return a trained state that ships with the page."""
    with zipfile.ZipFile(TRAINED) as archive:
        return archive.read(f"{name}.state")
