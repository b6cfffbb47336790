"""The cards of a compiled game of Dominion: their owners, places and kinds.

A hand is stored as counts by kind. A pile is shuffled lazily, as cards are drawn from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.learning.splitmix import GOLDEN, scatter
from dovetail_games.dominion.cards import (
    BASIC,
    CARDS,
    COPPER,
    CURSE,
    DUCHY,
    ESTATE,
    GOLD,
    KINDS,
    PROVINCE,
    SILVER,
)

Array = NDArray[Any]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# numba counts references to arrays, which took most of a game's time. Without its run time (nrt)
# it does not, but then no array can be allocated. Small functions called often are inlined, since
# a call passes each field of each array of a game.
kernel: Callable[[Kernel], Kernel] = njit(cache=True, nogil=True, _nrt=False)
inlined: Callable[[Kernel], Kernel] = njit(cache=True, nogil=True, _nrt=False, forceinline=True)

NOTHING = -1
"""Number that stands for no kind."""
PLAY = 2
"""Number of the pile of played cards."""
_AT_ONCE = 8
"""Number of cards laid down in one step."""


class PlayOptions(NamedTuple):
    """Options of play, in the form that compiled code takes."""

    players: int
    kingdom: Array
    """Mask of the kinds of cards in the kingdom."""
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


class GameArrays(NamedTuple):
    """Arrays of a game, allocated once and reused for many games."""

    state: Array
    """State of the random numbers."""
    first: Array
    """Initial supply by kind of card."""
    supply: Array
    """Cards left in the supply."""
    owned: Array
    """Cards owned, shape (seats, kinds)."""
    hands: Array
    """Cards in hand, shape (seats, kinds)."""
    piles: Array
    """Draw pile, discard pile and played cards: int8, shape (seats, 3, all cards of the game)."""
    sizes: Array
    """Sizes of the piles, shape (seats, 3)."""
    sides: Array
    """Number of each seat's draw pile, 0 or 1; the other of the two is its discard pile."""
    order: Array
    """Random numbers that order each seat's draw pile, which is shuffled as it is drawn."""
    last: Array
    """Entry of each learner's last purchase; -1 before the first."""
    last_turn: Array
    """Turn of each learner's last purchase."""
    pending: Array
    """Reward of each learner's last purchase."""
    choices: Array
    """Entries among which a learner chooses."""
    turns: Array
    """Number of turns by seat."""
    points: Array
    """Final points by seat."""
    shares: Array
    """Final shares of the win by seat."""


# -- sets of kinds ---------------------------------------------------------------------------------

# A set is a word with a bit for each kind, in descending order of cost from bit 0.
COSTS = np.array([card.cost for card in CARDS])
_RANKED = np.array(sorted(range(KINDS), key=lambda kind: (-CARDS[kind].cost, kind)))
BITS = 1 << np.argsort(_RANKED)
_MOST = max(card.cost for card in CARDS)
_AFFORDED = np.array([BITS[coins >= COSTS].sum() for coins in range(_MOST + 1)])
"""Best purchase for each number of coins."""


@inlined
def affordable(kinds: int, coins: int) -> int:
    """Return the members of a set that cost at most the given coins."""
    return int(kinds & _AFFORDED[min(coins, _MOST)])


@inlined
def dearest(kinds: int) -> int:
    """Return the most expensive member of a set, or nothing."""
    return (
        int(_RANKED[trailing_zeros(kinds)])  # type: ignore[call-arg]  # numba's decorator
        if kinds
        else NOTHING
    )


# -- hands and piles -------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def arrays(rules: PlayOptions) -> GameArrays:
    """Allocate the arrays of a game."""
    count = rules.players
    supply = np.zeros(KINDS, np.int64)
    supply[COPPER], supply[SILVER], supply[GOLD] = 60 - 7 * count, 40, 30
    supply[ESTATE] = supply[DUCHY] = supply[PROVINCE] = rules.victory_pile
    supply[CURSE] = rules.curses if rules.curses >= 0 else 10 * (count - 1)
    for kind in range(BASIC, KINDS):
        if rules.kingdom[kind]:
            supply[kind] = rules.kingdom_pile
    room = supply.sum() + 10 + _AT_ONCE
    return GameArrays(
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


@inlined
def put(game: GameArrays, seat: int, pile: int, kind: int) -> None:
    """Put a card on a pile."""
    game.piles[seat, pile, game.sizes[seat, pile]] = kind
    game.sizes[seat, pile] += 1


@inlined
def _shuffle(game: GameArrays, seat: int, count: int) -> None:
    """Shuffle a draw pile of ``count`` cards. The random numbers that order it are stored, one for
    each card but the last."""
    game.order[seat] = game.state[0]
    game.state[0] += np.uint64(count - 1) * GOLDEN


@inlined
def _left(game: GameArrays, seat: int) -> int:
    """Return the size of the draw pile; if it is empty, turn the discard pile over."""
    size = game.sizes[seat, game.sides[seat]]
    if size == 0:
        size = game.sizes[seat, 1 - game.sides[seat]]
        if size:
            game.sides[seat] = 1 - game.sides[seat]
            _shuffle(game, seat, size)
    return int(size)


@inlined
def _draw(game: GameArrays, seat: int, side: int, size: int, order: np.uint64) -> int:
    """Take the top card of a draw pile of ``size`` cards, which this step of the shuffle
    selects."""
    at = np.int64(scatter(order) % np.uint64(size))
    kind = game.piles[seat, side, at]
    game.piles[seat, side, at] = game.piles[seat, side, size - 1]
    return int(kind)


@inlined
def top(game: GameArrays, seat: int) -> int:
    """Take the top card, or nothing."""
    size = _left(game, seat)
    if size == 0:
        return NOTHING
    side = game.sides[seat]
    game.order[seat] += GOLDEN
    game.sizes[seat, side] = size - 1
    return _draw(game, seat, side, size, game.order[seat])


@inlined
def take(game: GameArrays, seat: int, count: int) -> None:
    """Draw ``count`` cards into the hand, or as many as there are."""
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


@inlined
def deal(rules: PlayOptions, game: GameArrays) -> None:
    """Deal the initial hands."""
    for kind in range(KINDS):
        game.supply[kind] = game.first[kind]
    game.owned[:] = 0
    game.hands[:] = 0
    game.turns[:] = 0
    game.last[:] = NOTHING
    for seat in range(rules.players):
        game.sides[seat] = 0
        game.sizes[seat, 0], game.sizes[seat, 1], game.sizes[seat, PLAY] = 10, 0, 0
        for number in range(10):
            game.piles[seat, 0, number] = COPPER if number < 7 else ESTATE
        game.owned[seat, COPPER], game.owned[seat, ESTATE] = 7, 3
        _shuffle(game, seat, 10)
    for seat in range(rules.players):
        take(game, seat, 5)


@inlined
def _lay(game: GameArrays, seat: int, pile: int, kind: int) -> None:
    """Lay a hand's cards of a kind on a pile. A few are laid without counting, since a mispredicted
    branch costs more."""
    count = game.hands[seat, kind]
    at = game.sizes[seat, pile]
    for begin in range(0, max(count, 1), _AT_ONCE):
        for number in range(_AT_ONCE):
            game.piles[seat, pile, np.uint64(at + begin) + np.uint64(number)] = kind
    game.sizes[seat, pile] = at + count
    game.hands[seat, kind] = 0


@inlined
def holds_action(game: GameArrays, seat: int) -> bool:
    """Return true if a hand has an action card, testing all kinds at once."""
    found = 0
    for kind in range(BASIC, KINDS):
        found |= game.hands[seat, kind]
    return found != 0


@inlined
def coins_in_hand(game: GameArrays, seat: int) -> int:
    """Return the coins of a hand's treasures."""
    hands = game.hands
    return int(hands[seat, COPPER] + 2 * hands[seat, SILVER] + 3 * hands[seat, GOLD])


@inlined
def clean_up(game: GameArrays, seat: int) -> None:
    """Discard the hand and the played cards."""
    pile = 1 - game.sides[seat]
    for kind in range(BASIC):
        _lay(game, seat, pile, kind)
    if holds_action(game, seat):
        for kind in range(BASIC, KINDS):
            if game.hands[seat, kind]:
                _lay(game, seat, pile, kind)
    for number in range(game.sizes[seat, PLAY]):
        put(game, seat, pile, game.piles[seat, PLAY, number])
    game.sizes[seat, PLAY] = 0
