"""OpenSpiel's games as environments of Dovetail."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.environments.environment import Environment, IllegalAction, Spec, Turn, View
from dovetail.peer.presets import local
from dovetail.peer.registry import one_line
from dovetail.protocol.errors import DovetailError, NoLookahead
from dovetail.protocol.scenes import Card, Choice, Scene
from dovetail.protocol.spaces import Discrete
from dovetail_bridges.conversion import from_returns
from dovetail_bridges.openspiel import games


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of ``OpenSpiel``."""

    game: Annotated[
        str, Meta(description="OpenSpiel's game string, such as kuhn_poker or go(board_size=9).")
    ] = "tic_tac_toe"
    observe: Annotated[
        games.Observe,
        Meta(
            description="What seats see: the observation or information-state tensor, the string, "
            "the history of actions, or the first of these that the game has."
        ),
    ] = "auto"
    outcome: Annotated[
        Literal["returns", "none"],
        Meta(description="Score the seats by their returns, or give episodes no outcome."),
    ] = "returns"


class OpenSpiel(Environment[Options]):
    """Any game of OpenSpiel, by its game string.

    Chance is drawn from the episode's seed, and simultaneous moves are simultaneous.  Rewards are
    the differences of ``returns()`` between decisions.
    """

    name = "openspiel"
    packages = ("pyspiel",)

    def init(self) -> Spec:
        options = self.configuration
        pyspiel = games.library()
        own = options.game == local(type(self), "game")
        self._game = game = games.load(options.game, local=own)
        self._views = games.Views(game, options.observe)
        self._players = players = game.num_players()
        kind = game.get_type()
        self._perfect = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        self._probe()
        self._plain = (
            self._perfect
            and kind.chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC
            and kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
            and self._views.form in ("observation", "information")
        )
        """True if the action alone determines the next observation."""
        low, high = game.min_utility(), game.max_utility()
        bounded = math.isfinite(low) and math.isfinite(high)
        last = kind.reward_model == pyspiel.GameType.RewardModel.TERMINAL
        zero_sum = kind.utility == pyspiel.GameType.Utility.ZERO_SUM and players == 2
        length = game.max_game_length()
        return Spec(
            name=options.game,
            seats=players,
            observation_spaces=[self._views.space],
            action_spaces=[Discrete(game.num_distinct_actions())],
            reward_range=(min(low, 0.0), max(high, 0.0)) if bounded and last else None,
            perfect_information=self._perfect,
            chance=kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC,
            afterstates=self._plain,
            forfeit=((low, high if zero_sum else 0.0) if bounded else None),
            max_turns=length if length > 0 else None,
        )

    def _probe(self) -> None:
        """Refuse a game whose actions are not numbers."""
        state = games.seeded(self._game, 0).new_initial_state()
        try:
            games.settle(state, random.Random(0))
            for player in games.acting(state):
                state.legal_actions(player)
        except Exception as error:
            raise DovetailError(
                f"game {self.configuration.game!r} cannot be played by numbered actions: "
                f"{one_line(error)}"
            ) from None

    def start(self, seed: int) -> Turn:
        self.rng = random.Random(seed)
        self.state = games.seeded(self._game, seed).new_initial_state()
        self._returns = [0.0] * self._players
        return self._turn()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        to_act = games.acting(self.state)
        if sorted(actions) != sorted(to_act):
            raise IllegalAction(f"the seats {to_act} must act; got actions of {sorted(actions)}")
        for seat, action in actions.items():
            if type(action) is not int or action not in self.state.legal_actions(seat):
                raise IllegalAction(f"action {action!r} is not legal", seat)
        games.apply(self.state, dict(actions))
        return self._turn()

    def _turn(self) -> Turn:
        state, views = self.state, self._views
        games.settle(state, self.rng)
        before, self._returns = self._returns, [float(each) for each in state.returns()]
        rewards = [now - then for now, then in zip(self._returns, before, strict=True)]
        to_act = games.acting(state)
        if not to_act:
            seen = [views.see(state, seat) for seat in range(self._players)]
            scored = self.configuration.outcome == "returns"
            outcome = from_returns(self._returns) if scored else None
            return Turn.end(seen, rewards, outcome=outcome)
        shown = [*to_act, *(s for s, r in enumerate(rewards) if r and s not in to_act)]
        return Turn(
            to_act=to_act,
            seats=[
                View(
                    seat,
                    views.see(state, seat),
                    list(state.legal_actions(seat)) if seat in to_act else None,
                    rewards[seat],
                )
                for seat in shown
            ],
        )

    def afterstates(self, seat: int) -> NDArray[np.float32]:
        """Return the seat's observation after each legal action: float32, shape (legal actions,
        *observation shape)."""
        state = self.state
        rows = [self._views.see(state.child(each), seat) for each in state.legal_actions(seat)]
        return np.stack(rows)

    def text(self, seat: int | None = None) -> str:
        """Return OpenSpiel's text of the position, or of the seat's knowledge in imperfect
        information."""
        if self._perfect:
            return str(self.state)
        if seat is None:
            return f"{self.configuration.game}, move {self.state.move_number()}"
        return self._views.text(self.state, seat)

    def scene(self, seat: int | None = None) -> Scene | None:
        """Return a card for each legal action, with its name in OpenSpiel."""
        if seat is None or seat not in games.acting(self.state):
            return Scene(caption=self.text(seat))
        names = [
            (action, self.state.action_to_string(seat, action))
            for action in self.state.legal_actions(seat)
        ]
        return Scene(
            cards=[Card("actions", name) for _, name in names],
            choices=[Choice(action, name, cards=[n]) for n, (action, name) in enumerate(names)],
            caption=self.text(seat),
        )

    def fork(self, seat: int, seed: int) -> Self:
        """Return a copy of the episode as ``seat`` knows it.

        Raises:
            NoLookahead: information is hidden, and the game cannot resample it.
        """
        made = copy.copy(self)
        made.rng = random.Random(seed)
        if self._perfect:
            made.state = self.state.clone()
            return made
        try:
            made.state = self.state.resample_from_infostate(seat, made.rng.random)
        except Exception:
            raise NoLookahead(
                f"{self.configuration.game} cannot draw what a seat does not know; there is no "
                "lookahead"
            ) from None
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = copy.copy(self)
        made.rng = copy.deepcopy(self.rng, memo)
        made.state = self.state.clone()
        return made
