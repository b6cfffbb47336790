"""Players of compiled games of Dominion: rules for action cards, and scripted purchases."""

from __future__ import annotations

from dovetail_agents.learning.splitmix import draw
from dovetail_games.dominion.cards import (
    ADVENTURER,
    BASIC,
    BAZAAR,
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
from dovetail_studies.dominion.cards import (
    BITS,
    COSTS,
    NOTHING,
    Array,
    GameArrays,
    affordable,
    coins_in_hand,
    dearest,
    holds_action,
    inlined,
    kernel,
)

RANDOM, MONEY, GREEDY, BLACKSMITH, CHAPELLER, LEARNER = range(6)
"""Numbers of the players."""
ACTIONS_FIRST, DEAREST, ONE = range(3)
"""Numbers of the rules by which a learner plays action cards."""
MONEYS = 8
"""Base number of the Money players. With n added, the player buys only treasures until it has n
Golds."""
SMITHS = 16
"""Base number of the Blacksmiths. With n added, the player turns to victory cards when fewer than n
Provinces are left."""
BIG_MONEY = 32
"""Base number of the Big Money players. With n added, the player owns up to n Smithies."""

_VILLAGE, _WORKERS, _WOODCUTTER = (
    NUMBER["Village"],
    NUMBER["Workers village"],
    NUMBER["Woodcutter"],
)
_GOLDS = 2
_PROVINCES_LEFT = 4
_CHAPEL_TURNS = 15


def _kinds(*kinds: int) -> int:
    return int(BITS[list(kinds)].sum())


_TREASURES = _kinds(SILVER, GOLD)
_VICTORIES = _kinds(ESTATE, DUCHY, PROVINCE)
_GREEDY = _TREASURES | _VICTORIES | _kinds(SMITHY)
_SMITHY = _TREASURES | _kinds(SMITHY, PROVINCE)
_LATE = _kinds(GOLD, PROVINCE)
_SILVER, _DUCHY, _CHAPEL = _kinds(SILVER), _kinds(DUCHY), _kinds(CHAPEL)

# -- buying ----------------------------------------------------------------------------------------


@inlined
def chance(kinds: int, state: Array) -> int:
    """Return a random kind of a set except the Curse, as ``DominionRandom`` buys."""
    size = 0
    for kind in range(KINDS):
        size += kind != CURSE and (kinds & BITS[kind]) != 0
    if size:
        skip = draw(state, size)
        for kind in range(KINDS):
            if kind != CURSE and kinds & BITS[kind]:
                if skip == 0:
                    return kind
                skip -= 1
    return NOTHING


@kernel
def _big_money(smithies: int, owned: Array, supply: Array, coins: int) -> int:
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


@inlined
def wishes(player: int, game: GameArrays, seat: int, coins: int) -> int:
    """Return the set of kinds that a scripted player is willing to buy."""
    if player >= BIG_MONEY:
        kind = _big_money(player - BIG_MONEY, game.owned[seat], game.supply, coins)
        return 0 if kind == NOTHING else BITS[kind]
    if player == MONEY or MONEYS < player < SMITHS:
        golds = _GOLDS if player == MONEY else player - MONEYS
        return _TREASURES | _VICTORIES if game.owned[seat, GOLD] >= golds else _TREASURES
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


# -- playing action cards --------------------------------------------------------------------------


@inlined
def _price(kinds: int) -> int:
    return COSTS[dearest(kinds)] if kinds else 0


@inlined
def trash(game: GameArrays, seat: int, stock: int, coins: int) -> int:
    """Return the cards that the study's Chapel player trashes.

    They are Estates, and Coppers not needed for a purchase.
    """
    if game.hands[seat, ESTATE]:
        return ESTATE
    if game.hands[seat, COPPER]:
        money = coins + coins_in_hand(game, seat)
        wanted = stock & wishes(CHAPELLER, game, seat, coins)
        if _price(affordable(wanted, money)) == _price(affordable(wanted, money - 1)):
            return COPPER
    return NOTHING


@inlined
def _works(kind: int, game: GameArrays, seat: int, stock: int, coins: int) -> bool:
    """Return true if a card in hand would have an effect."""
    if kind == MONEYLENDER:
        return bool(game.hands[seat, COPPER] > 0)
    return kind != CHAPEL or trash(game, seat, stock, coins) != NOTHING


@inlined
def _dearest_in_hand(game: GameArrays, seat: int, stock: int, coins: int) -> int:
    """Return the most expensive action card in hand that would have an effect, or nothing."""
    kinds = 0
    for kind in range(BASIC, KINDS):
        if game.hands[seat, kind] and _works(kind, game, seat, stock, coins):
            kinds |= BITS[kind]
    return dearest(kinds)


@inlined
def plays(
    player: int, rule: int, game: GameArrays, seat: int, stock: int, coins: int, played: int
) -> int:
    """Return the action card to play, or nothing; ``rule`` is the learner's."""
    hands = game.hands
    if player in (GREEDY, BLACKSMITH) or player > SMITHS:
        may = player != GREEDY or played == 0
        return SMITHY if hands[seat, SMITHY] and may else NOTHING
    if not holds_action(game, seat):
        return NOTHING
    if player == LEARNER and rule != ACTIONS_FIRST:
        if rule == ONE and played > 0:
            return NOTHING
        return _dearest_in_hand(game, seat, stock, coins)
    if player == LEARNER:
        for kind in (_VILLAGE, _WORKERS, BAZAAR, FESTIVAL):
            if hands[seat, kind]:
                return int(kind)
        if hands[seat, CONSPIRATOR] and played >= 2:
            return CONSPIRATOR
        for kind in (SMITHY, ADVENTURER, MONEYLENDER, _WOODCUTTER, CONSPIRATOR):
            if hands[seat, kind] and (kind != MONEYLENDER or hands[seat, COPPER]):
                return int(kind)
    if hands[seat, CHAPEL] and trash(game, seat, stock, coins) != NOTHING:
        return CHAPEL
    return NOTHING
