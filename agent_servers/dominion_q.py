"""The learner of the Dominion study: tabular Q-learning of what to buy, with forced exploration.

Its states are a few clamped counts, its actions the cards to buy, and which cards it plays is a fixed rule
(sections 2.1 to 2.7).  An entry is updated when the next purchase comes, over what can then
really be bought.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.agent_servers.agent import Agent, Decision, End, Seat
from dovetail.agent_servers.dominion_bots import DominionChapel, Seen
from dovetail.env_servers.dominion.cards import (
    ADVENTURER,
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
from dovetail.env_servers.dominion.rules import BUY, PASS
from dovetail.protocol.errors import DovetailError

Version = Literal[
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "14.0", "14.5", "23-4", "23-2"
]
OTHERS = (
    *("Chapel", "Bazaar", "Adventurer", "Conspirator", "Festival"),
    *("Moneylender", "Village", "Woodcutter", "Workers village"),
)
ACTIONS = ("Copper", "Silver", "Gold", "Estate", "Duchy", "Province", "Curse", "Smithy")
"""What version 0 to 14 may buy, in the order of their numbers; the last number buys nothing."""
LEAST = {"Copper": 7}
"""Where a count's values begin, if not at 0."""


def features(version: Version) -> dict[str, int]:
    """Return the upper bound of each part of a state, the fastest in the index first (table 2.7)."""
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
        "23-4": (12, None, 8, 1, 4, 2),
        "23-2": (19, None, 8, 2, 6, 4),
    }
    turn, to_end, copper, smithy, silver, gold = rows[version]
    found = {"Gold": gold, "Silver": silver, "Smithy": smithy, "Copper": copper}
    bounds = {name: bound for name, bound in found.items() if bound is not None}
    if version.startswith("23"):
        bounds |= dict.fromkeys(OTHERS, 1)
    if to_end is not None:
        bounds["to end"] = to_end
    assert turn is not None
    return bounds | {"turn": turn}


def actions(version: Version) -> tuple[str, ...]:
    """Return the cards that may be bought."""
    return (*ACTIONS, *OTHERS) if version.startswith("23") else ACTIONS


class Coder:
    """Numbers the states of a version, and the entries of its table: mixed radix, purchase fastest."""

    def __init__(self, version: Version) -> None:
        self.bounds = features(version)
        self.kinds = [NUMBER[name] for name in actions(version)]
        """By action number; one more action buys nothing."""
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
                # The study gives no formula: Provinces left, as if each were a turn of some player.
                count = -(-max(0, seen.supply[PROVINCE]) // players)
            else:
                count = seen.owned[NUMBER[name]]
            number += (min(max(count, least), bound) - least) * radix
            radix *= bound - least + 1
        return number


class DominionQParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``DominionQ``; defaults are the study's where it names them."""

    version: Annotated[
        Version,
        Meta(
            description="The study's version of states and actions; 23 has one for 4 and one for 2."
        ),
    ] = "12"
    learning_rate: Annotated[float, Meta(ge=0, le=1, description="Alpha.")] = 0.2
    discount: Annotated[float, Meta(ge=0, le=1, description="Gamma, between turns.")] = 0.95
    epsilon: Annotated[
        float, Meta(ge=0, le=1, description="Share of random purchases while learning.")
    ] = 0.2
    forced: Annotated[
        int,
        Meta(ge=0, description="While learning, purchases tried fewer times than this come first."),
    ] = 10
    reward: Annotated[
        Literal["points", "points-and-win", "environment"],
        Meta(
            description="What a purchase earns, which the study never says: its points; these and 10 "
            "for the game won; or what the environment pays"
        ),
    ] = "points"
    initial: Annotated[
        float, Meta(ge=0, description="First values are drawn between 0 and this.")
    ] = 1.0
    entries: Annotated[
        int, Meta(ge=1, description="The largest table that may be made; 8 bytes an entry.")
    ] = 50_000_000


class _State(Struct, tag_field="agent", tag="dovetail.dominion-q", forbid_unknown_fields=True):
    version: Literal[1]
    parameters: DominionQParameters
    seed: int
    places: bytes
    values: bytes
    visits: bytes
    episodes: int


class _Trail(Struct, gc=False):
    """A seat's last purchase, to be updated when the next one comes."""

    entry: int
    turn: int
    reward: float = 0.0


class DominionQ(Agent):
    """Dominion: learns what to buy by Q-learning with forced exploration (the study's RL player)."""

    name = "dominion-q"
    Parameters = DominionQParameters
    parameters: DominionQParameters
    capacity = 1

    def __init__(self, parameters: DominionQParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._prepare()

    def _prepare(self) -> None:
        given = self.parameters
        self.coder = Coder(given.version)
        if self.coder.entries > given.entries:
            raise DovetailError(
                f"agent dominion-q, option 'entries': version {given.version} needs "
                f"{self.coder.entries:,}, but {given.entries:,} are allowed"
            )
        rng = np.random.default_rng(self.seed)
        self.values: NDArray[np.float32] = rng.random(self.coder.entries, np.float32)
        self.values *= np.float32(given.initial)
        self.visits: NDArray[np.uint32] = np.zeros(self.coder.entries, np.uint32)
        self.episodes = 0
        self._trails: dict[tuple[int, int], _Trail] = {}
        self._chapel = DominionChapel()

    def init(self, seat: Seat) -> None:
        if seat.spec.name != "dominion":
            raise DovetailError(f"dominion-q plays dominion only, not {seat.spec.name}")

    def step(self, decision: Decision) -> int:
        seen = Seen(decision.observation)
        legal = decision.legal or []
        if seen.trashing:
            return self._chapel.trash(seen)
        if not seen.buying:
            return play(seen, legal)
        state = self.coder.state(seen, decision.seat.spec.seats)
        first = state * self.coder.actions
        choices = [
            first + number for number, kind in enumerate(self.coder.kinds) if BUY + kind in legal
        ]
        choices.append(first + self.coder.actions - 1)
        if decision.mode == "evaluate":
            return self._action(self._best(choices, decision.rng) - first)
        key = (decision.episode, decision.seat.seat)
        trail = self._trails.get(key)
        if trail is not None:
            if self.parameters.reward == "environment":
                trail.reward = decision.reward
            later = float(self.values[choices].max())
            # Purchases of one turn follow each other at once.
            discount = 1.0 if trail.turn == seen.turns else self.parameters.discount
            self._learn(trail, trail.reward + discount * later)
        entry = self._choose(choices, decision.rng)
        self.visits[entry] += 1
        action = self._action(entry - first)
        points = 0.0
        if action != PASS and self.parameters.reward != "environment":
            points = float(CARDS[action - BUY].points)
        self._trails[key] = _Trail(entry, seen.turns, points)
        return action

    def end(self, end: End) -> None:
        trail = self._trails.pop((end.episode, end.seat.seat), None)
        if trail is None or end.reason not in ("terminated", "truncated"):
            return
        if self.parameters.reward == "environment":
            trail.reward = end.reward
        elif self.parameters.reward == "points-and-win" and end.outcome is not None:
            trail.reward += 10 * end.outcome[end.seat.seat]
        self._learn(trail, trail.reward)
        self.episodes += 1

    def _learn(self, trail: _Trail, target: float) -> None:
        error = target - float(self.values[trail.entry])
        self.values[trail.entry] += self.parameters.learning_rate * error

    def _action(self, number: int) -> int:
        return PASS if number == self.coder.actions - 1 else BUY + self.coder.kinds[number]

    def _choose(self, choices: list[int], rng: random.Random) -> int:
        """Return the entry to take while learning (section 2.6)."""
        rare = [entry for entry in choices if self.visits[entry] < self.parameters.forced]
        if rare:
            return rng.choice(rare)
        if rng.random() < self.parameters.epsilon:
            return rng.choice(choices)
        return self._best(choices, rng)

    def _best(self, choices: list[int], rng: random.Random) -> int:
        values = self.values[choices].tolist()
        most = max(values)
        best = [entry for entry, value in zip(choices, values, strict=True) if value == most]
        return best[0] if len(best) == 1 else rng.choice(best)

    def save(self) -> bytes:
        """Return the entries that were ever tried, and counters; the others follow from the seed."""
        tried = np.flatnonzero(self.visits)
        return msgspec.msgpack.encode(
            _State(
                1,
                self.parameters,
                self.seed,
                tried.astype("<u4").tobytes(),
                self.values[tried].astype("<f4").tobytes(),
                self.visits[tried].astype("<u4").tobytes(),
                self.episodes,
            )
        )

    def load(self, state: bytes) -> None:
        """Become the agent that was saved."""
        try:
            found = msgspec.msgpack.decode(state, type=_State)
        except (msgspec.DecodeError, ValueError) as error:
            raise DovetailError(f"these bytes are not a saved dominion-q: {error}") from None
        self.parameters, self.seed = found.parameters, found.seed
        self._prepare()
        self.episodes = found.episodes
        try:
            tried = np.frombuffer(found.places, "<u4")
            self.values[tried] = np.frombuffer(found.values, "<f4")
            self.visits[tried] = np.frombuffer(found.visits, "<u4")
        except (ValueError, IndexError):
            raise DovetailError("these bytes are not a saved dominion-q: wrong tables") from None


def play(seen: Seen, legal: Sequence[int]) -> int:
    """Return the card to play, by a fixed rule (section 2.3): what gives actions, then one other."""
    hand = [kind for kind in range(KINDS) if kind in legal]
    for name in ("Village", "Workers village", "Bazaar", "Festival"):
        if NUMBER[name] in hand:
            return NUMBER[name]
    if CONSPIRATOR in hand and seen.played >= 2:
        return CONSPIRATOR
    for kind in (SMITHY, ADVENTURER, MONEYLENDER, NUMBER["Woodcutter"], CONSPIRATOR):
        if kind in hand and (kind != MONEYLENDER or seen.hand[COPPER]):
            return kind
    return CHAPEL if CHAPEL in hand and DominionChapel().trash(seen) != PASS else PASS
