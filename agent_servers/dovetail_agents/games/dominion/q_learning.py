"""The learner of the Dominion study: tabular Q-learning of purchases, with forced exploration.

States are a few clamped counts and actions the cards to buy; a fixed rule plays cards (sections 2.1
to 2.7). An entry is updated at the next purchase, over the cards that can then be bought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision, End, Needs
from dovetail.peer.registry import registered
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import HIGHEST
from dovetail_agents.games.dominion.bots import DominionChapel, Seen
from dovetail_agents.general.q_learning.learner import Learner, LearnerParameters, Pending
from dovetail_agents.general.q_learning.table import Entries, Table, entries, restore
from dovetail_agents.learning.memory import MIB
from dovetail_agents.learning.saving import Counter, become, pack, unpack
from dovetail_games.dominion.cards import (
    ADVENTURER,
    BASIC,
    CARDS,
    CHAPEL,
    CONSPIRATOR,
    COPPER,
    KINDS,
    MONEYLENDER,
    NUMBER,
    PROVINCE,
    SMITHY,
)
from dovetail_games.dominion.rules import BUY, PASS

# fmt: off
Version = Literal[
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "14.0", "14.5",
    "15-4", "16-4", "17-4", "18-4", "19-4", "20-4", "21-4", "22-4", "23-4",
    "15-2", "16-2", "17-2", "18-2", "19-2", "20-2", "21-2", "22-2", "23-2",
]
# fmt: on
"""Versions of the study; 14.1 to 14.4 are 14.0 with other bounds (option ``bounds``).

The study does not describe versions 11 and 13.
"""
OTHERS = (
    *("Chapel", "Bazaar", "Adventurer", "Conspirator", "Festival"),
    *("Moneylender", "Village", "Woodcutter", "Workers village"),
)
ACTIONS = ("Copper", "Silver", "Gold", "Estate", "Duchy", "Province", "Curse", "Smithy")
"""Cards that versions 0 to 14 may buy, by number; one more number buys nothing."""
LEAST = {"Copper": 7}
"""Lowest value of a count, if not 0."""
Playing = Literal["actions-first", "dearest", "one"]
"""Rule for playing action cards; see ``play``."""


def cards(version: Version) -> tuple[str, ...]:
    """Return the cards that a version adds to the first: 15 adds the Chapel, and each later one
    another card."""
    number = int(version.split("-")[0].split(".")[0])
    return OTHERS[: max(0, number - 14)]


def features(version: Version) -> dict[str, int]:
    """Return the upper bound of each part of a state, the fastest-changing first (table 2.7).

    From version 15 on, the bounds are those that the study prints for version 23, for 4 players and
    for 2.
    """
    rows: dict[str, tuple[int | None, ...]] = {  # turn, to end, Copper, Smithy, Silver, Gold
        "0": (39, 9, None, 5, 9, 11),
        "1": (34, None, 9, 2, 3, 2),
        "2": (34, None, None, 2, 3, 2),
        "3": (34, None, 8, 2, 3, 2),
        "4": (34, None, 8, 1, 3, 2),
        "5": (34, None, 8, None, 3, 2),
        "6": (34, None, 8, 1, 3, 1),
        "7": (34, None, 8, 1, 3, 3),
        "8": (34, None, 8, 1, 2, 2),
        "9": (34, None, 8, 1, 4, 2),
        "10": (34, None, 8, 1, 5, 2),
        "12": (12, None, 8, 1, 4, 2),
        "14.0": (49, None, 11, 4, 9, 9),
        "14.5": (19, None, 8, 2, 6, 4),
        "-4": (12, None, 8, 1, 4, 2),
        "-2": (19, None, 8, 2, 6, 4),
    }
    turn, to_end, copper, smithy, silver, gold = rows[version[2:] if "-" in version else version]
    found = {"Gold": gold, "Silver": silver, "Smithy": smithy, "Copper": copper}
    bounds = {name: bound for name, bound in found.items() if bound is not None}
    bounds |= dict.fromkeys(cards(version), 1)
    if to_end is not None:
        bounds["to end"] = to_end
    assert turn is not None
    return bounds | {"turn": turn}


def actions(version: Version) -> tuple[str, ...]:
    """Return the cards that a version may buy."""
    return (*ACTIONS, *cards(version))


class Coder:
    """Numbers the states of a version and the entries of its table (mixed radix, purchase fastest).

    Args:
        version: the study's version.
        bounds: upper bounds that replace the version's, by the name of the part.
    """

    def __init__(self, version: Version, bounds: Mapping[str, int] | None = None) -> None:
        self.bounds = features(version)
        for name, bound in (bounds or {}).items():
            least = LEAST.get(name, 0)
            if name not in self.bounds or bound < least:
                known = ", ".join(self.bounds)
                raise DovetailError(
                    f"agent dominion-q, option 'bounds': version {version} has no {name!r}; it "
                    f"has {known}"
                    if name not in self.bounds
                    else f"agent dominion-q, option 'bounds': {name} begins at {least}, not {bound}"
                )
            self.bounds[name] = bound
        self.kinds = [NUMBER[name] for name in actions(version)]
        """Kinds of cards by action number; one more action buys nothing."""
        self.actions = len(self.kinds) + 1
        self.states = 1
        for name, bound in self.bounds.items():
            self.states *= bound - LEAST.get(name, 0) + 1
        self.entries = self.states * self.actions

    def state(self, seen: Seen, players: int) -> int:
        """Return the number of a state."""
        number, radix = 0, 1
        for name, bound in self.bounds.items():
            least = LEAST.get(name, 0)
            if name == "turn":
                count = seen.turns
            elif name == "to end":
                # The study gives no formula; use the Provinces left, as if each were one player's
                # turn.
                count = -(-max(0, seen.supply[PROVINCE]) // players)
            else:
                count = seen.owned[NUMBER[name]]
            number += (min(max(count, least), bound) - least) * radix
            radix *= bound - least + 1
        return number


class Reward(Struct, frozen=True):
    """A learner's reward, which the study does not specify."""

    card: tuple[float, ...] = (0.0,) * KINDS
    """Reward for buying a card, by kind."""
    win: float = 0.0
    """Reward at the end, times the player's share of the win."""
    loss: float = 0.0
    """Reward at the end, times the other players' share of the win."""
    points: float = 0.0
    """Reward at the end, times the player's points."""
    margin: float = 0.0
    """Reward at the end, times the lead over the best other player."""

    def end(self, share: float, points: int, other: int) -> float:
        """Return the reward for the end of a game.

        Args:
            share: the player's share of the win, 0 to 1.
            points: the player's points.
            other: the maximum points of another seat.
        """
        won = self.win * share + self.loss * (1.0 - share)
        return won + self.points * float(points) + self.margin * float(points - other)


_POINTS = tuple(float(card.points) for card in CARDS)
_PRICES = tuple(float(card.cost) for card in CARDS)
_PROVINCES = tuple(float(kind == PROVINCE) for kind in range(KINDS))
REWARDS = {
    "points": Reward(_POINTS),
    "points-and-win": Reward(_POINTS, win=10.0),
    "points-and-end": Reward(_POINTS, win=50.0, loss=-50.0),
    "price": Reward(_PRICES),
    "provinces": Reward(_PROVINCES),
    "win": Reward(win=1.0),
    "win-or-loss": Reward(win=1.0, loss=-1.0),
    "score": Reward(points=1.0),
    "margin": Reward(margin=1.0),
}
"""Rewards that section 9.2 of the study's notes compares."""


def reward_named(name: str) -> Reward | None:
    """Return a built-in or registered reward; None for the environment's.

    Raises:
        DovetailError: there is none, or the registered object is not a reward and returns none.
    """
    what = "agent dominion-q, option 'reward'"
    found = registered("reward", name, {**REWARDS, "environment": None}, who=what)
    if found is None:
        return None
    if callable(found):
        found = found()
    if not isinstance(found, Reward) or len(found.card) != KINDS:
        raise DovetailError(f"{what}: {name} must be a Reward with {KINDS} kinds of cards")
    return found


class DominionQParameters(LearnerParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``DominionQ``; defaults follow the study where it gives values."""

    version: Annotated[
        Version,
        Meta(
            description="The study's version of states and actions; from 15 on there is one for 4 "
            "players and one for 2."
        ),
    ] = "12"
    bounds: Annotated[
        dict[str, Annotated[int, Meta(le=10**6)]],
        Meta(description="Upper bounds of parts of the state that replace the version's."),
    ] = msgspec.field(default_factory=dict)
    reward: Annotated[
        str,
        Meta(
            description="The learner's reward, which the study does not give: points (of the card "
            "bought), points-and-win (points, and 10 for winning the game), points-and-end, "
            "price, provinces, win, win-or-loss, score, margin; environment (what it pays); or "
            "the name of a registered Reward, or of a registered function that returns one."
        ),
    ] = "points"
    extra_buys: Annotated[
        Literal["undiscounted", "discounted", "none"],
        Meta(
            description="Further purchases of one turn, which the study does not describe: "
            "decisions without a discount between them, decisions discounted as any others are, "
            "or none."
        ),
    ] = "undiscounted"
    plays: Annotated[
        Playing,
        Meta(
            description="Which action cards are played, which the study does not describe: first "
            "those that give actions, then one other by a fixed order; the dearest in hand that "
            "does something, until none is left to play; or one such card a turn."
        ),
    ] = "actions-first"
    table: Annotated[
        Literal["dense", "sparse"],
        Meta(description="dense: all states, 8 bytes an entry; sparse: only those that were met."),
    ] = "dense"
    initial: Annotated[
        float, Meta(ge=0, le=HIGHEST, description="Initial values are drawn between 0 and this.")
    ] = 1.0


class _Settings(Struct, forbid_unknown_fields=True):
    entries: Entries
    episodes: Counter


class _Purchase(Pending):
    """A seat's latest purchase."""

    turn: int = -1
    """Turn of the purchase; -1 before the first, or if it is not to be learned from."""
    bought: int = -1
    """Turn in which a card was last bought."""
    reward: float = 0.0
    """Reward accumulated since."""


class DominionQ(Agent[DominionQParameters]):
    """Dominion: learns purchases by Q-learning with forced exploration (the study's RL player)."""

    name = "dominion-q"
    Memory = _Purchase
    needs = Needs(game="dominion", legal="list")
    capacity = 1

    def __init__(self, parameters: DominionQParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._prepare()

    def _prepare(self) -> None:
        given = self.parameters
        self.coder = Coder(given.version, given.bounds)
        self.reward = reward_named(given.reward)
        self.table = Table(
            self.name,
            self.coder.actions,
            self.coder.states if given.table == "dense" else None,
            given.table_mib * MIB,
            self.seed,
            0.0,
            given.initial,
            np.float32,
        )
        self.learner = Learner(given, self.table)
        self.episodes = 0
        self._chapel = DominionChapel()

    def step(self, decision: Decision) -> int:
        seen = Seen(decision.observation)
        legal = decision.legal or []
        last: _Purchase = decision.memory
        if self.reward is None:
            last.reward += decision.reward  # any decision may report part of a purchase's reward
        if seen.trashing:
            return self._chapel.trash(seen)
        if not seen.buying:
            return play(seen, legal, self.parameters.plays)
        if self.parameters.extra_buys == "none" and last.bought == seen.turns:
            return PASS
        state = self.coder.state(seen, decision.seat.spec.seats)
        kinds = self.coder.kinds
        columns = [number for number, kind in enumerate(kinds) if BUY + kind in legal]
        columns.append(len(kinds))
        if decision.mode == "evaluate":
            column = self.learner.greedy(state, columns, decision.rng)
        else:
            # Consecutive purchases within a turn.
            at_once = last.turn == seen.turns and self.parameters.extra_buys == "undiscounted"
            discount = 1.0 if at_once else self.parameters.discount
            column = self.learner.step(last, state, columns, last.reward, discount, decision.rng)
            last.turn, last.reward = seen.turns, 0.0
            if self.reward is not None and column < len(kinds):
                last.reward = self.reward.card[kinds[column]]
        last.bought = seen.turns if column < len(kinds) else last.bought
        return self._action(column)

    def end(self, end: End) -> None:
        last: _Purchase = end.memory
        if last.turn < 0 or end.reason not in ("terminated", "truncated"):
            return
        target = last.reward
        if self.reward is None:
            target += end.reward
        elif end.outcome is not None:
            own, other = 0, 0
            if self.reward.points or self.reward.margin:
                own, other = _points(end.observation, end.seat.spec.seats)
            target += self.reward.end(end.outcome[end.seat.seat], own, other)
        self.learner.end(last, target)
        self.episodes += 1

    def _action(self, column: int) -> int:
        return PASS if column == len(self.coder.kinds) else BUY + self.coder.kinds[column]

    def save(self) -> bytes:
        """Return the entries that were tried, and counters; the seed determines the others."""
        settings = _Settings(entries(self.table), self.episodes)
        return pack(self.name, 3, self.parameters, self.seed, settings)

    def load(self, state: bytes) -> None:
        """Restore a saved agent."""
        saved = unpack(self.name, state, 3, DominionQParameters, _Settings)
        other = DominionQ(saved.parameters, saved.seed)
        restore(other.table, saved.settings.entries)
        other.episodes = saved.settings.episodes
        become(self, other)


def _points(observation: Any, seats: int) -> tuple[int, int]:
    """Return a seat's own points and the maximum of the others', from an observation at the end."""
    numbers: list[int] = observation.tolist()
    owned = Seen(observation).owned
    others = []
    for after in range(seats - 1):
        # For each other seat: hand and deck, discards, cards in play, and two more numbers; see
        # ``layout``.
        at = 6 * KINDS + after * (3 * KINDS + 2)
        others.append([sum(numbers[at + k : at + 3 * KINDS : KINDS]) for k in range(KINDS)])
    worth = [
        sum(n * card.points for n, card in zip(each, CARDS, strict=True))
        for each in (owned, *others)
    ]
    return worth[0], max(worth[1:])


def play(seen: Seen, legal: Sequence[int], rule: Playing = "actions-first") -> int:
    """Return the action card to play by a fixed rule, among those that have an effect.

    Args:
        seen: the observation.
        legal: the legal actions.
        rule: ``actions-first``: first a card that gives actions, then one other (section 2.3);
            ``dearest``: the most expensive, ties by kind; ``one``: the most expensive, then no
            more.
    """
    hand = [kind for kind in range(BASIC, KINDS) if kind in legal and _works(kind, seen)]
    if rule != "actions-first":
        if rule == "one" and seen.played:
            return PASS
        return max(hand, key=lambda kind: CARDS[kind].cost, default=PASS)
    for name in ("Village", "Workers village", "Bazaar", "Festival"):
        if NUMBER[name] in hand:
            return NUMBER[name]
    if CONSPIRATOR in hand and seen.played >= 2:
        return CONSPIRATOR
    for kind in (SMITHY, ADVENTURER, MONEYLENDER, NUMBER["Woodcutter"], CONSPIRATOR, CHAPEL):
        if kind in hand:
            return kind
    return PASS


def _works(kind: int, seen: Seen) -> bool:
    """Return whether a card would have an effect: a Moneylender needs a Copper, a Chapel a card to
    trash."""
    if kind == MONEYLENDER:
        return seen.hand[COPPER] > 0
    return kind != CHAPEL or DominionChapel().trash(seen) != PASS
