"""Alpha-beta search for Amazons, compiled; ``kernels`` has the positions and their evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.kernels import njit
from dovetail_agents.games.amazons.kernels import (
    ARROW,
    COLUMN,
    DIRECTIONS,
    FREE,
    FULL,
    KILLERS,
    LINE,
    OTHER,
    OWN,
    ROW,
    WON,
    Array,
    Work,
    displace,
    evaluate,
    generate,
    highest,
    legal,
    lift,
    make,
    place,
    put_back,
    shadow,
    stations,
    survey,
    unmake,
    weigh,
    whole_reach,
)

ROOT: Any = np.int64(0)
REPLY: Any = np.int64(1)
"""Plies, as a type that numba does not specialise on."""
PRUNE: Any = np.bool_(True)
EVERY: Any = np.bool_(False)
"""Values of ``prune``; pruning skips moves that cannot affect the result."""


@njit(cache=True)
def _remember(killers: Array, ply: int, move: int) -> None:
    """Move a refutation of its parent to the front of the killers of its ply."""
    place = KILLERS - 1
    for each in range(KILLERS):
        if killers[ply, each] == move:
            place = each
            break
    for each in range(place, 0, -1):
        killers[ply, each] = killers[ply, each - 1]
    killers[ply, 0] = move


@njit(cache=True)
def _known(killers: Array, ply: int, move: int) -> bool:
    """Return whether a move is among the killers of its ply."""
    found = False
    for each in range(KILLERS):
        found |= killers[ply, each] == move
    return found


@njit(cache=True)
def _last(
    work: Work, mover: int, ply: int, alpha: float, beta: float, prune: bool, best: float
) -> float:
    """Return the value of a position one ply before the end of the search; see ``value``.

    At ply 0 the moves' values are also written, in the order of ``generate``. ``best`` is the
    mover's value of the best killer if killers were tried already, otherwise minus infinity.
    """
    board, where, lines, geometry = work.board, work.where, work.lines, work.geometry
    killers, rule, found = work.killers, work.rule, work.found
    units, changes, values = work.units, work.changes, work.values
    full = rule[FULL] > 0
    sign = 1 if mover == 0 else -1  # of values, for the mover
    low, high = (alpha, beta) if mover == 0 else (-beta, -alpha)
    chosen, count = 0, 0
    refuted = False
    for each in range(KILLERS if prune and best == -np.inf else 0):
        move = killers[ply, each]
        if refuted or move == 0 or not legal(board, lines, geometry, mover, move):
            continue
        number = make(board, where, lines, geometry, mover, move)
        worth = sign * evaluate(work, 1 - mover)
        unmake(board, where, lines, geometry, mover, move, number)
        count += 1
        if worth > best:
            best, chosen = worth, move
            low = max(low, worth)
            refuted = low >= high
    limit = highest(work, mover) if prune else np.inf
    refuted = refuted or best >= limit
    stations(where, geometry, 1 - mover, found)
    for number in range(where.shape[1]):
        source = where[mover, number]
        if source < 0 or refuted:
            continue
        # Survey the other amazons once; target and arrow then reduce their mobility.
        lift(work, mover, number, source)
        others, their_states = survey(where, lines, geometry, units, changes)
        posts = stations(where, geometry, mover, found)
        for first in range(8):
            target = source + geometry[DIRECTIONS, first]
            while board[target] == FREE and not refuted:
                reach, state = place(work, mover, number, target, posts)
                mobility, states = others + reach, their_states + state
                for second in range(8):
                    arrow = target + geometry[DIRECTIONS, second]
                    while board[arrow] == FREE and not refuted:
                        move = source << 20 | target << 10 | arrow
                        loss, change = shadow(lines, geometry, units, changes, arrow)
                        reach = mobility - loss
                        if full:
                            board[arrow] = ARROW
                            reach = whole_reach(board, where, geometry)
                            board[arrow] = FREE
                        worth = sign * weigh(rule, found, 1 - mover, reach, states + change)
                        if ply == 0:
                            values[count] = worth
                        count += 1
                        if worth > best:
                            best, chosen = worth, move
                            low = max(low, worth)
                            refuted = prune and low >= high
                            refuted = refuted or best >= limit
                        arrow += geometry[DIRECTIONS, second]
                displace(work, target)
                target += geometry[DIRECTIONS, first]
        put_back(work, mover, number, source)
    if best == -np.inf:  # there was no move
        best = -rule[WON]
        count = 1
    work.nodes[0] += count
    work.best[ply, 0] = int(chosen != 0)
    work.best[ply, 1] = chosen
    if prune and low >= high:
        _remember(killers, ply, chosen)
    return sign * best


@njit(cache=True)
def _next_move(work: Work, mover: int, ply: int, prune: bool, places: Array) -> int:
    """Return the next move to try at a ply, killers first; 0 if none is left.

    ``places[ply]`` holds the number of moves tried and, once generated, the number of all moves.
    """
    killers = work.killers
    while prune and places[ply, 0] < KILLERS:
        move = killers[ply, places[ply, 0]]
        places[ply, 0] += 1
        if move != 0 and legal(work.board, work.lines, work.geometry, mover, move):
            return int(move)
    if places[ply, 1] < 0:
        places[ply, 1] = generate(work, mover, ply)
        places[ply, 0] = KILLERS
    while places[ply, 0] - KILLERS < places[ply, 1]:
        move = work.moves[ply, places[ply, 0] - KILLERS]
        places[ply, 0] += 1
        if not (prune and _known(killers, ply, move)):
            return int(move)
    return 0


@njit(cache=True)
def value(work: Work, mover: int, depth: int, alpha: float, beta: float, prune: bool) -> float:
    """Return the minimax value for player 0, exact within (alpha, beta); fail-soft alpha-beta.

    The line of best play is written to ``work.best[1]``. The search has an explicit stack, as numba
    cannot cache recursive functions.
    """
    if depth == 1:
        return float(_last(work, mover, REPLY, alpha, beta, prune, -np.inf))
    low, high, best = np.empty(LINE), np.empty(LINE), np.empty(LINE)
    places = np.empty((LINE, 2), np.int64)
    made = np.empty((LINE, 2), np.int64)
    board, where, lines, geometry = work.board, work.where, work.lines, work.geometry
    line = work.best
    ply = 1
    low[1], high[1] = alpha, beta
    entering = True
    result = 0.0
    while True:
        player = mover if ply % 2 == 1 else 1 - mover
        maximise = player == 0
        leave = False
        if entering:
            line[ply, 0] = 0
            if ply == depth:
                result = _last(work, player, ply, low[ply], high[ply], prune, -np.inf)
                leave = True
            elif ply > depth:
                work.nodes[0] += 1
                result = evaluate(work, player)
                leave = True
            else:
                best[ply] = -np.inf if maximise else np.inf
                places[ply, 0], places[ply, 1] = 0, -1
        else:  # a child's value is known
            move = made[ply, 0]
            unmake(board, where, lines, geometry, player, move, made[ply, 1])
            if (result > best[ply]) if maximise else (result < best[ply]):
                best[ply] = result
                length = line[ply + 1, 0]
                line[ply, 0] = length + 1
                line[ply, 1] = move
                for each in range(length):
                    line[ply, 2 + each] = line[ply + 1, 1 + each]
                if prune:
                    if maximise:
                        low[ply] = max(low[ply], result)
                    else:
                        high[ply] = min(high[ply], result)
                    if low[ply] >= high[ply]:
                        _remember(work.killers, ply, move)
                        leave = True
                        result = best[ply]
        if not leave:
            move = _next_move(work, player, ply, prune, places)
            if move != 0:
                made[ply, 0] = move
                made[ply, 1] = make(board, where, lines, geometry, player, move)
                low[ply + 1], high[ply + 1] = low[ply], high[ply]
                ply += 1
                entering = True
                continue
            result = best[ply]
            if np.isinf(result):  # there was no move
                work.nodes[0] += 1
                result = -work.rule[WON] if maximise else work.rule[WON]
        if ply == 1:
            return result
        ply -= 1
        entering = False


# -- two plies -------------------------------------------------------------------------------------
#
# Nearly every move is refuted by a reply that already refuted another one. So each such reply is
# made once for all moves of an amazon, which are then valued from a survey, as in ``_last``.


@njit(cache=True)
def _mark(board: Array, geometry: Array, start: int, end: int, what: int) -> None:
    """Fill the squares between two squares of a queen's line."""
    down = geometry[ROW, end] - geometry[ROW, start]
    right = geometry[COLUMN, end] - geometry[COLUMN, start]
    step = (end - start) // max(abs(down), abs(right))
    for at in range(start + step, end, step):
        board[at] = what


@njit(cache=True)
def _answer(
    work: Work, reply: int, listed: Array, begin: int, end: int, floor: float, bounds: Array
) -> None:
    """Lower the bounds of an amazon's moves to their values after a reply, where that is legal.

    The reply is made with the amazon off the board; then its moves are made in the resulting
    position. If the reply would have to cross a move, it is illegal after that move, whose bound
    stays.

    Args:
        listed: player 0's moves, in the order of ``generate``.
        begin, end: the range of the amazon's moves.
        floor: the value below which bounds need not be improved.
        bounds: upper bounds of the moves' values.
    """
    board, where, lines, geometry = work.board, work.where, work.lines, work.geometry
    units, changes, rule, found = work.units, work.changes, work.rule, work.found
    source = listed[begin] >> 20
    number = 0
    while where[0, number] != source:
        number += 1
    lift(work, OWN, number, source)
    if legal(board, lines, geometry, OTHER, reply):
        which = make(board, where, lines, geometry, OTHER, reply)
        others, their_states = survey(where, lines, geometry, units, changes)
        stations(where, geometry, OTHER, found)
        posts = stations(where, geometry, OWN, found)
        # The lines do not contain these marks, so no value changes.
        _mark(board, geometry, reply >> 20, reply >> 10 & 1023, ARROW)
        _mark(board, geometry, reply >> 10 & 1023, reply & 1023, ARROW)
        placed = mobility = states = 0
        for each in range(begin, end):
            if bounds[each] <= floor:
                continue
            target, arrow = listed[each] >> 10 & 1023, listed[each] & 1023
            if target != placed:
                if placed:
                    displace(work, placed)
                    placed = 0
                if board[target] != FREE:
                    continue
                reach, state = place(work, OWN, number, target, posts)
                mobility, states, placed = others + reach, their_states + state, target
            if board[arrow] == FREE:
                loss, change = shadow(lines, geometry, units, changes, arrow)
                worth = weigh(rule, found, 0, mobility - loss, states + change)
                bounds[each] = min(bounds[each], worth)
        if placed:
            displace(work, placed)
        _mark(board, geometry, reply >> 20, reply >> 10 & 1023, FREE)
        _mark(board, geometry, reply >> 10 & 1023, reply & 1023, FREE)
        unmake(board, where, lines, geometry, OTHER, reply, which)
    put_back(work, OWN, number, source)


@njit(cache=True)
def _by_amazon(listed: Array, owners: Array, begins: Array) -> None:
    """Write the amazon of each move, and the range of each amazon's moves."""
    owner = -1
    for number in range(len(listed)):
        if number == 0 or listed[number] >> 20 != listed[number - 1] >> 20:
            owner += 1
            begins[owner] = number
        owners[number] = owner
    begins[owner + 1] = len(listed)


@njit(cache=True)
def _rank(best: Array, worth: float) -> None:
    """Insert a value into the best ones, in descending order, if it is large enough."""
    place = len(best) - 1
    if worth > best[place]:
        while place > 0 and best[place - 1] < worth:
            best[place] = best[place - 1]
            place -= 1
        best[place] = worth


@njit(cache=True)
def _two_plies(work: Work, top: int, count: int) -> None:
    """Value the moves in ``moves[0]`` by their replies, best first by ``values``; see ``root``."""
    moves, values, killers = work.moves, work.values, work.killers
    board, where, lines, geometry = work.board, work.where, work.lines, work.geometry
    amazons = where.shape[1]
    listed = moves[0, :count].copy()
    order = np.argsort(-values[:count])
    best, bounds = np.full(top, -np.inf), np.full(count, np.inf)
    owners, begins = np.empty(count, np.int64), np.empty(amazons + 1, np.int64)
    _by_amazon(listed, owners, begins)
    tried = np.zeros((amazons, KILLERS), np.int64)  # latest replies included in the bounds
    tries = np.zeros(amazons, np.int64)
    for rank in range(count):
        number = order[rank]
        move, owner = listed[number], owners[number]
        floor = best[top - 1] - 1e-9
        for each in range(KILLERS):
            if bounds[number] <= floor:
                break
            reply = killers[1, each]
            if reply != 0 and not _known(tried, owner, reply):
                tried[owner, tries[owner] % KILLERS] = reply
                tries[owner] += 1
                _answer(work, reply, listed, begins[owner], begins[owner + 1], floor, bounds)
        worth = bounds[number]
        if worth > floor:
            amazon = make(board, where, lines, geometry, OWN, move)
            worth = _last(work, OTHER, REPLY, floor, np.inf, PRUNE, -worth)
            unmake(board, where, lines, geometry, OWN, move, amazon)
            if worth > floor and work.best[1, 0] > 0:  # it may refute other moves
                _remember(killers, REPLY, work.best[1, 1])
        moves[0, rank], values[rank] = move, worth
        _rank(best, worth)


@njit(cache=True)
def root(work: Work, depth: int, top: int, prune: bool) -> int:
    """Write the value of each move of player 0 to ``values``, beside ``moves[0]``; return their
    number.

    The ``top`` best values are exact, as are values equal to one of them; the others are upper
    bounds below them.
    """
    moves, values = work.moves, work.values
    board, where, lines, geometry = work.board, work.where, work.lines, work.geometry
    count = int(generate(work, OWN, ROOT))
    if count == 0:
        return 0
    if prune and depth == 2 and work.rule[FULL] == 0:
        _last(work, OWN, ROOT, -np.inf, np.inf, EVERY, -np.inf)
        _two_plies(work, top, count)
        return count
    best = np.empty(top, np.float64)
    # Passes at lower depths sort the moves, so that the last pass visits few.
    first = 1 if prune else depth
    for pass_depth in range(first, depth + 1):
        if pass_depth == 1:
            _last(work, OWN, ROOT, -np.inf, np.inf, EVERY, -np.inf)
        else:
            best[:] = -np.inf
            for number in range(count):
                move = moves[0, number]
                floor = best[top - 1] - 1e-9 if prune else -np.inf
                which = make(board, where, lines, geometry, OWN, move)
                worth = value(work, OTHER, pass_depth - 1, floor, np.inf, prune)
                unmake(board, where, lines, geometry, OWN, move, which)
                values[number] = worth
                _rank(best, worth)
        if pass_depth < depth:
            order = np.argsort(-values[:count])
            moves[0, :count] = moves[0, :count][order]
    return count


# -- playing on ------------------------------------------------------------------------------------


@njit(cache=True)
def swap(board: Array, where: Array) -> None:
    """Swap the players."""
    for square in range(board.shape[0]):
        if board[square] == 1 or board[square] == 2:
            board[square] = 3 - board[square]
    for number in range(where.shape[1]):
        where[0, number], where[1, number] = where[1, number], where[0, number]


@njit(cache=True)
def rollout(work: Work, depth: int, seed: int) -> bool:
    """Play out a position with player 1 to move, each move by a search of ``depth``; return whether
    0 wins.

    Ties are broken at random from ``seed``.  The board is modified.
    """
    np.random.seed(seed)
    board, where, values = work.board, work.where, work.values
    player = 0
    while True:
        swap(board, where)
        player = 1 - player
        work.killers[:] = 0
        count = root(work, depth, 1, True)
        if count == 0:
            return player == 1
        best = values[:count].max()
        ties = 0
        for number in range(count):
            ties += values[number] == best
        choice = np.random.randint(0, ties)
        for number in range(count):
            if values[number] == best:
                if choice == 0:
                    make(board, where, work.lines, work.geometry, OWN, work.moves[0, number])
                    break
                choice -= 1
