"""Dominion in many slots at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.environments.vector import TERMINATED, TRUNCATED, Column
from dovetail.peer.vector_random import Twisters
from dovetail_games.dominion import kernels
from dovetail_games.dominion.cards import CARDS, KINDS
from dovetail_games.dominion.environment import Dominion
from dovetail_games.dominion.kernels import BOUGHT, CUT, ENDED, GOES_ON, OVER, SEAT
from dovetail_games.dominion.rules import ACTIONS
from dovetail_games.turn_based import TurnBased

_POINTS = np.array([card.points for card in CARDS], np.float64)
_TIES = {"fair": kernels.FAIR, "shared": kernels.SHARED, "highest-seat": kernels.HIGHEST}


class DominionArrays(TurnBased):
    """A game in each slot."""

    def __init__(self, configuration: Any, slots: int, scalar: Dominion) -> None:
        super().__init__(configuration, slots, scalar.init())
        seats = self.spec.seats
        self._chance = Twisters(slots)
        self._rules = scalar.compiled()
        cards = int(self._rules.supply.sum()) + 10 * seats
        self._games = kernels.Games(
            self._chance.states,
            np.zeros((slots, KINDS), np.int64),
            np.zeros((slots, KINDS), np.int64),
            np.zeros((slots, seats, KINDS), np.int64),
            np.zeros((slots, seats, 3, cards), np.int8),
            np.zeros((slots, seats, 3), np.int64),
            np.zeros((slots, seats), np.int64),
            np.zeros((slots, ENDED + 1), np.int64),
        )
        self._width = self.spec.observation_spaces[0].shape[0]  # type: ignore[union-attr]

    def begin(self, slots: Column, seeds: Column) -> None:
        self._chance.begin(slots, seeds)
        kernels.begin_slots(slots, self._rules, self._games)
        self.movers[slots] = self._games.turn[slots, SEAT]

    def play(self, slots: Column, actions: Column) -> None:
        moved = self.movers[slots]
        kernels.act_slots(slots, actions, self._rules, self._games)
        turn = self._games.turn[slots]
        self.movers[slots] = turn[:, SEAT]
        if self.configuration.rewards == "purchase":
            bought = turn[:, BOUGHT]
            self.rewards[slots, moved] = np.where(bought < 0, 0.0, _POINTS[bought])
        if (turn[:, ENDED] == GOES_ON).all():
            return
        self.over[slots[turn[:, ENDED] == CUT]] = TRUNCATED
        over = slots[turn[:, ENDED] == OVER]
        if len(over):
            self._score(over)

    def _score(self, slots: Column) -> None:
        seats, kind = self.spec.seats, self.configuration.rewards
        points: Column = np.empty((len(slots), seats), np.int64)
        kernels.points_slots(slots, self._games, points)
        scores: Column = np.empty((len(slots), seats))
        kernels.outcome_slots(slots, points, _TIES[self.configuration.tie], self._games, scores)
        self.over[slots] = TERMINATED
        self.outcomes[slots] = scores
        if kind == "win":
            self.rewards[slots] = (scores * seats - 1) / (seats - 1)
        elif kind == "difference":
            self.rewards[slots] = points - (points.sum(1, keepdims=True) - points) / (seats - 1)

    def observations(self, slots: Column, seats: Column) -> Column:
        found: Column = np.zeros((len(slots), self._width), np.int16)
        kernels.observe_slots(slots, seats, self._rules, self._games, found)
        return found

    def legal(self, slots: Column) -> Column:
        found: Column = np.zeros((len(slots), -(-ACTIONS // 8)), np.uint8)
        kernels.legal_slots(slots, self._games, found)
        return found

    def afterstates(self, slots: Column, total: int) -> Column:
        legal = np.unpackbits(self.legal(slots), axis=1, bitorder="little")[:, :ACTIONS]
        out: Column = np.empty((total, self._width), np.int16)
        seen = self.observations(slots, self.movers[slots])
        kernels.after_rows(seen, legal.astype(bool), self._rules, out)
        return out
