"""Compiled games of Dominion between scripted players and Q-learners.

If ``env_servers.dominion.rules``, ``dominion_bots`` and ``dominion_q`` also draw from ``draw``, the
results are identical: the same cards in the same order, the same purchases, the same tables bit for
bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros
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
Kernel = TypeVar("Kernel", bound=Callable[..., Any])

RANDOM, MONEY, GREEDY, BLACKSMITH, CHAPELLER, LEARNER = range(6)
"""The players by number."""
SMITHS = 16
"""With n added: a Blacksmith that turns to victory cards when fewer than n Provinces are left."""
BIG_MONEY = 32
"""With n added: Big Money with up to n Smithies."""
FAIR, SHARED, HIGHEST = range(3)
"""Who wins among equals."""
TURN, TO_END = KINDS, KINDS + 1
"""What a feature counts; below, how many of that kind the player owns."""
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


class Game(NamedTuple):
    """The arrays of a game; made once for many games, as making them takes time."""

    state: Array
    """Of the random numbers."""
    first: Array
    """The supply at first, by kind of card."""
    supply: Array
    """What is left of it."""
    owned: Array
    """Cards owned, shape (seats, kinds)."""
    hands: Array
    """Cards in hand, shape (seats, kinds)."""
    piles: Array
    """int8, shape (seats, 3, all cards of the game): draw and discard pile, and played cards."""
    sizes: Array
    """Of the piles, shape (seats, 3)."""
    sides: Array
    """Which of each seat's first two piles is drawn from, 0 or 1; the other is the discard pile."""
    order: Array
    """The random numbers of each seat's draw pile, which is shuffled as far as it is drawn."""
    last: Array
    """The entry of each learner's last purchase; -1 before the first."""
    last_turn: Array
    """Its turn."""
    pending: Array
    """Its reward."""
    choices: Array
    """The entries that a learner chooses from."""
    turns: Array
    """By seat."""
    points: Array
    """By seat, in the end."""
    shares: Array
    """Of the win, by seat, in the end."""


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
_PLAY = 2
"""The pile of played cards."""
_AT_ONCE = 8
"""Cards that are laid down in one step."""

# -- sets of kinds ----------------------------------------------------------------------------------------

# They are words with a bit for each kind: bit 0 is the dearest one, among equals the first.
_RANKED = np.array(sorted(range(KINDS), key=lambda kind: (-CARDS[kind].cost, kind)))
_BITS = 1 << np.argsort(_RANKED)
_MOST = max(card.cost for card in CARDS)
_AFFORDED = np.array([_BITS[coins >= _COSTS].sum() for coins in range(_MOST + 1)])
"""What so many coins buy."""


def _kinds(*kinds: int) -> int:
    return int(_BITS[list(kinds)].sum())


_TREASURES = _kinds(SILVER, GOLD)
_VICTORIES = _kinds(ESTATE, DUCHY, PROVINCE)
_GREEDY = _TREASURES | _VICTORIES | _kinds(SMITHY)
_SMITHY = _TREASURES | _kinds(SMITHY, PROVINCE)
_LATE = _kinds(GOLD, PROVINCE)
_SILVER, _DUCHY, _CHAPEL = _kinds(SILVER), _kinds(DUCHY), _kinds(CHAPEL)

# numba counts who holds an array, which took most of a game's time; without its run time (nrt) it does not, and no
# array can be made. What is called often is inlined, as a call passes each part of each array of a game.
_kernel: Callable[[Kernel], Kernel] = njit(cache=True, nogil=True, _nrt=False)  # type: ignore[call-overload]
_inlined: Callable[[Kernel], Kernel] = njit(  # type: ignore[call-overload]
    cache=True, nogil=True, _nrt=False, forceinline=True
)

# -- random numbers -------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def seeded(seed: int, game: int) -> Array:
    """Return the state of random numbers for a game of a run."""
    state = np.empty(1, np.uint64)
    _seed(state, seed, game)
    return state


@_inlined
def _seed(state: Array, seed: int, game: int) -> None:
    state[0] = np.uint64(seed)
    state[0] = bits(state) + np.uint64(game)
    state[0] = bits(state)


# -- cards ------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _arrays(rules: Rules) -> Game:
    """Return the arrays of a game, before it begins."""
    count = rules.players
    supply = np.zeros(KINDS, np.int64)
    supply[COPPER], supply[SILVER], supply[GOLD] = 60 - 7 * count, 40, 30
    supply[ESTATE] = supply[DUCHY] = supply[PROVINCE] = rules.victory_pile
    supply[CURSE] = rules.curses if rules.curses >= 0 else 10 * (count - 1)
    for kind in range(BASIC, KINDS):
        if rules.kingdom[kind]:
            supply[kind] = rules.kingdom_pile
    room = supply.sum() + 10 + _AT_ONCE
    return Game(
        np.empty(1, np.uint64),
        supply,
        supply.copy(),
        np.zeros((count, KINDS), np.int64),
        np.zeros((count, KINDS), np.int64),
        np.empty((count, 3, room), np.int8),
        np.zeros((count, 3), np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.uint64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.float64),
        np.empty(KINDS + 1, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.float64),
    )


@_inlined
def _put(game: Game, seat: int, pile: int, kind: int) -> None:
    game.piles[seat, pile, game.sizes[seat, pile]] = kind
    game.sizes[seat, pile] += 1


@_inlined
def _shuffle(game: Game, seat: int, count: int) -> None:
    """Shuffle the draw pile, of ``count`` cards: leave it the random numbers, one for each but the last."""
    game.order[seat] = game.state[0]
    game.state[0] += np.uint64(count - 1) * GOLDEN


@_inlined
def _left(game: Game, seat: int) -> int:
    """Return how many cards the draw pile has; if it is empty, the discard pile becomes it."""
    size = game.sizes[seat, game.sides[seat]]
    if size == 0:
        size = game.sizes[seat, 1 - game.sides[seat]]
        if size:
            game.sides[seat] = 1 - game.sides[seat]
            _shuffle(game, seat, size)
    return int(size)


@_inlined
def _draw(game: Game, seat: int, side: int, size: int, order: np.uint64) -> int:
    """Take the top card of a draw pile of ``size`` cards: this step of the shuffle chooses it."""
    at = np.int64(scatter(order) % np.uint64(size))
    kind = game.piles[seat, side, at]
    game.piles[seat, side, at] = game.piles[seat, side, size - 1]
    return int(kind)


@_inlined
def _top(game: Game, seat: int) -> int:
    """Take the top card, or nothing."""
    size = _left(game, seat)
    if size == 0:
        return NOTHING
    side = game.sides[seat]
    game.order[seat] += GOLDEN
    game.sizes[seat, side] = size - 1
    return _draw(game, seat, side, size, game.order[seat])


@_inlined
def _take(game: Game, seat: int, count: int) -> None:
    """Take so many cards to the hand, or all that there are."""
    while count > 0:
        size = _left(game, seat)
        if size == 0:
            return
        side, order = game.sides[seat], game.order[seat]
        now = min(size, count)
        for number in range(now):
            order += GOLDEN
            game.hands[seat, _draw(game, seat, side, size - number, order)] += 1
        game.sizes[seat, side] = size - now
        game.order[seat] = order
        count -= now


@_inlined
def _deal(rules: Rules, game: Game) -> None:
    """Begin a game."""
    for kind in range(KINDS):
        game.supply[kind] = game.first[kind]
    game.owned[:] = 0
    game.hands[:] = 0
    game.turns[:] = 0
    game.last[:] = NOTHING
    for seat in range(rules.players):
        game.sides[seat] = 0
        game.sizes[seat, 0], game.sizes[seat, 1], game.sizes[seat, _PLAY] = 10, 0, 0
        for number in range(10):
            game.piles[seat, 0, number] = COPPER if number < 7 else ESTATE
        game.owned[seat, COPPER], game.owned[seat, ESTATE] = 7, 3
        _shuffle(game, seat, 10)
    for seat in range(rules.players):
        _take(game, seat, 5)


@_inlined
def _lay(game: Game, seat: int, pile: int, kind: int) -> None:
    """Lay a hand's cards of a kind on a pile: some at once without asking how many, as guessing wrong costs more."""
    count = game.hands[seat, kind]
    at = game.sizes[seat, pile]
    for begin in range(0, max(count, 1), _AT_ONCE):
        for number in range(_AT_ONCE):
            game.piles[seat, pile, np.uint64(at + begin) + np.uint64(number)] = kind
    game.sizes[seat, pile] = at + count
    game.hands[seat, kind] = 0


@_inlined
def _holds_action(game: Game, seat: int) -> bool:
    """Return whether a hand has any, of all kinds in one step."""
    found = 0
    for kind in range(BASIC, KINDS):
        found |= game.hands[seat, kind]
    return found != 0


@_inlined
def _clean_up(game: Game, seat: int) -> None:
    """Discard hand and played cards."""
    pile = 1 - game.sides[seat]
    for kind in range(BASIC):
        _lay(game, seat, pile, kind)
    if _holds_action(game, seat):
        for kind in range(BASIC, KINDS):
            if game.hands[seat, kind]:
                _lay(game, seat, pile, kind)
    for number in range(game.sizes[seat, _PLAY]):
        _put(game, seat, pile, game.piles[seat, _PLAY, number])
    game.sizes[seat, _PLAY] = 0


# -- the scripted players -------------------------------------------------------------------------------


@_kernel
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


@_inlined
def _wishes(player: int, game: Game, seat: int, coins: int) -> int:
    """Return the set of kinds that a scripted player would buy."""
    if player >= BIG_MONEY:
        kind = _big_money(player - BIG_MONEY, game.owned[seat], game.supply, coins)
        return 0 if kind == NOTHING else _BITS[kind]
    if player == MONEY:
        return _TREASURES | _VICTORIES if game.owned[seat, GOLD] >= 2 else _TREASURES
    if player == GREEDY:
        return _GREEDY
    if player == BLACKSMITH or player > SMITHS:
        left = _PROVINCES_LEFT if player == BLACKSMITH else player - SMITHS
        return _VICTORIES if game.supply[PROVINCE] < left else _SMITHY
    turn = game.turns[seat] + 1
    if turn <= 2:
        silver = 0 if game.owned[seat, SILVER] else _SILVER
        return silver if game.owned[seat, CHAPEL] else silver | _CHAPEL
    return _LATE | (_SILVER if turn <= _CHAPEL_TURNS else _DUCHY)


@_inlined
def _afforded(kinds: int, coins: int) -> int:
    """Return those of a set that do not cost more."""
    return int(kinds & _AFFORDED[min(coins, _MOST)])


@_inlined
def _dearest(kinds: int) -> int:
    """Return the dearest of a set, or nothing."""
    return int(_RANKED[trailing_zeros(kinds)]) if kinds else NOTHING  # type: ignore[call-arg]  # numba's decorator


@_inlined
def _price(kinds: int) -> int:
    """Return what the dearest kind of a set costs; 0 if there is none."""
    return _COSTS[_dearest(kinds)] if kinds else 0


@_inlined
def _trash(game: Game, seat: int, stock: int, coins: int) -> int:
    """Return what the study's Chapel player trashes: Estates, and Coppers that buy nothing more."""
    if game.hands[seat, ESTATE]:
        return ESTATE
    if game.hands[seat, COPPER]:
        money = coins + _money(game, seat)
        wanted = stock & _wishes(CHAPELLER, game, seat, coins)
        if _price(_afforded(wanted, money)) == _price(_afforded(wanted, money - 1)):
            return COPPER
    return NOTHING


@_inlined
def _money(game: Game, seat: int) -> int:
    """Return the coins of a hand's treasures."""
    hands = game.hands
    return int(hands[seat, COPPER] + 2 * hands[seat, SILVER] + 3 * hands[seat, GOLD])


@_inlined
def _plays(player: int, game: Game, seat: int, stock: int, coins: int, played: int) -> int:
    """Return the action card to play, or nothing."""
    hands = game.hands
    if player in (GREEDY, BLACKSMITH) or player > SMITHS:
        may = player != GREEDY or played == 0
        return SMITHY if hands[seat, SMITHY] and may else NOTHING
    if not _holds_action(game, seat):
        return NOTHING
    if player == LEARNER:
        for kind in (_VILLAGE, _WORKERS, BAZAAR, FESTIVAL):
            if hands[seat, kind]:
                return int(kind)
        if hands[seat, CONSPIRATOR] and played >= 2:
            return CONSPIRATOR
        for kind in (SMITHY, ADVENTURER, MONEYLENDER, _WOODCUTTER, CONSPIRATOR):
            if hands[seat, kind] and (kind != MONEYLENDER or hands[seat, COPPER]):
                return int(kind)
    if hands[seat, CHAPEL] and _trash(game, seat, stock, coins) != NOTHING:
        return CHAPEL
    return NOTHING


# -- the learner ------------------------------------------------------------------------------------------


@_inlined
def _state(features: Array, game: Game, seat: int, players: int) -> int:
    """Return the number of a state; ``features`` has least, bound and radix of each count."""
    number = 0
    for kind in range(KINDS):
        least, bound, radix = features[0, kind], features[1, kind], features[2, kind]
        number += (min(max(game.owned[seat, kind], least), bound) - least) * radix
    number += min(game.turns[seat], features[1, TURN]) * features[2, TURN]
    if features[2, TO_END]:
        left = -(-game.supply[PROVINCE] // players)
        number += min(left, features[1, TO_END]) * features[2, TO_END]
    return int(number)


@_kernel
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


@_kernel
def _learn(values: Array, visits: Array, how: Learning, entry: int, target: float) -> None:
    rate = how.rate
    if how.power > 0:
        rate = max(how.least, rate / float(visits[entry]) ** how.power)
    error = target - float(values[entry])
    values[entry] += np.float32(rate * error)


@_inlined
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


@_inlined
def _choose(
    values: Array, visits: Array, how: Learning, choices: Array, count: int, state: Array
) -> int:
    """Return the entry to take while learning: rare ones first, else epsilon-greedy."""
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


@_inlined
def _ask(
    rules: Rules,
    table: Tables,
    features: Array,
    kinds: Array,
    how: Learning,
    learn: bool,
    game: Game,
    seat: int,
    afforded: int,
) -> int:
    """Return what a learner buys, and let it learn from what it bought before."""
    values, visits, choices, turns = table.values, table.visits, game.choices, game.turns
    actions = kinds.shape[0] + 1
    number = _state(features, game, seat, rules.players)
    first = _row(table, number, actions, learn) * actions
    size = 0
    for number in range(actions - 1):
        choices[size] = first + number
        size += (afforded & _BITS[kinds[number]]) != 0
    choices[size] = first + actions - 1
    size += 1
    if learn:
        if game.last[seat] >= 0:
            later = values[choices[0]]
            for number in range(1, size):
                later = max(later, values[choices[number]])
            discount = 1.0 if game.last_turn[seat] == turns[seat] else how.discount
            target = game.pending[seat] + discount * float(later)
            _learn(values, visits, how, game.last[seat], target)
        entry = _choose(values, visits, how, choices, size, game.state)
        visits[entry] += 1
    else:
        entry = _best(values, choices, size, game.state)
    number = entry - first
    kind = NOTHING if number == actions - 1 else kinds[number]
    game.last[seat], game.last_turn[seat] = entry, turns[seat]
    game.pending[seat] = 0.0 if kind == NOTHING else how.card[kind]
    return int(kind)


# -- games --------------------------------------------------------------------------------------------------


@_inlined
def _chance(kinds: int, state: Array) -> int:
    """Return any kind of a set but the Curse, as ``DominionRandom`` buys."""
    size = 0
    for kind in range(KINDS):
        size += kind != CURSE and (kinds & _BITS[kind]) != 0
    if size:
        skip = draw(state, size)
        for kind in range(KINDS):
            if kind != CURSE and kinds & _BITS[kind]:
                if skip == 0:
                    return kind
                skip -= 1
    return NOTHING


@_inlined
def _search(game: Game, seat: int) -> None:
    """Take cards until two treasures are found; discard the others, as the Adventurer says."""
    found, aside = 0, 0
    end = game.piles.shape[2] - 1
    while found < 2:
        card = _top(game, seat)
        if card == NOTHING:
            break
        if _TREASURE[card]:
            game.hands[seat, card] += 1
            found += 1
        else:
            # Beyond the played cards: what lies aside must not be shuffled in.
            game.piles[seat, _PLAY, end - aside] = card
            aside += 1
    for number in range(aside):
        _put(game, seat, 1 - game.sides[seat], game.piles[seat, _PLAY, end - number])


@_inlined
def _act(rules: Rules, player: int, game: Game, seat: int, stock: int) -> tuple[int, int]:
    """Play action cards; return the buys and the coins of the turn."""
    hands, owned = game.hands, game.owned
    may_play, buys, coins, played = 1, 1, 0, 0
    while may_play > 0:
        kind = _plays(player, game, seat, stock, coins, played)
        if kind == NOTHING:
            break
        hands[seat, kind] -= 1
        _put(game, seat, _PLAY if rules.aside else 1 - game.sides[seat], kind)
        played += 1
        may_play += _ACTIONS[kind] - 1
        buys += _BUYS[kind]
        coins += _COINS[kind]
        cards = _CARDS[kind]
        if kind == CONSPIRATOR and played >= rules.conspirator:
            may_play += 1
            cards += 1
        _take(game, seat, cards)
        if kind == MONEYLENDER and hands[seat, COPPER]:
            hands[seat, COPPER] -= 1
            owned[seat, COPPER] -= 1
            coins += 3
        elif kind == CHAPEL:
            for _ in range(rules.chapel):
                gone = _trash(game, seat, stock, coins)
                if gone == NOTHING:
                    break
                hands[seat, gone] -= 1
                owned[seat, gone] -= 1
        elif kind == ADVENTURER:
            _search(game, seat)
    return buys, coins


@_kernel
def play(
    rules: Rules,
    players: Array,
    table: Tables,
    features: Array,
    kinds: Array,
    how: Learning,
    learn: bool,
    game: Game,
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
        game: its random numbers are seeded; is filled with the game's end.

    Returns:
        Whether it came to its end, instead of being cut short.
    """
    count = rules.players
    supply, owned, turns = game.supply, game.owned, game.turns
    _deal(rules, game)
    stock, empty = 0, 0
    for kind in range(KINDS):
        stock |= _BITS[kind] if supply[kind] > 0 else 0
    first = draw(game.state, count) if rules.random_first else 0
    seat = first
    whole = True

    while True:
        player = players[seat]
        buys, coins = 1, 0
        if player not in (RANDOM, MONEY):
            buys, coins = _act(rules, player, game, seat, stock)
        coins += _money(game, seat)

        while buys > 0:
            afforded = _afforded(stock, coins)
            if player == LEARNER:
                kind = _ask(rules, table, features, kinds, how, learn, game, seat, afforded)
            elif player == RANDOM:
                kind = _chance(afforded, game.state)
            else:
                kind = _dearest(afforded & _wishes(player, game, seat, coins))
            if kind == NOTHING:
                break
            supply[kind] -= 1
            if supply[kind] == 0:
                stock &= ~_BITS[kind]
                empty += 1
            owned[seat, kind] += 1
            _put(game, seat, 1 - game.sides[seat], kind)
            coins -= _COSTS[kind]
            buys -= 1

        _clean_up(game, seat)
        _take(game, seat, 5)
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


@_inlined
def _finish(
    rules: Rules, table: Tables, how: Learning, learn: bool, game: Game, whole: bool
) -> None:
    """Count points, write who won, and let learners learn from it."""
    count = rules.players
    points, shares = game.points, game.shares
    shares[:] = 0.0
    for seat in range(count):
        points[seat] = 0
        for kind in range(KINDS):
            points[seat] += game.owned[seat, kind] * _POINTS[kind]
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
            _learn(table.values, table.visits, how, game.last[seat], target)


@_inlined
def _largest(numbers: Array) -> int:
    most = numbers[0]
    for number in numbers:
        most = max(most, number)
    return int(most)


@_kernel
def _share(rules: Rules, points: Array, turns: Array, shares: Array, state: Array) -> None:
    """Write the winners."""
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


@_kernel
def _games(
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
    game: Game,
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
    game = _arrays(rules)
    return _games(
        rules, players, table, features, kinds, how, learn, seed, first, number, sums, game
    )


@njit(cache=True, nogil=True)
def place(slots: Array, keys: Array) -> None:
    """Fill the slots of a sparse table: row n has ``keys[n]``."""
    mask = slots.shape[0] - 1
    for row in range(keys.shape[0]):
        at = np.int64(scatter(np.uint64(keys[row])) & np.uint64(mask))
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = row
