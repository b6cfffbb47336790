"""The five scripted players of the Dominion study (section 3), and Big Money with Smithies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision, Needs
from dovetail_games.dominion.cards import (
    CARDS,
    CHAPEL,
    COPPER,
    CURSE,
    DUCHY,
    ESTATE,
    GOLD,
    KINDS,
    PROVINCE,
    SILVER,
    SMITHY,
)
from dovetail_games.dominion.rules import BUY, PASS, TRASH

CHAPEL_TURNS = 15
"""Last turn in which Chapel prefers treasures to Duchies."""


class Seen:
    """An observation of the environment ``dominion``, split into its parts; see its ``layout``."""

    def __init__(self, observation: Any) -> None:
        numbers: list[int] = observation.tolist()
        self.hand = numbers[:KINDS]
        self.owned = [sum(numbers[k : 4 * KINDS : KINDS]) for k in range(KINDS)]
        self.supply = numbers[4 * KINDS : 5 * KINDS]
        tail = numbers[-10:]
        self.acting, self.trashing, self.buying = tail[:3]
        self.coins, self.played, self.turns = tail[5], tail[6], tail[8]


class DominionBot(Agent):
    """A player that buys from a list of wishes."""

    needs = Needs(game="dominion", legal="list")
    capacity = 0

    def step(self, decision: Decision) -> int:
        legal = decision.legal or []
        seen = Seen(decision.observation)
        if seen.buying:
            wanted = [BUY + kind for kind in self.wishes(seen) if BUY + kind in legal]
            return max(wanted, key=lambda action: CARDS[action - BUY].cost, default=PASS)
        if seen.trashing:
            return self.trash(seen)
        return self.play(seen, legal)

    @abstractmethod
    def wishes(self, seen: Seen) -> Iterable[int]:
        """Return the kinds of cards to buy; the most expensive one available is bought."""

    def play(self, seen: Seen, legal: Sequence[int]) -> int:
        """Return the action that plays a card."""
        return PASS

    def trash(self, seen: Seen) -> int:
        """Return the action that trashes a card."""
        return PASS


class DominionRandom(Agent):
    """Dominion: buys any card except a Curse and plays none (the study's Random)."""

    name = "dominion-random"
    needs = DominionBot.needs
    capacity = 0

    def step(self, decision: Decision) -> int:
        cards = [a for a in decision.legal or () if BUY <= a < TRASH and a != BUY + CURSE]
        return decision.rng.choice(cards) if cards else PASS


class MoneyParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``DominionMoney``."""

    golds: Annotated[
        int,
        Meta(
            ge=0,
            le=30,
            description="Buy only treasures with fewer Golds than this in the deck; the "
            "study's text says 2, and its tables are those of 3.",
        ),
    ] = 2


class DominionMoney(DominionBot, Agent[MoneyParameters]):
    """Dominion: buys treasures up to two Golds, then the costliest card (the study's Money)."""

    name = "dominion-money"

    def wishes(self, seen: Seen) -> Iterable[int]:
        if seen.owned[GOLD] < self.parameters.golds:
            return (SILVER, GOLD)
        return (ESTATE, SILVER, DUCHY, GOLD, PROVINCE)


class DominionGreedy(DominionBot):
    """Dominion: buys the costliest card; plays a Smithy as the turn's first action (the study's
    Greedy)."""

    name = "dominion-greedy"

    def wishes(self, seen: Seen) -> Iterable[int]:
        return (ESTATE, SILVER, DUCHY, GOLD, PROVINCE, SMITHY)

    def play(self, seen: Seen, legal: Sequence[int]) -> int:
        return SMITHY if SMITHY in legal and not seen.played else PASS


class BlacksmithParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``DominionBlacksmith``."""

    provinces_left: Annotated[
        int,
        Meta(
            ge=0,
            le=12,
            description="Buy only victory cards with fewer Provinces than this in the supply.",
        ),
    ] = 4


class DominionBlacksmith(DominionBot, Agent[BlacksmithParameters]):
    """Dominion: treasures, Smithies and Provinces, victory cards at the end (the study's
    Blacksmith)."""

    name = "dominion-blacksmith"

    def wishes(self, seen: Seen) -> Iterable[int]:
        if seen.supply[PROVINCE] < self.parameters.provinces_left:
            return (ESTATE, DUCHY, PROVINCE)
        return (SILVER, SMITHY, GOLD, PROVINCE)

    def play(self, seen: Seen, legal: Sequence[int]) -> int:
        return SMITHY if SMITHY in legal else PASS


class BigMoneyParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``DominionBigMoney``."""

    smithies: Annotated[
        int, Meta(ge=0, le=10, description="Maximum number of Smithies, at one per 11 treasures.")
    ] = 1


class DominionBigMoney(DominionBot, Agent[BigMoneyParameters]):
    """Dominion: buys treasures, Provinces and some Smithies (Big Money), the usual yardstick for
    players of the game.

    Source: the purchase list that simulators of the game call Big Money Ultimate, described on the
    page "Big Money" of the Dominion Strategy Wiki.
    """

    name = "dominion-big-money"

    def wishes(self, seen: Seen) -> Iterable[int]:
        treasures = seen.owned[COPPER] + seen.owned[SILVER] + seen.owned[GOLD]
        money = treasures + seen.owned[SILVER] + 2 * seen.owned[GOLD]
        left = seen.supply[PROVINCE]
        smithies = seen.owned[SMITHY]
        listed = (
            (PROVINCE, money > 15),
            (DUCHY, left <= 4),
            (ESTATE, left <= 2),
            (GOLD, True),
            (DUCHY, left <= 6),
            (SMITHY, smithies < self.parameters.smithies and 11 * smithies < treasures),
            (SILVER, True),
        )
        for kind, wanted in listed:
            if wanted and seen.supply[kind] and CARDS[kind].cost <= seen.coins:
                return (kind,)
        return ()

    def play(self, seen: Seen, legal: Sequence[int]) -> int:
        return SMITHY if SMITHY in legal else PASS


class DominionChapel(DominionBot):
    """Dominion: trashes its weak cards with a Chapel (the study's Chapel)."""

    name = "dominion-chapel"

    def wishes(self, seen: Seen) -> Iterable[int]:
        turn = seen.turns + 1
        if turn <= 2:
            return [kind for kind in (SILVER, CHAPEL) if not seen.owned[kind]]
        return (SILVER, GOLD, PROVINCE) if turn <= CHAPEL_TURNS else (DUCHY, GOLD, PROVINCE)

    def play(self, seen: Seen, legal: Sequence[int]) -> int:
        return CHAPEL if CHAPEL in legal and self.trash(seen) != PASS else PASS

    def trash(self, seen: Seen) -> int:
        if seen.hand[ESTATE]:
            return TRASH + ESTATE
        if seen.hand[COPPER]:
            money = seen.coins + sum(seen.hand[k] * CARDS[k].coins for k in range(3))
            if self._buys(seen, money) == self._buys(seen, money - 1):
                return TRASH + COPPER
        return PASS

    def _buys(self, seen: Seen, money: int) -> int:
        wanted = [k for k in self.wishes(seen) if seen.supply[k] > 0 and CARDS[k].cost <= money]
        return max((CARDS[kind].cost for kind in wanted), default=0)
