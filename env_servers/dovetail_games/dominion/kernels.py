"""Dominion, compiled: decisions in many slots at once, with the shuffles of ``rules.DominionGame``.

The code follows ``rules`` step by step, since every shuffle depends on the order of the cards
before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail.peer.vector_random import below
from dovetail_games.dominion.cards import (
    ADVENTURER,
    BASIC,
    CARDS,
    CHAPEL,
    CONSPIRATOR,
    COPPER,
    ESTATE,
    KINDS,
    MONEYLENDER,
    PROVINCE,
)
from dovetail_games.dominion.rules import BUY, PASS, TRASH

Array = NDArray[Any]

DRAW, DISCARD, IN_PLAY = range(3)
"""A player's piles; the top of the deck is the last card."""
ACTING, TRASHING, BUYING = range(3)
"""The phases."""
SEAT, PHASE, ACTIONS, BUYS, COINS, PLAYED, TO_TRASH, BOUGHT, ENDED = range(9)
"""Columns of ``Games.turn``; ``BOUGHT`` is ``NOTHING`` or the kind bought by the last action."""
NOTHING = -1
GOES_ON, OVER, CUT = range(3)
"""Values of ``ENDED``."""
FAIR, SHARED, HIGHEST = range(3)
"""Rules for equal points."""


class CompiledRules(NamedTuple):
    """The options that affect play, for compiled code."""

    supply: Array
    """int64, shape (kinds,): the initial supply."""
    random_first: bool
    whole_round: bool
    aside: bool
    chapel: int
    conspirator: int
    max_rounds: int


class Games(NamedTuple):
    """A game in each row; arrays are int64 unless noted."""

    chance: Array
    """uint32: the states of a ``Twisters``."""
    supply: Array
    """Shape (slots, kinds)."""
    trash: Array
    """Shape (slots, kinds)."""
    hands: Array
    """Shape (slots, seats, kinds)."""
    piles: Array
    """int8, shape (slots, seats, 3, cards): the kinds of the cards in deck, discards and play."""
    sizes: Array
    """Shape (slots, seats, 3): the number of cards in each pile."""
    turns: Array
    """Shape (slots, seats)."""
    turn: Array
    """Shape (slots, 9)."""


_COSTS = np.array([card.cost for card in CARDS])
_COINS = np.array([card.coins for card in CARDS])
_POINTS = np.array([card.points for card in CARDS])
_CARDS = np.array([card.cards for card in CARDS])
_ACTIONS = np.array([card.actions for card in CARDS])
_BUYS = np.array([card.buys for card in CARDS])
_TREASURE = np.array([card.treasure for card in CARDS])

# -- cards -----------------------------------------------------------------------------------------


@njit(cache=True)
def _shuffle(cards: Array, size: int, chance: Array) -> None:
    for at in range(size - 1, 0, -1):
        other = below(chance, at + 1)
        cards[at], cards[other] = cards[other], cards[at]


@njit(cache=True)
def _put(games: Games, slot: int, seat: int, pile: int, kind: int) -> None:
    games.piles[slot, seat, pile, games.sizes[slot, seat, pile]] = kind
    games.sizes[slot, seat, pile] += 1


@njit(cache=True)
def _top(games: Games, slot: int, seat: int) -> int:
    """Take the top card of the deck, after shuffling in the discards if it is empty."""
    piles, sizes = games.piles[slot, seat], games.sizes[slot, seat]
    if sizes[DRAW] == 0:
        count = sizes[DISCARD]
        if count == 0:
            return NOTHING
        piles[DRAW, :count] = piles[DISCARD, :count]
        sizes[DRAW], sizes[DISCARD] = count, 0
        _shuffle(piles[DRAW], count, games.chance[slot])
    sizes[DRAW] -= 1
    return int(piles[DRAW, sizes[DRAW]])


@njit(cache=True)
def _take(games: Games, slot: int, seat: int, count: int) -> None:
    for _ in range(count):
        kind = _top(games, slot, seat)
        if kind == NOTHING:
            return
        games.hands[slot, seat, kind] += 1


@njit(cache=True)
def _holds(hand: Array, first: int) -> bool:
    """Return whether a hand has a card of kind ``first`` or higher."""
    for kind in range(first, KINDS):
        if hand[kind]:
            return True
    return False


# -- a turn ----------------------------------------------------------------------------------------


@njit(cache=True)
def _begin_turn(turn: Array) -> None:
    turn[PHASE] = ACTING
    turn[ACTIONS] = turn[BUYS] = 1
    turn[COINS] = turn[PLAYED] = turn[TO_TRASH] = 0


@njit(cache=True)
def _begin_buying(turn: Array, hand: Array) -> None:
    turn[PHASE] = BUYING
    for kind in range(3):
        turn[COINS] += hand[kind] * _COINS[kind]


@njit(cache=True)
def _finished(rules: CompiledRules, supply: Array) -> bool:
    empty = 0
    for kind in range(KINDS):
        empty += rules.supply[kind] > 0 and supply[kind] == 0
    return supply[PROVINCE] == 0 or empty >= 3


@njit(cache=True)
def _end_turn(rules: CompiledRules, games: Games, slot: int) -> None:
    turn, turns = games.turn[slot], games.turns[slot]
    seat = turn[SEAT]
    hand = games.hands[slot, seat]
    for kind in range(KINDS):
        for _ in range(hand[kind]):
            _put(games, slot, seat, DISCARD, kind)
    hand[:] = 0
    for at in range(games.sizes[slot, seat, IN_PLAY]):
        _put(games, slot, seat, DISCARD, games.piles[slot, seat, IN_PLAY, at])
    games.sizes[slot, seat, IN_PLAY] = 0
    _take(games, slot, seat, 5)
    turns[seat] += 1
    full_round = turns.min() == turns.max()
    if _finished(rules, games.supply[slot]) and (full_round or not rules.whole_round):
        turn[ENDED] = OVER
    elif full_round and turns[0] >= rules.max_rounds:
        turn[ENDED] = CUT
    else:
        turn[SEAT] = (seat + 1) % len(turns)
        _begin_turn(turn)


@njit(cache=True)
def _skip(rules: CompiledRules, games: Games, slot: int) -> None:
    """Skip phases without a choice."""
    turn = games.turn[slot]
    while True:
        hand = games.hands[slot, turn[SEAT]]
        if turn[PHASE] == TRASHING and (turn[TO_TRASH] == 0 or not _holds(hand, 0)):
            turn[PHASE] = ACTING
        if turn[PHASE] == ACTING and (turn[ACTIONS] == 0 or not _holds(hand, BASIC)):
            _begin_buying(turn, hand)
        if turn[PHASE] != BUYING or turn[BUYS] > 0:
            return
        _end_turn(rules, games, slot)
        if turn[ENDED] != GOES_ON:
            return


@njit(cache=True)
def _discard_forever(games: Games, slot: int, kind: int) -> None:
    turn = games.turn[slot]
    games.hands[slot, turn[SEAT], kind] -= 1
    games.trash[slot, kind] += 1
    if turn[PHASE] == TRASHING:
        turn[TO_TRASH] -= 1


@njit(cache=True)
def _adventure(games: Games, slot: int, seat: int) -> None:
    """Draw until two treasures were found; discard the other cards."""
    aside = np.empty(games.piles.shape[3], np.int8)
    treasures = count = 0
    while treasures < 2:
        kind = _top(games, slot, seat)
        if kind == NOTHING:
            break
        if _TREASURE[kind]:
            games.hands[slot, seat, kind] += 1
            treasures += 1
        else:
            aside[count] = kind
            count += 1
    for at in range(count):
        _put(games, slot, seat, DISCARD, aside[at])


@njit(cache=True)
def _play(rules: CompiledRules, games: Games, slot: int, kind: int) -> None:
    turn = games.turn[slot]
    seat = turn[SEAT]
    hand = games.hands[slot, seat]
    hand[kind] -= 1
    _put(games, slot, seat, IN_PLAY if rules.aside else DISCARD, kind)
    turn[PLAYED] += 1
    turn[ACTIONS] += _ACTIONS[kind] - 1
    turn[BUYS] += _BUYS[kind]
    turn[COINS] += _COINS[kind]
    _take(games, slot, seat, _CARDS[kind])
    if kind == CONSPIRATOR and turn[PLAYED] >= rules.conspirator:
        turn[ACTIONS] += 1
        _take(games, slot, seat, 1)
    elif kind == MONEYLENDER and hand[COPPER]:
        _discard_forever(games, slot, COPPER)
        turn[COINS] += 3
    elif kind == CHAPEL:
        turn[PHASE] = TRASHING
        turn[TO_TRASH] = rules.chapel
    elif kind == ADVENTURER:
        _adventure(games, slot, seat)


@njit(cache=True)
def _act(rules: CompiledRules, games: Games, slot: int, action: int) -> None:
    turn = games.turn[slot]
    turn[BOUGHT] = NOTHING
    if action == PASS:
        if turn[PHASE] == TRASHING:
            turn[TO_TRASH] = 0
        elif turn[PHASE] == ACTING:
            _begin_buying(turn, games.hands[slot, turn[SEAT]])
        else:
            turn[BUYS] = 0
    elif action >= TRASH:
        _discard_forever(games, slot, action - TRASH)
    elif action >= BUY:
        kind = action - BUY
        games.supply[slot, kind] -= 1
        _put(games, slot, turn[SEAT], DISCARD, kind)
        turn[COINS] -= _COSTS[kind]
        turn[BUYS] -= 1
        turn[BOUGHT] = kind
    else:
        _play(rules, games, slot, action)
    _skip(rules, games, slot)


# -- many games ------------------------------------------------------------------------------------


@njit(cache=True)
def begin_slots(slots: Array, rules: CompiledRules, games: Games) -> None:
    """Start a game in each of some slots, whose generators are already seeded."""
    seats = games.hands.shape[1]
    for slot in slots:
        games.supply[slot] = rules.supply
        games.trash[slot] = 0
        games.hands[slot] = 0
        games.sizes[slot] = 0
        games.turns[slot] = 0
        for seat in range(seats):
            for number in range(10):
                _put(games, slot, seat, DRAW, COPPER if number < 7 else ESTATE)
            _shuffle(games.piles[slot, seat, DRAW], 10, games.chance[slot])
        for seat in range(seats):
            _take(games, slot, seat, 5)
        turn = games.turn[slot]
        turn[SEAT] = below(games.chance[slot], seats) if rules.random_first else 0
        turn[ENDED] = GOES_ON
        turn[BOUGHT] = NOTHING
        _begin_turn(turn)
        _skip(rules, games, slot)


@njit(cache=True)
def act_slots(slots: Array, actions: Array, rules: CompiledRules, games: Games) -> None:
    """Apply a legal action of the player to act in each of some slots."""
    for row in range(len(slots)):
        _act(rules, games, slots[row], actions[row])


@njit(cache=True)
def legal_slots(slots: Array, games: Games, out: Array) -> None:
    """Fill zeroed bit masks: uint8, shape (slots, 7)."""
    for row in range(len(slots)):
        slot = slots[row]
        turn = games.turn[slot]
        hand, supply = games.hands[slot, turn[SEAT]], games.supply[slot]
        out[row, PASS >> 3] |= 1 << (PASS & 7)
        for kind in range(KINDS):
            if turn[PHASE] == BUYING:
                allowed = supply[kind] > 0 and _COSTS[kind] <= turn[COINS]
                action = BUY + kind
            elif turn[PHASE] == TRASHING:
                allowed = hand[kind] > 0
                action = TRASH + kind
            else:
                allowed = kind >= BASIC and hand[kind] > 0
                action = kind
            if allowed:
                out[row, action >> 3] |= 1 << (action & 7)


@njit(cache=True)
def _count(cards: Array, size: int, out: Array) -> None:
    for at in range(size):
        out[cards[at]] += 1


@njit(cache=True)
def observe_slots(
    slots: Array, seats: Array, rules: CompiledRules, games: Games, out: Array
) -> None:
    """Fill zeroed int16 rows with seats' observations, in the order of ``environment.layout``."""
    players = games.hands.shape[1]
    for row in range(len(slots)):
        slot, seat = slots[row], seats[row]
        turn, seen = games.turn[slot], out[row]
        piles, sizes, turns = games.piles[slot], games.sizes[slot], games.turns[slot]
        seen[:KINDS] = games.hands[slot, seat]
        at = KINDS
        for pile in range(3):
            _count(piles[seat, pile], sizes[seat, pile], seen[at : at + KINDS])
            at += KINDS
        for kind in range(KINDS):
            seen[at + kind] = games.supply[slot, kind] if rules.supply[kind] > 0 else -1
        at += KINDS
        seen[at : at + KINDS] = games.trash[slot]
        at += KINDS
        for after in range(1, players):
            other = (seat + after) % players
            hand = games.hands[slot, other]
            for pile in range(3):
                _count(piles[other, pile], sizes[other, pile], seen[at : at + KINDS])
                if pile == DRAW:
                    seen[at : at + KINDS] += hand
                at += KINDS
            seen[at] = hand.sum()
            seen[at + 1] = turns[other]
            at += 2
        if turn[ENDED] == GOES_ON and turn[SEAT] == seat:
            seen[at + turn[PHASE]] = 1
        at += 3
        for column in (ACTIONS, BUYS, COINS, PLAYED, TO_TRASH):
            seen[at] = turn[column]
            at += 1
        seen[at] = turns[seat]
        seen[at + 1] = (turn[SEAT] - seat) % players


@njit(cache=True)
def after(seen: Array, action: int, rules: CompiledRules) -> None:
    """Update the observation of the seat to act for one of its actions, before a card is drawn.

    Skipped phases are only left at the next decision. A seat whose turn ends waits for the next
    one: its cards are in the discards.
    """
    hand, discards, played = seen[:KINDS], seen[2 * KINDS : 3 * KINDS], seen[3 * KINDS : 4 * KINDS]
    supply, trash = seen[4 * KINDS : 5 * KINDS], seen[5 * KINDS : 6 * KINDS]
    phases, turn = seen[-10:-7], seen[-7:]
    actions, buys, coins, count, to_trash, turns, until = range(7)
    if action == PASS:
        if phases[TRASHING]:
            turn[to_trash] = 0
        elif phases[ACTING]:
            phases[ACTING], phases[BUYING] = 0, 1
            for kind in range(3):
                turn[coins] += hand[kind] * _COINS[kind]
        else:
            turn[buys] = 0
    elif action >= TRASH:
        hand[action - TRASH] -= 1
        trash[action - TRASH] += 1
        turn[to_trash] -= 1
    elif action >= BUY:
        kind = action - BUY
        supply[kind] -= 1
        discards[kind] += 1
        turn[coins] -= _COSTS[kind]
        turn[buys] -= 1
    else:
        hand[action] -= 1
        if rules.aside:
            played[action] += 1
        else:
            discards[action] += 1
        turn[count] += 1
        turn[actions] += _ACTIONS[action] - 1
        turn[buys] += _BUYS[action]
        turn[coins] += _COINS[action]
        if action == CONSPIRATOR and turn[count] >= rules.conspirator:
            turn[actions] += 1
        elif action == MONEYLENDER and hand[COPPER]:
            hand[COPPER] -= 1
            trash[COPPER] += 1
            turn[coins] += 3
        elif action == CHAPEL:
            phases[ACTING], phases[TRASHING] = 0, 1
            turn[to_trash] = rules.chapel
    if phases[BUYING] and turn[buys] == 0:
        for kind in range(KINDS):
            discards[kind] += hand[kind] + played[kind]
        hand[:] = 0
        played[:] = 0
        phases[:] = 0
        turn[actions], turn[buys], turn[coins], turn[count], turn[to_trash] = 1, 1, 0, 0, 0
        turn[turns] += 1
        turn[until] = 1


@njit(cache=True)
def after_rows(seen: Array, legal: Array, rules: CompiledRules, out: Array) -> None:
    """Write the observation after each legal action, for each row of observations.

    Args:
        seen: int16, shape (rows, n), the observations of the seats to act.
        legal: bool, shape (rows, actions).
        rules: the rules of the games.
        out: int16, shape (legal actions of all rows, n), written.
    """
    at = 0
    for row in range(seen.shape[0]):
        for action in range(legal.shape[1]):
            if legal[row, action]:
                out[at] = seen[row]
                after(out[at], action, rules)
                at += 1


@njit(cache=True)
def points_slots(slots: Array, games: Games, out: Array) -> None:
    """Fill int64 rows with the victory points of all seats."""
    for row in range(len(slots)):
        slot = slots[row]
        for seat in range(out.shape[1]):
            points = (games.hands[slot, seat] * _POINTS).sum()
            for pile in range(3):
                for at in range(games.sizes[slot, seat, pile]):
                    points += _POINTS[games.piles[slot, seat, pile, at]]
            out[row, seat] = points


@njit(cache=True)
def outcome_slots(slots: Array, points: Array, tie: int, games: Games, out: Array) -> None:
    """Fill float64 rows with the score of each seat, like ``rules.DominionGame.outcome``."""
    players = points.shape[1]
    for row in range(len(slots)):
        turns, most = games.turns[slots[row]], points[row].max()
        best = points[row] == most
        out[row] = 0.0
        if tie == SHARED:
            out[row][best] = 1 / best.sum()
            continue
        if tie == FAIR:
            best &= turns == turns[best].min()
        left = best.sum() - 1
        if tie == FAIR:
            left = below(games.chance[slots[row]], left + 1)
        for seat in range(players):
            if best[seat]:
                if left == 0:
                    out[row, seat] = 1.0
                left -= 1
