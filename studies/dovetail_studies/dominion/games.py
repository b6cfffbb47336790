"""Compiled games of Dominion between scripted players and Q-learners.

The results are identical to those of ``env_servers.dominion.rules``, and ``bots`` and
``q_learning`` of ``agent_servers.games.dominion``, if these draw from ``draw``, too: cards in the
same order, equal purchases, and tables equal bit for bit.
"""

from __future__ import annotations

import numpy as np

from dovetail.peer.kernels import njit
from dovetail_agents.learning.splitmix import bits, draw
from dovetail_games.dominion.cards import (
    ADVENTURER,
    CARDS,
    CHAPEL,
    CONSPIRATOR,
    COPPER,
    KINDS,
    MONEYLENDER,
    PROVINCE,
)
from dovetail_studies.dominion.cards import (
    BITS,
    COSTS,
    NOTHING,
    PLAY,
    Array,
    GameArrays,
    PlayOptions,
    affordable,
    arrays,
    clean_up,
    coins_in_hand,
    deal,
    dearest,
    inlined,
    kernel,
    put,
    take,
    top,
)
from dovetail_studies.dominion.players import LEARNER, MONEY, RANDOM, chance, plays, trash, wishes
from dovetail_studies.dominion.q_learning import MARGIN, Learning, Tables, ask, update

FAIR, SHARED, HIGHEST = range(3)
"""Rules for the winner among equals."""

_COINS = np.array([card.coins for card in CARDS])
POINTS = np.array([card.points for card in CARDS])
_CARDS = np.array([card.cards for card in CARDS])
_ACTIONS = np.array([card.actions for card in CARDS])
_BUYS = np.array([card.buys for card in CARDS])
_TREASURE = np.array([card.treasure for card in CARDS])

# -- a turn ----------------------------------------------------------------------------------------


@inlined
def _search(game: GameArrays, seat: int) -> None:
    """Play the Adventurer: draw cards until two treasures are found, and discard the others."""
    found, aside = 0, 0
    end = game.piles.shape[2] - 1
    while found < 2:
        card = top(game, seat)
        if card == NOTHING:
            break
        if _TREASURE[card]:
            game.hands[seat, card] += 1
            found += 1
        else:
            # Above the played cards, since cards set aside must not be shuffled.
            game.piles[seat, PLAY, end - aside] = card
            aside += 1
    for number in range(aside):
        put(game, seat, 1 - game.sides[seat], game.piles[seat, PLAY, end - number])


@inlined
def _act(
    rules: PlayOptions, player: int, rule: int, game: GameArrays, seat: int, stock: int
) -> tuple[int, int]:
    """Play action cards, a learner's by its rule; return the turn's buys and coins."""
    hands, owned = game.hands, game.owned
    may_play, buys, coins, played = 1, 1, 0, 0
    while may_play > 0:
        kind = plays(player, rule, game, seat, stock, coins, played)
        if kind == NOTHING:
            break
        hands[seat, kind] -= 1
        put(game, seat, PLAY if rules.aside else 1 - game.sides[seat], kind)
        played += 1
        may_play += _ACTIONS[kind] - 1
        buys += _BUYS[kind]
        coins += _COINS[kind]
        cards = _CARDS[kind]
        if kind == CONSPIRATOR and played >= rules.conspirator:
            may_play += 1
            cards += 1
        take(game, seat, cards)
        if kind == MONEYLENDER and hands[seat, COPPER]:
            hands[seat, COPPER] -= 1
            owned[seat, COPPER] -= 1
            coins += 3
        elif kind == CHAPEL:
            for _ in range(rules.chapel):
                gone = trash(game, seat, stock, coins)
                if gone == NOTHING:
                    break
                hands[seat, gone] -= 1
                owned[seat, gone] -= 1
        elif kind == ADVENTURER:
            _search(game, seat)
    return buys, coins


# -- a game ----------------------------------------------------------------------------------------


@kernel
def play(
    rules: PlayOptions,
    players: Array,
    table: Tables,
    features: Array,
    kinds: Array,
    how: Learning,
    learn: bool,
    game: GameArrays,
) -> bool:
    """Play a game.

    Args:
        rules: the rules of the game.
        players: the numbers of the players by seat; all learners share one table.
        table: the table of values.
        features: see ``_state``.
        kinds: the cards that a learner may buy.
        how: the settings of the learners.
        learn: whether learners explore and learn.
        game: a game with seeded random numbers; receives the final state.

    Returns:
        True if the game ended, false if it was truncated.
    """
    count = rules.players
    supply, owned, turns = game.supply, game.owned, game.turns
    deal(rules, game)
    stock, empty = 0, 0
    for kind in range(KINDS):
        stock |= BITS[kind] if supply[kind] > 0 else 0
    first = draw(game.state, count) if rules.random_first else 0
    seat = first
    whole = True

    while True:
        player = players[seat]
        buys, coins = 1, 0
        if player not in (RANDOM, MONEY):
            buys, coins = _act(rules, player, how.plays, game, seat, stock)
        coins += coins_in_hand(game, seat)
        if player == LEARNER and how.single:
            buys = 1

        while buys > 0:
            afforded = affordable(stock, coins)
            if player == LEARNER:
                kind = ask(rules, table, features, kinds, how, learn, game, seat, afforded)
            elif player == RANDOM:
                kind = chance(afforded, game.state)
            else:
                kind = dearest(afforded & wishes(player, game, seat, coins))
            if kind == NOTHING:
                break
            supply[kind] -= 1
            if supply[kind] == 0:
                stock &= ~BITS[kind]
                empty += 1
            owned[seat, kind] += 1
            put(game, seat, 1 - game.sides[seat], kind)
            coins -= COSTS[kind]
            buys -= 1

        clean_up(game, seat)
        take(game, seat, 5)
        turns[seat] += 1
        seat = 0 if seat + 1 == count else seat + 1
        even = seat == first
        if (supply[PROVINCE] == 0 or empty >= 3) and (even or not rules.whole_round):
            break
        if even and turns[seat] >= rules.max_rounds:
            whole = False
            break

    _finish(rules, table, how, learn, game, whole)
    return whole


@inlined
def _finish(
    rules: PlayOptions, table: Tables, how: Learning, learn: bool, game: GameArrays, whole: bool
) -> None:
    """Count points, record the winners, and update the learners from the result."""
    count = rules.players
    points, shares = game.points, game.shares
    shares[:] = 0.0
    for seat in range(count):
        points[seat] = 0
        for kind in range(KINDS):
            points[seat] += game.owned[seat, kind] * POINTS[kind]
    if whole:
        _share(rules, points, game.turns, shares, game.state)
    if not learn:
        return
    for seat in range(count):
        if game.last[seat] >= 0:
            target = game.pending[seat]
            if whole:
                other = -1_000_000
                for each in range(count):
                    if each != seat:
                        other = max(other, points[each])
                won = how.win * shares[seat] + how.loss * (1.0 - shares[seat])
                mine = float(points[seat])
                lead = float(points[seat] - other)
                target += won + how.points * mine + how.margin * lead
            update(table.values, table.visits, how, game.last[seat], target)


@inlined
def _largest(numbers: Array) -> int:
    most = numbers[0]
    for number in numbers:
        most = max(most, number)
    return int(most)


@kernel
def _share(rules: PlayOptions, points: Array, turns: Array, shares: Array, state: Array) -> None:
    count = rules.players
    most = _largest(points)
    if rules.tie == SHARED:
        equal = 0
        for seat in range(count):
            equal += points[seat] == most
        for seat in range(count):
            if points[seat] == most:
                shares[seat] = 1.0 / equal
        return
    if rules.tie == HIGHEST:
        for seat in range(count - 1, -1, -1):
            if points[seat] == most:
                shares[seat] = 1.0
                return
    fewest = _largest(turns)
    for seat in range(count):
        if points[seat] == most:
            fewest = min(fewest, turns[seat])
    equal = 0
    for seat in range(count):
        equal += points[seat] == most and turns[seat] == fewest
    skip = draw(state, equal)
    for seat in range(count):
        if points[seat] == most and turns[seat] == fewest:
            if skip == 0:
                shares[seat] = 1.0
                return
            skip -= 1


# -- many games ------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def seeded(seed: int, game: int) -> Array:
    """Return the random state of a game, determined by its number and the seed of the run."""
    state = np.empty(1, np.uint64)
    _seed(state, seed, game)
    return state


@inlined
def _seed(state: Array, seed: int, game: int) -> None:
    state[0] = np.uint64(seed)
    state[0] = bits(state) + np.uint64(game)
    state[0] = bits(state)


@kernel
def _games(
    rules: PlayOptions,
    players: Array,
    table: Tables,
    features: Array,
    kinds: Array,
    how: Learning,
    learn: bool,
    seed: int,
    first: int,
    number: int,
    sums: Array,
    game: GameArrays,
) -> int:
    for done in range(number):
        if learn and table.slots.shape[0] and table.used[0] + MARGIN > table.keys.shape[0]:
            return done
        _seed(game.state, seed, first + done)
        whole = play(rules, players, table, features, kinds, how, learn, game)
        for seat in range(rules.players):
            sums[seat, 0] += game.shares[seat]
            sums[seat, 1] += game.points[seat]
            sums[seat, 2] += game.turns[seat]
            sums[seat, 3] += whole
            for kind in range(KINDS):
                sums[seat, 4 + kind] += game.owned[seat, kind]
    return number


@njit(cache=True, nogil=True)
def games(
    rules: PlayOptions,
    players: Array,
    table: Tables,
    features: Array,
    kinds: Array,
    how: Learning,
    learn: bool,
    seed: int,
    first: int,
    number: int,
    sums: Array,
) -> int:
    """Play games, add up their results, and return their number.

    The number falls short if a sparse table fills up.

    Args:
        rules, players, table, features, kinds, how, learn: see ``play``.
        seed: the seed of the run, which with a game's number determines all its random choices.
        first: the number of the first game.
        number: the number of games.
        sums: added to; float64, shape (seats, 4 + kinds of cards): wins, points, turns, games that
            ended, and cards owned.
    """
    game = arrays(rules)
    return _games(
        rules, players, table, features, kinds, how, learn, seed, first, number, sums, game
    )
