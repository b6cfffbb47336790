"""Alpha-beta search of Amazons, compiled; ``kernels`` has the position and its value."""

from __future__ import annotations

import numpy as np
from numba import njit

from dovetail.agent_servers.games.amazons.kernels import (
    ARROW,
    DIRECTIONS,
    FREE,
    FULL,
    KILLERS,
    LINE,
    WON,
    Array,
    Work,
    evaluate,
    generate,
    legal,
    make,
    survey,
    switch,
    unmake,
    weigh,
    whole_reach,
)


@njit(cache=True)
def _remember(killers: Array, ply: int, move: int) -> None:
    """Put a move that refuted its parent first among the killers of its ply."""
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
    """Return whether a move is one of the killers of its ply."""
    found = False
    for each in range(KILLERS):
        found |= killers[ply, each] == move
    return found


@njit(cache=True)
def _last(work: Work, mover: int, ply: int, alpha: float, beta: float, prune: bool) -> float:
    """Return the value of a position one ply before the end of the search; see ``value``.

    At ply 0 the values of the moves are written, in the order of ``generate``.
    """
    board, where, lines, geometry = work.board, work.where, work.lines, work.geometry
    killers, rule, found, free = work.killers, work.rule, work.found, work.free
    mobility, states, values = work.mobility, work.states, work.values
    full = rule[FULL] > 0
    sign = 1 if mover == 0 else -1  # of values as the mover sees them
    low, high = (alpha, beta) if mover == 0 else (-beta, -alpha)
    best, chosen, count = -np.inf, 0, 0
    refuted = False
    for each in range(KILLERS if prune else 0):
        move = killers[ply, each]
        if refuted or move == 0 or not legal(board, lines, geometry, mover, move):
            continue
        number = make(board, where, lines, geometry, mover, move)
        survey(board, where, lines, geometry, full, False, free, found, mobility, states)
        worth = sign * weigh(rule, found, 1 - mover, mobility[0], states[0])
        unmake(board, where, lines, geometry, mover, move, number)
        count += 1
        if worth > best:
            best, chosen = worth, move
            low = max(low, worth)
            refuted = low >= high
    for number in range(where.shape[1]):
        source = where[mover, number]
        if source < 0 or refuted:
            continue
        board[source] = FREE
        switch(lines, geometry, source)
        for first in range(8):
            target = source + geometry[DIRECTIONS, first]
            while board[target] == FREE and not refuted:
                board[target] = mover + 1
                where[mover, number] = target
                switch(lines, geometry, target)
                survey(board, where, lines, geometry, full, True, free, found, mobility, states)
                for second in range(8):
                    arrow = target + geometry[DIRECTIONS, second]
                    while board[arrow] == FREE and not refuted:
                        move = source << 20 | target << 10 | arrow
                        if prune and _known(killers, ply, move):
                            arrow += geometry[DIRECTIONS, second]
                            continue
                        reach, state = mobility[0] - mobility[arrow], states[0] + states[arrow]
                        if full:
                            board[arrow] = ARROW
                            reach = whole_reach(board, where, geometry)
                            board[arrow] = FREE
                        worth = sign * weigh(rule, found, 1 - mover, reach, state)
                        if ply == 0:
                            values[count] = worth
                        count += 1
                        if worth > best:
                            best, chosen = worth, move
                            low = max(low, worth)
                            refuted = prune and low >= high
                        arrow += geometry[DIRECTIONS, second]
                board[target] = FREE
                switch(lines, geometry, target)
                target += geometry[DIRECTIONS, first]
        board[source] = mover + 1
        where[mover, number] = source
        switch(lines, geometry, source)
    if count == 0:  # there was no move at all
        best = -rule[WON]
        count = 1
    work.nodes[0] += count
    work.best[ply, 0] = int(chosen != 0)
    work.best[ply, 1] = chosen
    if refuted:
        _remember(killers, ply, chosen)
    return sign * best


@njit(cache=True)
def _next_move(work: Work, mover: int, ply: int, prune: bool, places: Array) -> int:
    """Return the next move to try at a ply, killers first; 0 if there is none left.

    ``places[ply]`` is how many were tried and, once generated, how many there are.
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
    """Return the minimax value to player 0, exact within (alpha, beta); fail-soft alpha-beta.

    ``work.best[1]`` gets the line of best play. The search keeps its own stack: numba cannot keep
    compiled functions that call themselves.
    """
    if depth == 1:
        return float(_last(work, mover, 1, alpha, beta, prune))
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
                result = _last(work, player, ply, low[ply], high[ply], prune)
                leave = True
            elif ply > depth:
                work.nodes[0] += 1
                result = evaluate(work, player)
                leave = True
            else:
                best[ply] = -np.inf if maximise else np.inf
                places[ply, 0], places[ply, 1] = 0, -1
        else:  # a child has its value
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
            if np.isinf(result):  # there was no move at all
                work.nodes[0] += 1
                result = -work.rule[WON] if maximise else work.rule[WON]
        if ply == 1:
            return result
        ply -= 1
        entering = False


@njit(cache=True)
def root(work: Work, depth: int, top: int, prune: bool) -> int:
    """Value each move of player 0 into ``values``, beside ``moves[0]``; return how many there are.

    The ``top`` best values are exact, as is every value equal to one of them; the others are
    upper bounds below them.
    """
    moves, values = work.moves, work.values
    board, where, lines, geometry = work.board, work.where, work.lines, work.geometry
    count = int(generate(work, 0, 0))
    if count == 0:
        return 0
    best = np.empty(top, np.float64)
    # First passes at lower depths put the moves into an order in which few have to be looked at.
    first = 1 if prune else depth
    for pass_depth in range(first, depth + 1):
        if pass_depth == 1:
            _last(work, 0, 0, -np.inf, np.inf, False)
        else:
            best[:] = -np.inf
            for number in range(count):
                move = moves[0, number]
                floor = best[top - 1] - 1e-9 if prune else -np.inf
                which = make(board, where, lines, geometry, 0, move)
                worth = value(work, 1, pass_depth - 1, floor, np.inf, prune)
                unmake(board, where, lines, geometry, 0, move, which)
                values[number] = worth
                if worth > best[top - 1]:
                    place = top - 1
                    while place > 0 and best[place - 1] < worth:
                        best[place] = best[place - 1]
                        place -= 1
                    best[place] = worth
        if pass_depth < depth:
            order = np.argsort(-values[:count])
            moves[0, :count] = moves[0, :count][order]
    return count


@njit(cache=True)
def swap(board: Array, where: Array) -> None:
    """Let the players change places: who was 0 is 1."""
    for square in range(board.shape[0]):
        if board[square] == 1 or board[square] == 2:
            board[square] = 3 - board[square]
    for number in range(where.shape[1]):
        where[0, number], where[1, number] = where[1, number], where[0, number]


@njit(cache=True)
def rollout(work: Work, depth: int, seed: int) -> bool:
    """Play on with player 1 to move, each by its own search of ``depth``; return whether 0 wins.

    Equal moves are drawn at random from ``seed``.  The board is changed.
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
                    make(board, where, work.lines, work.geometry, 0, work.moves[0, number])
                    break
                choice -= 1
