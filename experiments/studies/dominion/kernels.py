"""Compiled games of Dominion between scripted players and Q-learners.

If ``env_servers.dominion.rules``, ``dominion_bots`` and ``dominion_q`` also draw from ``draw``, the
results are identical: the same cards in the same order, the same purchases, the same tables bit for
bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dovetail.agent_servers.learning.splitmix import GOLDEN, bits, draw, fraction, scatter
from dovetail.env_servers.dominion.cards import (
    ADVENTURER,
    BASIC,
    BAZAAR,
    CARDS,
    CHAPEL,
    CONSPIRATOR,
    COPPER,
    CURSE,
    DUCHY,
    ESTATE,
    FESTIVAL,
    GOLD,
    KINDS,
    MONEYLENDER,
    NUMBER,
    PROVINCE,
    SILVER,
    SMITHY,
)

Array = NDArray[Any]

RANDOM, MONEY, GREEDY, BLACKSMITH, CHAPELLER, LEARNER = range(6)
"""The players by number."""
SMITHS = 16
"""With n added: a Blacksmith that turns to victory cards when fewer than n Provinces are left."""
BIG_MONEY = 32
"""With n added: Big Money with up to n Smithies."""
FAIR, SHARED, HIGHEST = range(3)
"""Who wins among equals."""
TURN, TO_END, PROVINCES, OWNED = -1, -2, -3, 0
"""What a feature counts; from ``OWNED`` on, how many of that kind the player owns."""
NOTHING = -1
"""Instead of a kind."""


class Rules(NamedTuple):
    """The options of ``rules.Options``, and the tie rule."""

    players: int
    kingdom: Array
    """Whether each kind of card is among the kingdom's."""
    victory_pile: int
    kingdom_pile: int
    curses: int
    random_first: bool
    whole_round: bool
    aside: bool
    chapel: int
    conspirator: int
    max_rounds: int
    tie: int


class Learning(NamedTuple):
    """How a learner learns; see ``dominion_q.DominionQParameters``."""

    rate: float
    power: float
    least: float
    discount: float
    epsilon: float
    min_visits: int
    card: Array
    """The reward of a purchase, by kind."""
    win: float
    loss: float
    points: float
    margin: float
    """Rewards of the end; see ``dominion_q.Reward``."""


class Tables(NamedTuple):
    """A ``q_learning.Table``; without ``slots`` it is dense, and a state's number is its row."""

    values: Array
    """float32, shape (rows x actions,); the purchase is fastest, the last buys nothing. A sparse
    table has one row more, for states that are asked for but not kept."""
    visits: Array
    """uint32, the same shape."""
    slots: Array
    """int64, a power of two of them: the row of a state at the place its number is scattered to, or
    at one of the next (linear probing); -1 where there is none."""
    keys: Array
    """int64: the state of each row."""
    used: Array
    """int64, shape (1,): rows in use."""
    seed: np.uint64
    """Scattered by ``q_learning.mix``, uint64."""
    spread: float
    """First values are drawn between 0 and this."""


_COSTS = np.array([card.cost for card in CARDS])
_COINS = np.array([card.coins for card in CARDS])
_POINTS = np.array([card.points for card in CARDS])
_CARDS = np.array([card.cards for card in CARDS])
_ACTIONS = np.array([card.actions for card in CARDS])
_BUYS = np.array([card.buys for card in CARDS])
_TREASURE = np.array([card.treasure for card in CARDS])
_VILLAGE, _WORKERS, _WOODCUTTER = (
    NUMBER["Village"],
    NUMBER["Workers village"],
    NUMBER["Woodcutter"],
)
MARGIN = 8192
"""Rows of a sparse table that one game never fills."""
_PROVINCES_LEFT = 4
_CHAPEL_TURNS = 15

# -- random numbers -------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def seeded(seed: int, game: int) -> Array:
    """Return the state of random numbers for a game of a run."""
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    state[0] = bits(state) + np.uint64(game)
    state[0] = bits(state)
    return state


@njit(cache=True, nogil=True)
def _shuffle(pile: Array, size: int, state: Array) -> None:
    for at in range(size - 1, 0, -1):
        other = draw(state, at + 1)
        pile[at], pile[other] = pile[other], pile[at]


# -- cards ------------------------------------------------------------------------------------------------

# The piles of all seats: (seats, 3, all cards of the game), DRAW with its top last, DISCARD and PLAY; sizes (seats, 3).
_DRAW, _DISCARD, _PLAY = range(3)


@njit(cache=True, nogil=True)
def _put(piles: Array, sizes: Array, seat: int, pile: int, kind: int) -> None:
    piles[seat, pile, sizes[seat, pile]] = kind
    sizes[seat, pile] += 1


@njit(cache=True, nogil=True)
def _top(piles: Array, sizes: Array, seat: int, state: Array) -> int:
    if sizes[seat, _DRAW] == 0:
        count = sizes[seat, _DISCARD]
        if count == 0:
            return NOTHING
        piles[seat, _DRAW, :count] = piles[seat, _DISCARD, :count]
        sizes[seat, _DRAW], sizes[seat, _DISCARD] = count, 0
        _shuffle(piles[seat, _DRAW], count, state)
    sizes[seat, _DRAW] -= 1
    return int(piles[seat, _DRAW, sizes[seat, _DRAW]])


@njit(cache=True, nogil=True)
def _take(hand: Array, piles: Array, sizes: Array, seat: int, count: int, state: Array) -> None:
    for _ in range(count):
        kind = _top(piles, sizes, seat, state)
        if kind == NOTHING:
            return
        hand[kind] += 1


# -- the scripted players -------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _big_money(smithies: int, owned: Array, supply: Array, coins: int) -> int:
    """Return what ``DominionBigMoney`` buys."""
    treasures = owned[COPPER] + owned[SILVER] + owned[GOLD]
    left = supply[PROVINCE]
    if coins >= 8 and left and treasures + owned[SILVER] + 2 * owned[GOLD] > 15:
        return PROVINCE
    if coins >= 5 and supply[DUCHY] and left <= 4:
        return DUCHY
    if coins >= 2 and supply[ESTATE] and left <= 2:
        return ESTATE
    if coins >= 6 and supply[GOLD]:
        return GOLD
    if coins >= 5 and supply[DUCHY] and left <= 6:
        return DUCHY
    more = owned[SMITHY] < smithies and 11 * owned[SMITHY] < treasures
    if coins >= 4 and supply[SMITHY] and more:
        return SMITHY
    return SILVER if coins >= 3 and supply[SILVER] else NOTHING


@njit(cache=True, nogil=True)
def _wishes(player: int, owned: Array, supply: Array, turns: int, coins: int, out: Array) -> None:
    """Mark the kinds that a scripted player would buy."""
    out[:] = False
    if player >= BIG_MONEY:
        kind = _big_money(player - BIG_MONEY, owned, supply, coins)
        if kind != NOTHING:
            out[kind] = True
    elif player == MONEY:
        out[SILVER] = out[GOLD] = True
        if owned[GOLD] >= 2:
            out[ESTATE] = out[DUCHY] = out[PROVINCE] = True
    elif player == GREEDY:
        out[ESTATE] = out[SILVER] = out[DUCHY] = out[GOLD] = out[PROVINCE] = out[SMITHY] = True
    elif player == BLACKSMITH or player > SMITHS:
        left = _PROVINCES_LEFT if player == BLACKSMITH else player - SMITHS
        if supply[PROVINCE] < left:
            out[ESTATE] = out[DUCHY] = out[PROVINCE] = True
        else:
            out[SILVER] = out[SMITHY] = out[GOLD] = out[PROVINCE] = True
    elif turns + 1 <= 2:
        out[SILVER] = owned[SILVER] == 0
        out[CHAPEL] = owned[CHAPEL] == 0
    else:
        out[GOLD] = out[PROVINCE] = True
        out[SILVER if turns + 1 <= _CHAPEL_TURNS else DUCHY] = True


@njit(cache=True, nogil=True)
def _dearest(wanted: Array, supply: Array, coins: int) -> int:
    found = NOTHING
    for kind in range(KINDS):
        if (
            wanted[kind]
            and supply[kind] > 0
            and _COSTS[kind] <= coins
            and (found == NOTHING or _COSTS[kind] > _COSTS[found])
        ):
            found = kind
    return found


@njit(cache=True, nogil=True)
def _trash(hand: Array, owned: Array, supply: Array, turns: int, coins: int, wanted: Array) -> int:
    """Return what the study's Chapel player trashes: Estates, and Coppers that buy nothing more."""
    if hand[ESTATE]:
        return ESTATE
    if hand[COPPER]:
        money = coins + hand[COPPER] + 2 * hand[SILVER] + 3 * hand[GOLD]
        _wishes(CHAPELLER, owned, supply, turns, coins, wanted)
        more = _dearest(wanted, supply, money)
        less = _dearest(wanted, supply, money - 1)
        if (0 if more == NOTHING else _COSTS[more]) == (0 if less == NOTHING else _COSTS[less]):
            return COPPER
    return NOTHING


@njit(cache=True, nogil=True)
def _plays(
    player: int,
    hand: Array,
    owned: Array,
    supply: Array,
    turns: int,
    coins: int,
    played: int,
    wanted: Array,
) -> int:
    """Return the action card to play, or nothing."""
    if player in (GREEDY, BLACKSMITH) or player > SMITHS:
        may = player != GREEDY or played == 0
        return SMITHY if hand[SMITHY] and may else NOTHING
    chapel = player in (CHAPELLER, LEARNER) and hand[CHAPEL] > 0
    if player == LEARNER:
        for kind in (_VILLAGE, _WORKERS, BAZAAR, FESTIVAL):
            if hand[kind]:
                return int(kind)
        if hand[CONSPIRATOR] and played >= 2:
            return CONSPIRATOR
        for kind in (SMITHY, ADVENTURER, MONEYLENDER, _WOODCUTTER, CONSPIRATOR):
            if hand[kind] and (kind != MONEYLENDER or hand[COPPER]):
                return int(kind)
    if chapel and _trash(hand, owned, supply, turns, coins, wanted) != NOTHING:
        return CHAPEL
    return NOTHING


# -- the learner ------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _state(features: Array, owned: Array, supply: Array, turns: int, players: int) -> int:
    """Return the number of a state; ``features`` has a row of source, least and bound for each."""
    number, radix = 0, 1
    for row in range(features.shape[0]):
        source, least, bound = features[row, 0], features[row, 1], features[row, 2]
        if source == TURN:
            count = turns
        elif source == TO_END:
            count = -(-supply[PROVINCE] // players)
        elif source == PROVINCES:
            count = supply[PROVINCE]
        else:
            count = owned[source]
        number += (min(max(count, least), bound) - least) * radix
        radix *= bound - least + 1
    return number


@njit(cache=True, nogil=True)
def _row(table: Tables, number: int, actions: int, make: bool) -> int:
    """Return the row of a state; a sparse table makes it, or uses its last row if it must not."""
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
def _learn(values: Array, visits: Array, how: Learning, entry: int, target: float) -> None:
    rate = how.rate
    if how.power > 0:
        rate = max(how.least, rate / float(visits[entry]) ** how.power)
    error = target - float(values[entry])
    values[entry] += np.float32(rate * error)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _choose(
    values: Array, visits: Array, how: Learning, choices: Array, count: int, state: Array
) -> int:
    """Return the entry to take while learning: rare ones first, else epsilon-greedy."""
    rare = 0
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


# -- games --------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _over(supply: Array, present: Array) -> bool:
    empty = 0
    for kind in range(KINDS):
        empty += present[kind] and supply[kind] == 0
    return supply[PROVINCE] == 0 or empty >= 3


@njit(cache=True, nogil=True)
def play(
    rules: Rules,
    players: Array,
    table: Tables,
    features: Array,
    kinds: Array,
    how: Learning,
    learn: bool,
    state: Array,
    owned: Array,
    turns: Array,
    shares: Array,
) -> bool:
    """Play a game.

    Args:
        rules: the set-up.
        players: by seat; all learners share one table.
        table: of values.
        features: see ``_state``.
        kinds: what a learner may buy.
        how: how learners learn.
        learn: whether learners explore and learn.
        state: of the random numbers.
        owned: is filled with what each seat owns in the end, shape (seats, kinds of cards).
        turns: is filled with each seat's turns.
        shares: is filled with each seat's share of the win.

    Returns:
        Whether it came to its end, instead of being cut short.
    """
    count = rules.players
    actions = kinds.shape[0] + 1
    values, visits = table.values, table.visits
    supply = np.zeros(KINDS, np.int64)
    supply[COPPER], supply[SILVER], supply[GOLD] = 60 - 7 * count, 40, 30
    supply[ESTATE] = supply[DUCHY] = supply[PROVINCE] = rules.victory_pile
    supply[CURSE] = rules.curses if rules.curses >= 0 else 10 * (count - 1)
    for kind in range(BASIC, KINDS):
        if rules.kingdom[kind]:
            supply[kind] = rules.kingdom_pile
    present = supply > 0
    hands = np.zeros((count, KINDS), np.int64)
    room = supply.sum() + 10
    piles = np.empty((count, 3, room), np.int8)
    sizes = np.zeros((count, 3), np.int64)
    owned[:] = 0
    turns[:] = 0
    for seat in range(count):
        for number in range(10):
            _put(piles, sizes, seat, _DRAW, COPPER if number < 7 else ESTATE)
        owned[seat, COPPER], owned[seat, ESTATE] = 7, 3
        _shuffle(piles[seat, _DRAW], 10, state)
    for seat in range(count):
        _take(hands[seat], piles, sizes, seat, 5, state)
    seat = draw(state, count) if rules.random_first else 0
    wanted = np.empty(KINDS, np.bool_)
    choices = np.empty(actions, np.int64)
    last = np.full(count, -1)
    last_turn = np.zeros(count, np.int64)
    pending = np.zeros(count, np.float64)
    whole = True

    while True:
        player, hand, mine = players[seat], hands[seat], owned[seat]
        may_play, buys, coins, played = 1, 1, 0, 0
        while may_play > 0:
            kind = _plays(player, hand, mine, supply, turns[seat], coins, played, wanted)
            if kind == NOTHING:
                break
            hand[kind] -= 1
            _put(piles, sizes, seat, _PLAY if rules.aside else _DISCARD, kind)
            played += 1
            may_play += _ACTIONS[kind] - 1
            buys += _BUYS[kind]
            coins += _COINS[kind]
            _take(hand, piles, sizes, seat, _CARDS[kind], state)
            if kind == CONSPIRATOR and played >= rules.conspirator:
                may_play += 1
                _take(hand, piles, sizes, seat, 1, state)
            elif kind == MONEYLENDER and hand[COPPER]:
                hand[COPPER] -= 1
                mine[COPPER] -= 1
                coins += 3
            elif kind == CHAPEL:
                for _ in range(rules.chapel):
                    gone = _trash(hand, mine, supply, turns[seat], coins, wanted)
                    if gone == NOTHING:
                        break
                    hand[gone] -= 1
                    mine[gone] -= 1
            elif kind == ADVENTURER:
                found, aside = 0, 0
                while found < 2:
                    card = _top(piles, sizes, seat, state)
                    if card == NOTHING:
                        break
                    if _TREASURE[card]:
                        hand[card] += 1
                        found += 1
                    else:
                        # Beyond the pile's cards: what lies aside must not be shuffled in.
                        piles[seat, _DISCARD, room - 1 - aside] = card
                        aside += 1
                for number in range(aside):
                    card = piles[seat, _DISCARD, room - 1 - number]
                    _put(piles, sizes, seat, _DISCARD, card)
        coins += hand[COPPER] + 2 * hand[SILVER] + 3 * hand[GOLD]

        while buys > 0:
            if player == LEARNER:
                number = _state(features, mine, supply, turns[seat], count)
                first = _row(table, number, actions, learn) * actions
                size = 0
                for number in range(actions - 1):
                    if supply[kinds[number]] > 0 and _COSTS[kinds[number]] <= coins:
                        choices[size] = first + number
                        size += 1
                choices[size] = first + actions - 1
                size += 1
                if learn:
                    if last[seat] >= 0:
                        later = values[choices[0]]
                        for number in range(1, size):
                            later = max(later, values[choices[number]])
                        discount = 1.0 if last_turn[seat] == turns[seat] else how.discount
                        target = pending[seat] + discount * float(later)
                        _learn(values, visits, how, last[seat], target)
                    entry = _choose(values, visits, how, choices, size, state)
                    visits[entry] += 1
                else:
                    entry = _best(values, choices, size, state)
                number = entry - first
                kind = NOTHING if number == actions - 1 else kinds[number]
                last[seat], last_turn[seat] = entry, turns[seat]
                pending[seat] = 0.0 if kind == NOTHING else how.card[kind]
            elif player == RANDOM:
                size = 0
                for number in range(KINDS):
                    if number != CURSE and supply[number] > 0 and _COSTS[number] <= coins:
                        size += 1
                kind = NOTHING
                if size:
                    skip = draw(state, size)
                    for number in range(KINDS):
                        if number != CURSE and supply[number] > 0 and _COSTS[number] <= coins:
                            if skip == 0:
                                kind = number
                                break
                            skip -= 1
            else:
                _wishes(player, mine, supply, turns[seat], coins, wanted)
                kind = _dearest(wanted, supply, coins)
            if kind == NOTHING:
                break
            supply[kind] -= 1
            mine[kind] += 1
            _put(piles, sizes, seat, _DISCARD, kind)
            coins -= _COSTS[kind]
            buys -= 1

        for number in range(KINDS):
            for _ in range(hand[number]):
                _put(piles, sizes, seat, _DISCARD, number)
            hand[number] = 0
        for number in range(sizes[seat, _PLAY]):
            _put(piles, sizes, seat, _DISCARD, piles[seat, _PLAY, number])
        sizes[seat, _PLAY] = 0
        _take(hand, piles, sizes, seat, 5, state)
        turns[seat] += 1
        rounds = turns[0]
        most = turns[0]
        for number in range(1, count):
            rounds = min(rounds, turns[number])
            most = max(most, turns[number])
        if _over(supply, present) and (not rules.whole_round or rounds == most):
            break
        if rounds == most and rounds >= rules.max_rounds:
            whole = False
            break
        seat = (seat + 1) % count

    shares[:] = 0.0
    points = np.zeros(count, np.int64)
    for each in range(count):
        for kind in range(KINDS):
            points[each] += owned[each, kind] * _POINTS[kind]
    if whole:
        _share(rules, points, turns, shares, state)
    if learn:
        for seat in range(count):
            if last[seat] >= 0:
                target = pending[seat]
                if whole:
                    other = -1_000_000
                    for each in range(count):
                        if each != seat:
                            other = max(other, points[each])
                    won = how.win * shares[seat] + how.loss * (1.0 - shares[seat])
                    mine_now = float(points[seat])
                    lead = float(points[seat] - other)
                    target += won + how.points * mine_now + how.margin * lead
                _learn(values, visits, how, last[seat], target)
    return whole


@njit(cache=True, nogil=True)
def _share(rules: Rules, points: Array, turns: Array, shares: Array, state: Array) -> None:
    """Write the winners."""
    count = rules.players
    most = points.max()
    if rules.tie == SHARED:
        equal = (points == most).sum()
        for seat in range(count):
            if points[seat] == most:
                shares[seat] = 1.0 / equal
        return
    if rules.tie == HIGHEST:
        for seat in range(count - 1, -1, -1):
            if points[seat] == most:
                shares[seat] = 1.0
                return
    fewest = turns.max()
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


@njit(cache=True, nogil=True)
def games(
    rules: Rules,
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
    """Play games, add up their results, and return how many; fewer than asked when a sparse table
    is full.

    Args:
        rules, players, table, features, kinds, how, learn: see ``play``.
        seed: of the run; with the number of a game it decides all its random choices.
        first: the number of the first game.
        number: how many games.
        sums: float64, shape (seats, 4 + kinds of cards): wins, points, turns, games that came to
            their end, and cards owned; is added to.
    """
    count = rules.players
    owned = np.zeros((count, KINDS), np.int64)
    turns = np.zeros(count, np.int64)
    shares = np.zeros(count, np.float64)
    for game in range(first, first + number):
        if learn and table.slots.shape[0] and table.used[0] + MARGIN > table.keys.shape[0]:
            return game - first
        state = seeded(seed, game)
        whole = play(
            rules,
            players,
            table,
            features,
            kinds,
            how,
            learn,
            state,
            owned,
            turns,
            shares,
        )
        for seat in range(count):
            sums[seat, 0] += shares[seat]
            sums[seat, 2] += turns[seat]
            sums[seat, 3] += whole
            for kind in range(KINDS):
                sums[seat, 1] += owned[seat, kind] * _POINTS[kind]
                sums[seat, 4 + kind] += owned[seat, kind]
    return number


@njit(cache=True, nogil=True)
def place(slots: Array, keys: Array) -> None:
    """Fill the slots of a sparse table: row n has ``keys[n]``."""
    mask = slots.shape[0] - 1
    for row in range(keys.shape[0]):
        at = np.int64(scatter(np.uint64(keys[row])) & np.uint64(mask))
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = row
