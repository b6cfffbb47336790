"""A game with all its seats in one program, for both of PettingZoo's interfaces."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from dovetail.peer import coercion as given
from dovetail.peer import options, plugins
from dovetail.peer.environments.environment import Environment
from dovetail.peer.registry import type_name
from dovetail.protocol.errors import DovetailError, IllegalAction
from dovetail.protocol.messages import Legal, Turn
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Discrete
from dovetail_bridges import conversion

Illegal = Literal["forfeit", "random", "raise"]


class RulesTable:
    """The rules of a game, with each seat's view and legal actions, without broker and agents.

    Args:
        game: an environment's name or class.
        configuration: its options.
        illegal: the effect of an illegal action: the forfeit's rewards, a random legal action
            instead, or the exception IllegalAction.

    Raises:
        DovetailError: the game does not exist, or the options are invalid.
    """

    def __init__(
        self,
        game: str | type[Environment],
        configuration: dict[str, Any] | None = None,
        illegal: Illegal = "forfeit",
    ) -> None:
        if illegal not in ("forfeit", "random", "raise"):
            raise DovetailError(
                f"illegal {illegal!r} does not exist; there are forfeit, random and raise"
            )
        kind: type[Environment] = (
            plugins.find("environment", game) if isinstance(game, str) else game
        )
        self.name = type_name(kind)
        self.environment = kind(
            options.read(kind.Configuration, dict(configuration or {}), f"environment {self.name}")
        )
        self.spec = self.environment.init()
        self._illegal = illegal
        seats = range(self.spec.seats)
        self.agents = [f"seat_{seat}" for seat in seats]
        self.observations = [self.spec.observation_space(seat) for seat in seats]
        self.actions = [self.spec.action_space(seat) for seat in seats]
        self.action_spaces = {
            agent: conversion.to_space(space)
            for agent, space in zip(self.agents, self.actions, strict=True)
        }
        self.observation_spaces = {
            agent: self._space(seat) for seat, agent in enumerate(self.agents)
        }
        self.to_act: list[int] = []
        self.rewards = [0.0] * self.spec.seats
        """Each seat's reward in the last transition."""
        self.terminated = self.truncated = False
        self.outcome: list[float] | None = None
        self.reason = ""
        self._cut: dict[int, bool] = {}
        self._seen: list[Any] = []
        self._legal: dict[int, Legal] = {}
        self._seed = 0
        self._turns = 0

    def _space(self, seat: int) -> Any:
        from gymnasium import spaces as theirs

        space, actions = conversion.to_space(self.observations[seat]), self.actions[seat]
        if not isinstance(actions, Discrete):
            return space
        mask = theirs.Box(0, 1, (actions.n,), np.int8)
        return theirs.Dict({"observation": space, "action_mask": mask})

    @property
    def over(self) -> bool:
        """Return whether the episode is over."""
        return self.terminated or self.truncated

    def start(self, seed: int) -> None:
        """Begin an episode."""
        self._seen = [conversion.zeros(space) for space in self.observations]
        self.terminated = self.truncated = False
        self.outcome, self.reason = None, ""
        self._seed, self._turns = seed, 0
        self._take(self.environment.start(seed))

    def step(self, actions: Mapping[int, Any]) -> None:
        """Apply the actions of all seats to act, in Gymnasium's form.

        Raises:
            IllegalAction: one is not legal and ``illegal`` is ``raise``; the episode is as before.
        """
        chosen = {}
        for seat in self.to_act:
            self.check(seat, actions[seat])
            action, fine = self._read(seat, actions[seat])
            if not fine:
                legal = conversion.numbers(self._legal.get(seat), self.actions[seat])
                if self._illegal == "forfeit" or legal is None:
                    self._forfeit(seat)
                    return
                path = (self._seed, "breach", self._turns, seat)
                action = random.Random(derive(*path)).choice(legal)
            chosen[seat] = action
        try:
            turn = self.environment.step(chosen)
        except IllegalAction as error:
            if self._illegal == "raise" or error.seat is None:
                raise
            self._forfeit(error.seat)
            return
        self._turns += 1
        self._take(turn)

    def check(self, seat: int, action: Any) -> None:
        """Refuse a seat's illegal action before the other seats have chosen.

        Raises:
            IllegalAction: it is not legal and ``illegal`` is ``raise``.
        """
        if self._illegal == "raise":
            read, fine = self._read(seat, action)
            if not fine:
                raise IllegalAction(f"action {read!r} of seat {seat} is not legal", seat)

    def cut(self) -> None:
        """End the episode as truncated."""
        self.truncated, self.reason = True, "truncated"
        self.to_act, self._legal = [], {}

    def observe(self, seat: int) -> Any:
        """Return a seat's latest observation with its mask, or zeros before the first."""
        space = self.actions[seat]
        if not isinstance(space, Discrete):
            return self._seen[seat]
        mask = conversion.to_mask(self._legal.get(seat) if seat in self.to_act else [], space)
        return {"observation": self._seen[seat], "action_mask": mask}

    def info(self) -> dict[str, Any]:
        """Return the public facts of the end: ``reason``, and ``outcome`` if there is one.

        Before the end ``reason`` is empty, since some replay buffers turn a missing text into NaN.
        """
        if not self.over:
            return {"reason": ""}
        scores = {} if self.outcome is None else {"outcome": self.outcome}
        return {"reason": self.reason, **scores}

    def text(self) -> str:
        """Return the position as text."""
        return self.environment.text()

    def _read(self, seat: int, action: Any) -> tuple[Any, bool]:
        space, legal = self.actions[seat], self._legal.get(seat)
        try:
            read = conversion.from_value(space, action)
        except (TypeError, ValueError, KeyError):
            return action, False
        if legal is None:
            return read, space.contains(read)
        return read, read in (conversion.numbers(legal, space) or ())

    def _take(self, turn: Turn) -> None:
        self.rewards = [0.0] * self.spec.seats
        self._legal = {}
        for view in turn.seats:
            self.rewards[view.seat] = float(view.reward)
            self._legal[view.seat] = given.legal(view.legal)
            self._seen[view.seat] = conversion.to_value(
                self.observations[view.seat], view.observation
            )
        self.to_act = list(turn.to_act)
        self.terminated, self.truncated = turn.terminated, turn.truncated
        self._cut = {view.seat: view.truncated for view in turn.seats if view.truncated is not None}
        self.outcome = turn.outcome
        if self.over:
            self.reason = "terminated" if turn.terminated else "truncated"

    def truncations(self) -> list[bool]:
        """Return whether each seat was truncated."""
        return [self.over and self._cut.get(n, self.truncated) for n in range(self.spec.seats)]

    def terminations(self) -> list[bool]:
        """Return whether each seat was terminated."""
        return [self.over and not cut for cut in self.truncations()]

    def _forfeit(self, seat: int) -> None:
        blamed, other = self.spec.forfeit or (0.0, 0.0)
        others = self.spec.seats - 1
        self.rewards = [blamed if each == seat else other for each in range(self.spec.seats)]
        if others:
            self.outcome = [0.0 if each == seat else 1 / others for each in range(others + 1)]
        self.terminated, self.reason = True, "illegal-action"
        self._cut = {}
        self.to_act, self._legal = [], {}


class Seeds:
    """The seeds of episodes, which are those of a run with the same master seed."""

    def __init__(self) -> None:
        self._master: int | None = None
        self._index = 0

    def next(self, seed: int | None) -> int:
        """Return the seed of the next episode; ``seed`` starts another series."""
        if seed is not None or self._master is None:
            from gymnasium.utils import seeding

            if seed is None:  # as everywhere with Gymnasium: unseeded is different each time
                rng, _ = seeding.np_random(None)
                seed = int(rng.integers(1 << 62))
            self._master, self._index = seed, 0
        number, self._index = self._index, self._index + 1
        return derive(self._master, "episode", number)
