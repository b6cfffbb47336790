"""The RLGame study's learner and its games, compiled.

Each of the two players has its own network, traces and last value. The first axis is the player:
``first`` has the shape (2, inputs + 1, units), ``second`` (2, units + 1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.games.rlgame.kernels import NETWORK, Leaf, RLGameRules, active, search
from dovetail_agents.learning import sparse, splitmix
from dovetail_games.connect_four.kernels import wins
from dovetail_games.rlgame.kernels import BASE, alive, legal, play

Array = NDArray[Any]
LEARNER, MINIMAX = 0, 1
"""Kinds of player; both learn."""
NO_WINNER = -1
# Columns of a game's statistics.
WINNER, PLIES, MOVES, ALIVE, INSIDE, CUT = 0, 1, 2, 3, 5, 7
"""Columns of a game's figures. ``MOVES`` are the winner's own; ``ALIVE`` and ``INSIDE`` are
White's, with Black's in the next column."""
COLUMNS = 8


class StudyRule(NamedTuple):
    """Settings of the learner; see ``profiles``."""

    gamma: float
    decay: float
    """Decay of the traces per move."""
    replacing: bool
    rate_first: float
    rate_second: float
    epsilon: float
    win: float
    step: float
    """Reward of a quiet move, times the lead in pawns divided by the initial pawns."""
    terminal: float
    """Value of a position once the game is over."""
    told: bool
    """True if the other player also learns of the end."""
    kept: bool
    """True if a random move's reward enters the value that the next update corrects."""
    even: bool
    """True to break ties among equal moves at random, false to take the first."""


class Nets(NamedTuple):
    """Networks and traces of two players."""

    first: Array
    second: Array
    first_trace: Array
    second_trace: Array
    last: Array
    """Value of each player's last position, shape (2,)."""


@njit(cache=True, nogil=True)
def _toward(player: int, error: float, nets: Nets, rule: StudyRule) -> None:
    first, trace = nets.first[player], nets.first_trace[player]
    for row in range(first.shape[0]):
        for unit in range(first.shape[1]):
            first[row, unit] += rule.rate_first * error * trace[row, unit]
    second, trace_two = nets.second[player], nets.second_trace[player]
    for unit in range(second.shape[0]):
        second[unit] += rule.rate_second * error * trace_two[unit]


@njit(cache=True, nogil=True)
def _trace(
    player: int, value: float, found: Array, count: int, hidden: Array, nets: Nets, rule: StudyRule
) -> None:
    """Update a player's traces for a position with known value and hidden units."""
    first, second = nets.first_trace[player], nets.second_trace[player]
    weights = nets.second[player]
    inputs, units = first.shape[0] - 1, first.shape[1]
    slope = value * (1 - value)
    for row in range(inputs + 1):
        for unit in range(units):
            first[row, unit] *= rule.decay
    for unit in range(units):
        gradient = slope * weights[unit] * hidden[unit] * (1 - hidden[unit])
        for place in range(count):
            row = found[place]
            first[row, unit] = gradient + (0.0 if rule.replacing else first[row, unit])
        bias = sparse.BIAS * gradient
        first[inputs, unit] = bias + (0.0 if rule.replacing else first[inputs, unit])
        old = 0.0 if rule.replacing else rule.decay * second[unit]
        second[unit] = old + slope * hidden[unit]
    old = 0.0 if rule.replacing else rule.decay * second[units]
    second[units] = old + slope * sparse.BIAS


@njit(cache=True, nogil=True)
def learn(
    player: int,
    explored: bool,
    found: Array,
    count: int,
    reward: float,
    final: bool,
    nets: Nets,
    rule: StudyRule,
    hidden: Array,
) -> None:
    """Learn from a player's own move.

    Args:
        player: the player that moved.
        explored: true if the move was random; the weights then stay unchanged.
        found: the indices of the inputs that are 1 after the move.
        count: the number of these inputs.
        reward: the reward of the move.
        final: true if the move ended the game.
        nets: the players' networks; modified.
        rule: the learning rule.
        hidden: scratch, shape (units,).
    """
    first, second = nets.first[player], nets.second[player]
    value = sparse.value(first, second, found, count, hidden)
    if explored:
        nets.first_trace[player] = 0.0
        nets.second_trace[player] = 0.0
        nets.last[player] = value + (reward if rule.kept else 0.0)
        return
    after = rule.terminal if final else value
    error = reward + rule.gamma * after - nets.last[player]
    _toward(player, error, nets, rule)
    value = sparse.value(first, second, found, count, hidden)
    nets.last[player] = rule.terminal if final else value
    _trace(player, value, found, count, hidden, nets, rule)


@njit(cache=True, nogil=True)
def start(nets: Nets) -> None:
    """Start a game: clear traces and last values."""
    nets.first_trace[:] = 0.0
    nets.second_trace[:] = 0.0
    nets.last[:] = 0.0


@njit(cache=True, nogil=True)
def tell(player: int, reward: float, nets: Nets, rule: StudyRule) -> None:
    """Let a player learn that the other's move ended the game."""
    _toward(player, reward + rule.gamma * rule.terminal - nets.last[player], nets, rule)


@njit(cache=True, nogil=True)
def tried(
    mover: int,
    pawns: Array,
    cells: Array,
    board: Any,
    win: float,
    step: float,
    there: Array,
    cells_there: Array,
    winners: Array,
    rewards: Array,
) -> Array:
    """Try each legal move; return the moves and write their outcomes.

    Args:
        mover: the player to move.
        pawns: the pawns of both players.
        cells: the cells of the board.
        board: geometry and rules; its slots are not used.
        win: the reward of a winning move; negated, that of a losing move.
        step: the reward of any other move, times the lead in pawns divided by the initial pawns.
        there: written: the pawns after each move.
        cells_there: written: the cells after each move.
        winners: written: the winner after each move.
        rewards: written: the reward of each move.
    """
    moves = legal(mover, pawns, cells, board.steps, board.exits)
    for place in range(moves.shape[0]):
        there[place] = pawns
        cells_there[place] = cells
        winners[place] = play(
            moves[place],
            mover,
            there[place],
            cells_there[place],
            board.steps,
            board.exits,
            board.ordered,
            board.bases,
        )
        if winners[place] == NO_WINNER:
            lead = alive(there[place], mover) - alive(there[place], 1 - mover)
            rewards[place] = step * lead / pawns.shape[1]
        else:
            rewards[place] = win if winners[place] == mover else -win
    return moves


@njit(cache=True, nogil=True)
def best_of(values: Array, count: int, even: bool, state: Array) -> int:
    """Return the index of the highest of ``count`` values.

    Ties are broken at random if ``even``, otherwise in favour of the first.
    """
    chosen, equal = 0, 1
    for place in range(1, count):
        if values[place] > values[chosen]:
            chosen, equal = place, 1
        elif even and values[place] == values[chosen]:
            equal += 1
            if splitmix.draw(state, equal) == 0:
                chosen = place
    return chosen


@njit(cache=True, nogil=True)
def mixed(digest: np.uint64, action: int) -> np.uint64:
    """Return the digest of a game extended by one move."""
    return np.uint64(splitmix.scatter(digest ^ np.uint64(action + 1)))


@njit(cache=True, nogil=True)
def rlgame(
    games: int,
    kinds: Array,
    depth: int,
    blind: bool,
    pawns_each: int,
    cap: int,
    board: RLGameRules,
    nets: Nets,
    rule: StudyRule,
    state: Array,
    stats: Array,
    digests: Array,
    moves_of_last: Array,
) -> None:
    """Play games of RLGame in which both players learn.

    Args:
        games: the number of games.
        kinds: the kinds of the two players.
        depth: the depth of a minimax player.
        blind: true for a minimax player with the error of version 1.3.
        pawns_each: pawns of a player at the start.
        cap: maximum moves of both players, after which a game is truncated.
        board: geometry and rules.
        nets: the players' networks; modified.
        rule: the learning rule.
        state: the state of the random numbers, see ``splitmix``.
        stats: written, int64, shape (games, COLUMNS).
        digests: written, uint64, shape (games,): equal for equal games.
        moves_of_last: written while there is room: the actions of the last game.
    """
    inputs, units = nets.first.shape[1] - 1, nets.first.shape[2]
    squares = board.slots.shape[0]
    room = 4 * pawns_each + board.exits.shape[1]
    there = np.empty((room, 2, pawns_each), np.int64)
    cells_there = np.empty((room, squares), np.int8)
    winners = np.empty(room, np.int64)
    rewards = np.empty(room)
    values = np.empty(room)
    found = np.empty(inputs, np.int64)
    hidden = np.empty(units)
    nodes = np.zeros(1, np.int64)
    for game in range(games):
        pawns = np.full((2, pawns_each), BASE, np.int64)
        cells = np.zeros(squares, np.int8)
        start(nets)
        mover, plies, winner = 0, 0, NO_WINNER
        digest = np.uint64(0)
        while winner == NO_WINNER and plies < cap:
            moves = tried(
                mover,
                pawns,
                cells,
                board,
                rule.win,
                rule.step,
                there,
                cells_there,
                winners,
                rewards,
            )
            count = moves.shape[0]
            explored = splitmix.fraction(state) < rule.epsilon
            if explored:
                chosen = splitmix.draw(state, count)
            elif kinds[mover] == MINIMAX:
                leaf = Leaf(NETWORK, nets.first[mover], nets.second[mover], blind)
                _, worth = search(mover, pawns, cells, depth, True, rule.win, board, leaf, nodes)
                for place in range(count):
                    # From 1.4 on, an immediate win is preferred to a later one.
                    values[place] = worth[place]
                    if winners[place] == mover and not blind:
                        values[place] += 1.0
                chosen = best_of(values, count, rule.even, state)
            else:
                for place in range(count):
                    ones = active(there[place], cells_there[place], board.slots, found)
                    values[place] = rewards[place] + sparse.value(
                        nets.first[mover], nets.second[mover], found, ones, hidden
                    )
                chosen = best_of(values, count, rule.even, state)
            pawns[:] = there[chosen]
            cells[:] = cells_there[chosen]
            winner = winners[chosen]
            if plies < moves_of_last.shape[0]:
                moves_of_last[plies] = moves[chosen]
            digest = mixed(digest, moves[chosen])
            plies += 1
            ones = active(pawns, cells, board.slots, found)
            over = winner != NO_WINNER
            learn(mover, explored, found, ones, rewards[chosen], over, nets, rule, hidden)
            if over and rule.told:
                tell(1 - mover, -rewards[chosen], nets, rule)
            mover = 1 - mover
        stats[game, WINNER] = winner
        stats[game, PLIES] = plies
        stats[game, MOVES] = (plies + 1 - winner) // 2 if winner != NO_WINNER else 0
        stats[game, CUT] = winner == NO_WINNER
        for player in range(2):
            stats[game, ALIVE + player] = alive(pawns, player)
            stats[game, INSIDE + player] = (pawns[player] == BASE).sum()
        digests[game] = digest


# -- Connect Four ----------------------------------------------------------------------------------

ROWS, WIDTH, FOUR = 6, 7, 4
"""Dimensions of the board; discs are two bitboards as in
``dovetail_games.connect_four.kernels``."""


@njit(cache=True, nogil=True)
def flags(discs: Array, winner: int, full: bool, found: Array) -> int:
    """Write the indices of the 90 inputs that are 1.

    There are two inputs per square, then drawn, White won and Black won. The last three are never
    used, in the study as here.
    """
    count = 0
    for column in range(WIDTH):
        for row in range(ROWS):
            for player in range(2):
                if discs[player, row, column]:
                    found[count] = 2 * (row * WIDTH + column) + player
                    count += 1
    if winner != NO_WINNER or full:
        found[count] = 84 if winner == NO_WINNER else 85 + winner
        count += 1
    return count


@njit(cache=True, nogil=True)
def _drop(discs: Array, heights: Array, column: int, player: int) -> bool:
    row = heights[column]
    discs[player, row, column] = 1
    heights[column] += 1
    return wins(discs[player], row, column, FOUR)


@njit(cache=True, nogil=True)
def _lift(discs: Array, heights: Array, column: int, player: int) -> None:
    heights[column] -= 1
    discs[player, heights[column], column] = 0


@njit(cache=True, nogil=True)
def _last_ply(
    discs: Array, heights: Array, placed: int, me: int, win: float, nets: Nets, hidden: Array
) -> float:
    """Return the best outcome for ``me`` in one move: a win, a draw, or the network's value."""
    found = np.empty(ROWS * WIDTH + 1, np.int64)
    best = -math.inf
    for column in range(WIDTH):
        if heights[column] == ROWS:
            continue
        if _drop(discs, heights, column, me):
            worth = win
        elif placed + 1 == ROWS * WIDTH:
            worth = 0.0
        else:
            count = flags(discs, NO_WINNER, False, found)
            worth = sparse.value(nets.first[me], nets.second[me], found, count, hidden)
        _lift(discs, heights, column, me)
        best = max(best, worth)
    return best


@njit(cache=True, nogil=True)
def three_ahead(
    discs: Array, heights: Array, placed: int, me: int, win: float, nets: Nets, hidden: Array
) -> Array:
    """Return the values of the seven columns for ``me``, to move, by plain minimax of depth 3.

    A full column has minus infinity. A position at the horizon has the value of the mover's
    network, a draw 0.
    """
    values = np.full(WIDTH, -math.inf)
    for column in range(WIDTH):
        if heights[column] == ROWS:
            continue
        if _drop(discs, heights, column, me):
            values[column] = win
        elif placed + 1 == ROWS * WIDTH:
            values[column] = 0.0
        else:
            worst = math.inf
            for reply in range(WIDTH):
                if heights[reply] == ROWS:
                    continue
                if _drop(discs, heights, reply, 1 - me):
                    worth = -win
                elif placed + 2 == ROWS * WIDTH:
                    worth = 0.0
                else:
                    worth = _last_ply(discs, heights, placed + 2, me, win, nets, hidden)
                _lift(discs, heights, reply, 1 - me)
                worst = min(worst, worth)
            values[column] = worst
        _lift(discs, heights, column, me)
    return values


@njit(cache=True, nogil=True)
def connect_four(
    games: int,
    kinds: Array,
    nets: Nets,
    rule: StudyRule,
    state: Array,
    stats: Array,
    digests: Array,
) -> None:
    """Play games of Connect Four in which both players learn.

    A minimax player looks three plies ahead.

    Args:
        games: the number of games.
        kinds: the kinds of the two players.
        nets: the players' networks; modified.
        rule: the learning rule.
        state: the state of the random numbers.
        stats: written, int64, shape (games, COLUMNS); pawns are not counted.
        digests: written, uint64, shape (games,).
    """
    squares = ROWS * WIDTH
    found = np.empty(squares + 1, np.int64)
    hidden = np.empty(nets.first.shape[2])
    values = np.empty(WIDTH)
    moves = np.empty(WIDTH, np.int64)
    for game in range(games):
        discs = np.zeros((2, ROWS, WIDTH), np.uint8)
        heights = np.zeros(WIDTH, np.int64)
        start(nets)
        mover, plies, winner = 0, 0, NO_WINNER
        digest = np.uint64(0)
        while winner == NO_WINNER and plies < squares:
            count = 0
            ahead = values
            if kinds[mover] == MINIMAX:
                ahead = three_ahead(discs, heights, plies, mover, rule.win, nets, hidden)
            for column in range(WIDTH):
                if heights[column] == ROWS:
                    continue
                moves[count] = column
                won = _drop(discs, heights, column, mover)
                if kinds[mover] == MINIMAX:
                    # An immediate win is preferred to a later one.
                    values[count] = ahead[column] + (1.0 if won else 0.0)
                else:
                    ones = flags(discs, mover if won else NO_WINNER, plies + 1 == squares, found)
                    values[count] = sparse.value(
                        nets.first[mover], nets.second[mover], found, ones, hidden
                    )
                    values[count] += rule.win if won else 0.0
                _lift(discs, heights, column, mover)
                count += 1
            explored = splitmix.fraction(state) < rule.epsilon
            chosen = (
                splitmix.draw(state, count)
                if explored
                else best_of(values, count, rule.even, state)
            )
            if _drop(discs, heights, moves[chosen], mover):
                winner = mover
            plies += 1
            digest = mixed(digest, moves[chosen])
            over = winner != NO_WINNER or plies == squares
            reward = rule.win if winner != NO_WINNER else 0.0
            ones = flags(discs, winner, plies == squares, found)
            learn(mover, explored, found, ones, reward, over, nets, rule, hidden)
            if over and rule.told:
                tell(1 - mover, -reward, nets, rule)
            mover = 1 - mover
        stats[game] = 0
        stats[game, WINNER] = winner
        stats[game, PLIES] = plies
        stats[game, MOVES] = (plies + 1 - winner) // 2 if winner != NO_WINNER else 0
        digests[game] = digest
