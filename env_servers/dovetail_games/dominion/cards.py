"""The study's 17 kinds of cards (sections 1.1 and 1.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Card:
    """A kind of card, numbered by its index in ``CARDS``."""

    name: str
    cost: int
    coins: int = 0
    """Value of a treasure, or coins that an action adds."""
    points: int = 0
    cards: int = 0
    """Cards that an action draws."""
    actions: int = 0
    """Actions that an action adds."""
    buys: int = 0
    """Buys that an action adds."""
    action: bool = False

    @property
    def treasure(self) -> bool:
        """True for Copper, Silver and Gold."""
        return self.coins > 0 and not self.action


CARDS = (
    Card("Copper", 0, coins=1),
    Card("Silver", 3, coins=2),
    Card("Gold", 6, coins=3),
    Card("Estate", 2, points=1),
    Card("Duchy", 5, points=3),
    Card("Province", 8, points=6),
    Card("Curse", 0, points=-1),
    Card("Smithy", 4, cards=3, action=True),
    Card("Chapel", 2, action=True),
    Card("Bazaar", 5, cards=1, actions=2, coins=1, action=True),
    Card("Adventurer", 6, action=True),
    Card("Conspirator", 4, coins=2, action=True),
    Card("Festival", 5, actions=2, buys=1, coins=2, action=True),
    Card("Moneylender", 4, action=True),
    Card("Village", 3, cards=1, actions=2, action=True),
    Card("Woodcutter", 3, buys=1, coins=2, action=True),
    Card("Workers village", 4, cards=1, actions=2, buys=1, action=True),
)
KINDS = len(CARDS)
COPPER, SILVER, GOLD, ESTATE, DUCHY, PROVINCE, CURSE = range(7)
SMITHY, CHAPEL, BAZAAR, ADVENTURER, CONSPIRATOR, FESTIVAL, MONEYLENDER = range(7, 14)
BASIC = 7
"""Number of kinds in every game; later ones are kingdom cards."""
KINGDOM = tuple(card.name for card in CARDS[BASIC:])
NUMBER = {card.name: number for number, card in enumerate(CARDS)}
