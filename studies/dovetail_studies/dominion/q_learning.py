"""The Q-learner of compiled games of Dominion, and its table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.peer.kernels import njit
from dovetail_agents.learning.splitmix import GOLDEN, draw, fraction, scatter
from dovetail_games.dominion.cards import KINDS, PROVINCE
from dovetail_studies.dominion.cards import (
    BITS,
    NOTHING,
    Array,
    GameArrays,
    PlayOptions,
    inlined,
    kernel,
)

TURN, TO_END = KINDS, KINDS + 1
"""Subjects of features other than kinds of cards. A lower number is a kind, of which the feature
counts the cards in the player's deck."""
MARGIN = 8192
"""Number of rows of a sparse table that a single game cannot fill."""


class Learning(NamedTuple):
    """The settings of a learner.

    See ``DominionQParameters`` of ``agent_servers.games.dominion.q_learning``.
    """

    rate: float
    power: float
    least: float
    discount: float
    at_once: float
    """Discount between purchases of the same turn."""
    single: bool
    """True if a learner buys at most one card a turn."""
    plays: int
    """Number of the rule for playing action cards; see ``players``."""
    epsilon: float
    min_visits: int
    card: Array
    """Reward of a purchase by kind."""
    win: float
    loss: float
    points: float
    margin: float
    """Rewards at the end; see ``Reward`` there."""


class Tables(NamedTuple):
    """A ``Table`` of ``agent_servers.general.q_learning``.

    Without ``slots`` it is dense, and a state's number is its row.
    """

    values: Array
    """Values: float32, shape (rows x actions,), with the purchase as the fastest index. The last
    index stands for buying nothing. A sparse table has an additional row for states that are looked
    up but not stored."""
    visits: Array
    """Visit counts: uint32, of the same shape."""
    slots: Array
    """Hash table of a sparse table with linear probing: int64, a power of two of slots. A slot
    holds the row of a state, or -1."""
    keys: Array
    """State of each row: int64."""
    used: Array
    """Number of rows in use: int64, shape (1,)."""
    seed: np.uint64
    """Seed of ``q_learning.mix``, which scatters states: uint64."""
    spread: float
    """Upper end of the range of initial values, which starts at 0."""


# -- the table -------------------------------------------------------------------------------------


@inlined
def _state(features: Array, game: GameArrays, seat: int, players: int) -> int:
    """Return the number of a state. ``features`` has minimum, bound and radix of each count."""
    number = 0
    for kind in range(KINDS):
        least, bound, radix = features[0, kind], features[1, kind], features[2, kind]
        number += (min(max(game.owned[seat, kind], least), bound) - least) * radix
    number += min(game.turns[seat], features[1, TURN]) * features[2, TURN]
    if features[2, TO_END]:
        left = -(-game.supply[PROVINCE] // players)
        number += min(left, features[1, TO_END]) * features[2, TO_END]
    return int(number)


@kernel
def _row(table: Tables, number: int, actions: int, make: bool) -> int:
    """Return the row of a state. A sparse table adds the state, or uses its last row if ``make`` is
    false."""
    if table.slots.shape[0] == 0:
        return number
    mask = table.slots.shape[0] - 1
    at = np.int64(scatter(np.uint64(number)) & np.uint64(mask))
    while table.slots[at] >= 0:
        row = table.slots[at]
        if table.keys[row] == number:
            return int(row)
        at = (at + 1) & mask
    row = table.keys.shape[0]
    if make:
        row = table.used[0]
        table.used[0] += 1
        table.keys[row] = number
        table.slots[at] = row
    for column in range(actions):
        z = np.uint64(table.seed) + np.uint64(number * actions + column + 1) * GOLDEN
        drawn = np.float32(scatter(z) >> np.uint64(40)) * np.float32(2.0**-24)
        table.values[row * actions + column] = drawn * np.float32(table.spread)
    return int(row)


@njit(cache=True, nogil=True)
def place(slots: Array, keys: Array) -> None:
    """Fill the slots of a sparse table: row n has ``keys[n]``."""
    mask = slots.shape[0] - 1
    for row in range(keys.shape[0]):
        at = np.int64(scatter(np.uint64(keys[row])) & np.uint64(mask))
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = row


# -- learning --------------------------------------------------------------------------------------


@kernel
def update(values: Array, visits: Array, how: Learning, entry: int, target: float) -> None:
    """Move an entry's value towards a target."""
    rate = how.rate
    if how.power > 0:
        rate = max(how.least, rate / float(visits[entry]) ** how.power)
    error = target - float(values[entry])
    values[entry] += np.float32(rate * error)


@inlined
def _best(values: Array, choices: Array, count: int, state: Array) -> int:
    most = values[choices[0]]
    for number in range(1, count):
        most = max(most, values[choices[number]])
    equal = 0
    for number in range(count):
        equal += values[choices[number]] == most
    skip = draw(state, equal) if equal > 1 else 0
    for number in range(count):
        if values[choices[number]] == most:
            if skip == 0:
                return int(choices[number])
            skip -= 1
    return int(choices[0])


@inlined
def _choose(
    values: Array, visits: Array, how: Learning, choices: Array, count: int, state: Array
) -> int:
    """Return the entry to take while learning. Rarely visited entries come first; otherwise the
    choice is epsilon-greedy."""
    rare = 0
    if how.min_visits > 0:
        for number in range(count):
            rare += visits[choices[number]] < how.min_visits
    if rare:
        skip = draw(state, rare)
        for number in range(count):
            if visits[choices[number]] < how.min_visits:
                if skip == 0:
                    return int(choices[number])
                skip -= 1
    if fraction(state) < how.epsilon:
        return int(choices[draw(state, count)])
    return _best(values, choices, count, state)


@inlined
def ask(
    rules: PlayOptions,
    table: Tables,
    features: Array,
    kinds: Array,
    how: Learning,
    learn: bool,
    game: GameArrays,
    seat: int,
    afforded: int,
) -> int:
    """Return a learner's purchase, and update its previous one."""
    values, visits, choices, turns = table.values, table.visits, game.choices, game.turns
    actions = kinds.shape[0] + 1
    number = _state(features, game, seat, rules.players)
    first = _row(table, number, actions, learn) * actions
    size = 0
    for number in range(actions - 1):
        choices[size] = first + number
        size += (afforded & BITS[kinds[number]]) != 0
    choices[size] = first + actions - 1
    size += 1
    if learn:
        if game.last[seat] >= 0:
            later = values[choices[0]]
            for number in range(1, size):
                later = max(later, values[choices[number]])
            discount = how.at_once if game.last_turn[seat] == turns[seat] else how.discount
            target = game.pending[seat] + discount * float(later)
            update(values, visits, how, game.last[seat], target)
        entry = _choose(values, visits, how, choices, size, game.state)
        visits[entry] += 1
    else:
        entry = _best(values, choices, size, game.state)
    number = entry - first
    kind = NOTHING if number == actions - 1 else kinds[number]
    game.last[seat], game.last_turn[seat] = entry, turns[seat]
    game.pending[seat] = 0.0 if kind == NOTHING else how.card[kind]
    return int(kind)
