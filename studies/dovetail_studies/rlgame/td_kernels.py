"""The learner ``td`` in games of RLGame against another ``td`` or a random player, compiled.

Each of the two players has its own network and traces, in single precision as ``td`` has them. The
first axis is the player: ``first`` has the shape (2, inputs + 1, units), its last row the biases;
``second`` has the shape (2, units + 1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.learning import splitmix
from dovetail_games.rlgame.kernels import BASE, encode
from dovetail_studies.rlgame.kernels import NO_WINNER, best_of, mixed, tried

Array = NDArray[Any]
LEARNER, RANDOM = 0, 2
"""Kinds of player."""
SIGMOID, TANH, RELU = 0, 1, 2
"""Activation functions of the hidden units."""


class RLGameShape(NamedTuple):
    """Settings that stay constant during a game."""

    steps: Array
    exits: Array
    slots: Array
    """Index of each player and square among the flags that the player sees."""
    ordered: bool
    bases: bool


class TDRule(NamedTuple):
    """Settings of the learner; see ``TDParameters``."""

    rate_first: float
    rate_second: float
    decay_episodes: float
    gamma: float
    decay: float
    """Decay of the traces per move."""
    epsilon: float
    replacing: bool
    activation: int
    bounded: bool
    """True if the output is a hyperbolic tangent, false if it is linear."""
    averaging: int
    win: float
    pawn: float
    """Reward of a quiet move, times the lead in pawns divided by the initial pawns."""
    told: bool
    """True if the loser learns of its loss."""
    ahead: bool
    """True if a move is chosen by its reward plus the value of its position."""


class TDNets(NamedTuple):
    """Networks, averages and traces of two players."""

    first: Array
    second: Array
    first_mean: Array
    second_mean: Array
    """Weights averaged over games."""
    first_trace: Array
    second_trace: Array
    episodes: Array
    """Number of games learned from, int64, shape (1,)."""


@njit(cache=True, nogil=True)
def _value(row: Array, first: Array, second: Array, hidden: Array, rule: TDRule) -> Any:
    """Return the value of a position, and write the outputs of the hidden units. The arithmetic is
    in single precision."""
    inputs, units = first.shape[0] - 1, first.shape[1]
    hidden[:] = first[inputs]
    for place in range(inputs):
        if row[place]:
            for unit in range(units):
                hidden[unit] += first[place, unit]
    total = second[units]
    for unit in range(units):
        if rule.activation == RELU:
            hidden[unit] = max(hidden[unit], np.float32(0))
        elif rule.activation == TANH:
            hidden[unit] = math.tanh(hidden[unit])
        else:
            hidden[unit] = np.float32(1) / (np.float32(1) + math.exp(-hidden[unit]))
        total += hidden[unit] * second[unit]
    return math.tanh(total) if rule.bounded else total


@njit(cache=True, nogil=True)
def _learn(
    player: int, row: Array, kept: float, target: float, nets: TDNets, rule: TDRule, hidden: Array
) -> bool:
    """Move a position's value towards a target, and those of earlier positions along the traces.

    Args:
        player: the player that learns.
        row: the position.
        kept: the factor of the traces before the position joins them.
        target: the target of its value.
        nets: the players' networks; modified.
        rule: the learning rule.
        hidden: scratch, shape (units,).

    Returns:
        False if the learner has diverged.
    """
    first, second = nets.first[player], nets.second[player]
    trace, trace_two = nets.first_trace[player], nets.second_trace[player]
    inputs, units = first.shape[0] - 1, first.shape[1]
    value = _value(row, first, second, hidden, rule)
    error = target - value
    if not math.isfinite(error):
        return False
    slope = np.float32(1 - value * value if rule.bounded else 1.0)
    gradient = np.empty_like(hidden)
    for unit in range(units):
        if rule.activation == RELU:
            inner = np.float32(1 if hidden[unit] > 0 else 0)
        elif rule.activation == TANH:
            inner = np.float32(1) - hidden[unit] * hidden[unit]
        else:
            inner = (np.float32(1) - hidden[unit]) * hidden[unit]
        gradient[unit] = slope * inner * second[unit]
    left = np.float32(kept)
    falls = 1 + nets.episodes[0] / rule.decay_episodes if rule.decay_episodes else 1.0
    step = np.float32(rule.rate_first * error / falls)
    for place in range(inputs + 1):
        held, weights = trace[place], first[place]
        for unit in range(units):
            held[unit] *= left
        if place == inputs or row[place]:
            for unit in range(units):
                if not rule.replacing:
                    held[unit] += gradient[unit]
                elif gradient[unit] != 0:
                    held[unit] = gradient[unit]
        for unit in range(units):
            weights[unit] += step * held[unit]
    step = np.float32(rule.rate_second * error / falls)
    for unit in range(units + 1):
        added = slope * hidden[unit] if unit < units else slope
        trace_two[unit] *= left
        if added != 0:
            trace_two[unit] = added + (np.float32(0) if rule.replacing else trace_two[unit])
        second[unit] += step * trace_two[unit]
    return True


@njit(cache=True, nogil=True)
def _average(nets: TDNets, rule: TDRule) -> None:
    nets.episodes[0] += 1
    share = np.float32(1.0 / min(rule.averaging, nets.episodes[0]))
    for player in range(2):
        first, mean = nets.first[player], nets.first_mean[player]
        for row in range(first.shape[0]):
            for unit in range(first.shape[1]):
                mean[row, unit] += (first[row, unit] - mean[row, unit]) * share
        nets.second_mean[player] += (nets.second[player] - nets.second_mean[player]) * share


@njit(cache=True, nogil=True)
def rlgame(
    games: int,
    kinds: Array,
    learns: bool,
    pawns_each: int,
    cap: int,
    board: RLGameShape,
    nets: TDNets,
    rule: TDRule,
    state: Array,
    stats: Array,
    last: Array,
) -> bool:
    """Play games.

    Args:
        games: the number of games.
        kinds: the kinds of the two players.
        learns: true if learners learn and explore.
        pawns_each: pawns of a player at the start.
        cap: maximum moves of both players, after which a game is truncated.
        board: geometry.
        nets: the players' networks; modified if they learn.
        rule: the learning rule.
        state: the state of the random numbers, see ``splitmix``.
        stats: written, int64, shape (games, 3): the winner, the moves of both, and a digest that is
            equal for equal games.
        last: written while there is room, int64, shape (room, 2): the last game's actions, and
            1 for those that were exploration.

    Returns:
        False if a learner has diverged.
    """
    first, second = nets.first, nets.second
    inputs, units = first.shape[1] - 1, first.shape[2]
    squares = board.slots.shape[1]
    room = 4 * pawns_each + board.exits.shape[1]
    there = np.empty((room, 2, pawns_each), np.int64)
    cells_there = np.empty((room, squares), np.int8)
    winners = np.empty(room, np.int64)
    rows = np.empty((room, inputs), np.uint8)
    values, worth = np.empty(room), np.empty(room)
    rewards = np.empty(room)
    hidden = np.empty(units, np.float32)
    before = np.empty((2, inputs), np.uint8)
    kept, due = np.empty(2), np.empty(2)
    decided = np.empty(2, np.bool_)
    for game in range(games):
        pawns = np.full((2, pawns_each), BASE, np.int64)
        cells = np.zeros(squares, np.int8)
        nets.first_trace[:] = 0
        nets.second_trace[:] = 0
        kept[:], due[:], decided[:] = rule.decay, 0.0, False
        mover, plies, winner = 0, 0, NO_WINNER
        digest = np.uint64(0)
        while winner == NO_WINNER and plies < cap:
            moves = tried(
                mover,
                pawns,
                cells,
                board,
                rule.win,
                rule.pawn,
                there,
                cells_there,
                winners,
                rewards,
            )
            count = moves.shape[0]
            explored = False
            if kinds[mover] == RANDOM:
                chosen = splitmix.draw(state, count)
            else:
                for place in range(count):
                    row = rows[place]
                    encode(there[place], cells_there[place], board.slots[mover], mover, row)
                    values[place] = _value(row, first[mover], second[mover], hidden, rule)
                    worth[place] = values[place] + (rewards[place] if rule.ahead else 0.0)
                explored = learns and splitmix.fraction(state) < rule.epsilon
                greedy = best_of(worth, count, True, state)
                chosen = splitmix.draw(state, count) if explored else greedy
                if learns:
                    if decided[mover]:
                        target = due[mover] + rule.gamma * values[greedy]
                        if not _learn(
                            mover, before[mover], kept[mover], target, nets, rule, hidden
                        ):
                            return False
                    before[mover] = rows[chosen]
                    kept[mover] = 0.0 if explored else rule.decay
                    due[mover], decided[mover] = rewards[chosen], True
            pawns[:] = there[chosen]
            cells[:] = cells_there[chosen]
            winner = winners[chosen]
            if plies < last.shape[0]:
                last[plies, 0], last[plies, 1] = moves[chosen], explored
            digest = mixed(digest, moves[chosen])
            plies += 1
            mover = 1 - mover
        stats[game, 0], stats[game, 1], stats[game, 2] = winner, plies, np.int64(digest)
        if not learns:
            continue
        for player in range(2):
            if not decided[player] or (winner == 1 - player and not rule.told):
                continue
            target = due[player]
            if winner == NO_WINNER:
                encode(pawns, cells, board.slots[player], player, rows[0])
                value = _value(rows[0], first[player], second[player], hidden, rule)
                target += rule.gamma * value
            elif player == mover:  # the other player now learns of the end
                target += rule.win if winner == player else -rule.win
            if not _learn(player, before[player], kept[player], target, nets, rule, hidden):
                return False
        _average(nets, rule)
    return True
