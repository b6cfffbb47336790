"""OpenSpiel's games: loading them, and observing them."""

from __future__ import annotations

import importlib
import random
from typing import Any, Literal

import numpy as np

from dovetail.peer.extras import absent
from dovetail.peer.registry import one_line
from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.arguments import reserved

Observe = Literal["auto", "observation", "information", "string", "history"]
LONGEST = 1 << 16
"""Maximum characters of a text observation."""


def library() -> Any:
    """Return pyspiel.

    Raises:
        DovetailError: it is not installed.
    """
    try:
        return importlib.import_module("pyspiel")
    except ModuleNotFoundError as error:
        raise DovetailError(absent(error) or str(error)) from None


def load(text: str, *, local: bool = False) -> Any:
    """Return the game of a string such as ``go(board_size=9)``.

    Args:
        text: the string, perhaps from another program.
        local: whether it is the local user's, which may name files.

    Raises:
        DovetailError: there is no such game, or it has no episodes of players.
    """
    pyspiel = library()
    names = pyspiel.registered_names()
    short = text.partition("(")[0]
    if short not in names:
        importlib.import_module("open_spiel.python.games")  # registers those written in Python
        names = pyspiel.registered_names()
    if short not in names:
        raise DovetailError(
            f"there is no game {short!r} in OpenSpiel; see pyspiel.registered_names()"
        )
    try:
        given = pyspiel.game_parameters_from_string(text)
    except Exception as error:
        raise DovetailError(f"{text!r} is not a game string: {one_line(error)}") from None
    file = reserved(given)
    if file is not None and not local:
        raise DovetailError(
            f"game {text!r} names a file by {file!r}, which only the program that serves it may "
            "choose, with --set game=..."
        )
    try:
        game = pyspiel.load_game(text)
    except Exception as error:
        raise DovetailError(f"game {text!r} cannot be loaded: {one_line(error)}") from None
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise DovetailError(
            f"{short} is a mean-field game, which has a population and no players; it has no "
            "episodes to play"
        )
    return game


def seeded(game: Any, seed: int) -> Any:
    """Return the game for an episode, with ``rng_seed`` set if it samples chance itself."""
    kind = game.get_type()
    if "rng_seed" not in kind.parameter_specification:
        return game
    parameters = {**game.get_parameters(), "rng_seed": seed % (1 << 31)}
    return library().load_game(kind.short_name, parameters)


def settle(state: Any, rng: random.Random) -> None:
    """Sample chance until a player is to act or the game is over."""
    while state.is_chance_node():
        outcomes, weights = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(rng.choices(outcomes, weights)[0])


def acting(state: Any) -> list[int]:
    """Return the players to act; in a simultaneous move, those with a legal action."""
    if state.is_terminal():
        return []
    if not state.is_simultaneous_node():
        return [state.current_player()]
    return [each for each in range(state.num_players()) if state.legal_actions(each)]


def apply(state: Any, actions: dict[int, int]) -> None:
    """Apply the actions of all players to act."""
    if state.is_simultaneous_node():
        state.apply_actions([actions.get(each, 0) for each in range(state.num_players())])
    else:
        (action,) = actions.values()
        state.apply_action(action)


class Views:
    """The observations of a game's players.

    Args:
        observe: ``observation`` or ``information`` for OpenSpiel's tensors of these names,
            ``string`` for the information state (or observation) as text, ``history`` for all
            actions so far, chance's too (perfect information only), or ``auto`` for the first of
            these that the game has.

    Raises:
        DovetailError: the game does not provide it.
    """

    def __init__(self, game: Any, observe: Observe = "auto") -> None:
        kind = game.get_type()
        pyspiel = library()
        perfect = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        has = {
            "observation": kind.provides_observation_tensor,
            "information": kind.provides_information_state_tensor,
            "string": kind.provides_information_state_string or kind.provides_observation_string,
            "history": perfect,
        }
        tensors = ("observation", "information")
        sizes = {each: _shape(game, each) for each in tensors if has[each]}
        has |= {each: bool(sizes.get(each)) for each in tensors}
        found = next((each for each, there in has.items() if there), None)
        self.form = found if observe == "auto" else observe
        if self.form is None or not has[self.form]:
            offered = ", ".join(each for each, there in has.items() if there) or "none"
            raise DovetailError(
                f"{kind.short_name} cannot be observed by {observe!r}; it provides {offered}"
            )
        self._information = kind.provides_information_state_string
        self.space: spaces.Space
        if self.form == "string":
            self.space = spaces.Text(LONGEST)
        elif self.form == "history":
            most = max(game.num_distinct_actions(), game.max_chance_outcomes(), 1)
            self.space = spaces.Sequence(spaces.Discrete(most), LONGEST)
        else:
            self._shape = sizes[self.form]
            self.space = spaces.Box(self._shape, dtype="float32")

    def see(self, state: Any, player: int) -> Any:
        """Return a player's observation of a state."""
        match self.form:
            case "observation":
                flat = state.observation_tensor(player)
            case "information":
                flat = state.information_state_tensor(player)
            case "history":
                return list(state.history())
            case _:
                return self.text(state, player)
        return np.array(flat, np.float32).reshape(self._shape)

    def text(self, state: Any, player: int) -> str:
        """Return a player's knowledge as text."""
        if self._information:
            return str(state.information_state_string(player))
        return str(state.observation_string(player))


def _shape(game: Any, which: str) -> list[int]:
    """Return the shape of a tensor; empty if the game does not provide it."""
    try:
        shape = (
            game.observation_tensor_shape()
            if which == "observation"
            else game.information_state_tensor_shape()
        )
    except Exception:
        return []
    return [int(each) for each in shape]
