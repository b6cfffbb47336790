"""Conversion of the environment, the scripted players and ``dominion-q`` to compiled games."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.dominion.q_learning import (
    LEAST,
    Coder,
    DominionQ,
    DominionQParameters,
    Reward,
)
from dovetail_agents.general.q_learning.table import STATE, Table
from dovetail_agents.learning.finaliser import mix
from dovetail_games.dominion import Configuration, Dominion
from dovetail_games.dominion.cards import CARDS, KINDS, NUMBER
from dovetail_studies.dominion.cards import PlayOptions
from dovetail_studies.dominion.games import FAIR, HIGHEST, SHARED, games
from dovetail_studies.dominion.players import (
    ACTIONS_FIRST,
    BIG_MONEY,
    BLACKSMITH,
    CHAPELLER,
    DEAREST,
    GREEDY,
    LEARNER,
    MONEY,
    MONEYS,
    ONE,
    RANDOM,
    SMITHS,
)
from dovetail_studies.dominion.q_learning import MARGIN, TO_END, TURN, Learning, Tables, place

Array = NDArray[Any]

PLAYERS = {
    "random": RANDOM,
    "money": MONEY,
    "greedy": GREEDY,
    "blacksmith": BLACKSMITH,
    "chapel": CHAPELLER,
    "learner": LEARNER,
    **{f"money-{golds}": MONEYS + golds for golds in range(1, SMITHS - MONEYS)},
    **{f"blacksmith-{left}": SMITHS + left for left in range(1, 13)},
    **{f"big-money-{smithies}": BIG_MONEY + smithies for smithies in range(11)},
}
_PLAYS = {"actions-first": ACTIONS_FIRST, "dearest": DEAREST, "one": ONE}
_TIES = {"fair": FAIR, "shared": SHARED, "highest-seat": HIGHEST}
_SOURCES = {"turn": TURN, "to end": TO_END}
_LEAST = 2 * MARGIN


def rules(configuration: Configuration) -> PlayOptions:
    """Return the rules of a game.

    Raises:
        DovetailError: the options are invalid.
    """
    options = Dominion(configuration).configuration
    endless = [n for n in options.kingdom if CARDS[NUMBER[n]].actions or n == "Conspirator"]
    if endless and options.played == "discard":
        raise DovetailError(
            "environment dominion, option 'played': with \"discard\" a turn may draw and play "
            f"{endless[0]} "
            'forever; use "aside"'
        )
    kingdom = np.zeros(KINDS, np.bool_)
    kingdom[[NUMBER[name] for name in options.kingdom]] = True
    return PlayOptions(
        options.players,
        kingdom,
        options.victory_pile,
        options.kingdom_pile,
        options.curses,
        options.first == "random",
        options.end == "round",
        options.played == "aside",
        options.chapel,
        options.conspirator,
        options.max_rounds,
        _TIES[configuration.tie],
    )


def learning(given: DominionQParameters, reward: Reward | None) -> Learning:
    """Return the settings of a learner.

    Raises:
        DovetailError: its reward is the environment's, unsupported in compiled games.
    """
    if reward is None:
        raise DovetailError('the compiled study has no reward "environment"; name another')
    return Learning(
        given.learning_rate,
        given.rate_power,
        given.least_rate,
        given.discount,
        given.discount if given.extra_buys == "discounted" else 1.0,
        given.extra_buys == "none",
        _PLAYS[given.plays],
        given.epsilon,
        given.min_visits,
        np.array(reward.card, np.float64),
        reward.win,
        reward.loss,
        reward.points,
        reward.margin,
    )


def features(coder: Coder) -> Array:
    """Return minimum, bound and radix of each count of a state: int64, shape (3, counts).

    Unused counts have radix 0.
    """
    found = np.zeros((3, TO_END + 1), np.int64)
    radix = 1
    for name, bound in coder.bounds.items():
        count = _SOURCES.get(name, NUMBER.get(name, 0))
        least = LEAST.get(name, 0)
        found[:, count] = least, bound, radix
        radix *= bound - least + 1
    return found


class Compiled:
    """An agent's table in the form that compiled games use.

    A dense table is the agent's own, modified in place; ``give`` returns a sparse one.
    """

    def __init__(self, agent: DominionQ) -> None:
        self.agent = agent
        self.features = features(agent.coder)
        self.kinds = np.array(agent.coder.kinds, np.int64)
        self.how = learning(agent.parameters, agent.reward)
        table = agent.table
        if table.states is None:
            count = len(table.rows)
            keys = np.fromiter(table.rows, np.int64, count)
            values, visits = table.values[:count], table.visits[:count]
            self.tables = self._sparse(keys, values, visits, max(_LEAST, 2 * count))
        else:
            none = np.empty(0, np.int64)
            self.tables = self._tables(table, table.values, table.visits, none, none, 0)

    def _tables(
        self, table: Table, values: Array, visits: Array, slots: Array, keys: Array, used: int
    ) -> Tables:
        seed = np.uint64(mix(table.seed))
        flat = values.reshape(-1), visits.reshape(-1)
        return Tables(*flat, slots, keys, np.array([used], np.int64), seed, table.spread)

    def _sparse(self, keys: Array, values: Array, visits: Array, size: int) -> Tables:
        """Return a sparse table with room for ``size`` states.

        Raises:
            DovetailError: the table exceeds the memory limit.
        """
        table = self.agent.table
        # As the agent counts that will load it.
        size = min(size, table.memory // (table.width + STATE))
        if size < len(keys) + _LEAST // 2:
            raise DovetailError(
                f"agent dominion-q, option 'table_mib': the table reached its limit of "
                f"{table.memory >> 20:,} MiB at {len(keys):,} states; raise the limit, or use a "
                "version with fewer states"
            )
        more_values = np.zeros((size + 1, table.actions), np.float32)
        more_visits = np.zeros((size + 1, table.actions), np.uint32)
        more_keys = np.zeros(size, np.int64)
        more_values[: len(keys)], more_visits[: len(keys)] = values, visits
        more_keys[: len(keys)] = keys
        slots = np.full(1 << (size - 1).bit_length() + 1, -1, np.int64)
        place(slots, keys)
        return self._tables(table, more_values, more_visits, slots, more_keys, len(keys))

    def grow(self) -> None:
        """Double the room for states.

        Raises:
            DovetailError: the table exceeds the memory limit.
        """
        now, width = self.tables, self.agent.table.actions
        used = int(now.used[0])
        values = now.values.reshape(-1, width)[:used]
        visits = now.visits.reshape(-1, width)[:used]
        self.tables = self._sparse(now.keys[:used], values, visits, 2 * len(now.keys))

    def rehash(self) -> None:
        """Rebuild the slots of the rows in use."""
        self.tables.slots[:] = -1
        place(self.tables.slots, self.tables.keys[: int(self.tables.used[0])])

    def give(self) -> None:
        """Return the learned values to the agent."""
        table = self.agent.table
        if table.states is not None:
            return
        used = int(self.tables.used[0])
        table.rows = {int(key): row for row, key in enumerate(self.tables.keys[:used])}
        table.values = self.tables.values.reshape(-1, table.actions)[:used].copy()
        table.visits = self.tables.visits.reshape(-1, table.actions)[:used].copy()

    def counts(self, least: int) -> int:
        """Count the entries visited at least ``least`` times."""
        width = self.agent.coder.actions
        rows = len(self.tables.values) // width
        if len(self.tables.slots):
            rows = int(self.tables.used[0])
        return int(np.count_nonzero(self.tables.visits[: rows * width] >= least))


def play(
    compiled: Compiled | None,
    given: PlayOptions,
    players: Array,
    seed: int,
    first: int,
    number: int,
    learn: bool,
) -> Array:
    """Play games and add up their results.

    Args:
        compiled: the learners' table; None without learners.
        given: the rules.
        players: the numbers of the players by seat.
        seed: the seed of the games.
        first: the number of the first game.
        number: the number of games.
        learn: whether learners learn.

    Returns:
        float64, shape (seats, 4 + kinds of cards); see ``games.games``.

    Raises:
        DovetailError: the table exceeds the memory limit.
    """
    who = compiled or Compiled(DominionQ(DominionQParameters(version="5")))
    sums = np.zeros((len(players), 4 + KINDS))
    done = 0
    while True:
        done += games(
            given,
            players,
            who.tables,
            who.features,
            who.kinds,
            who.how,
            learn,
            seed,
            first + done,
            number - done,
            sums,
        )
        if done >= number:
            return sums
        who.grow()
