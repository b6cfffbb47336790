"""Dominion as an environment."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.environments.environment import Scene, Spec, Turn, View, sole_action
from dovetail.protocol.scenes import Card as ShownCard
from dovetail.protocol.scenes import Choice, Mark, Seated, Zone
from dovetail.protocol.spaces import Box, Discrete
from dovetail_games.board_game import ArrayGame
from dovetail_games.dominion.cards import BASIC, CARDS, KINDS, NUMBER
from dovetail_games.dominion.kernels import CompiledRules, after_rows
from dovetail_games.dominion.rules import (
    ACTIONS,
    BUY,
    ENDS,
    PASS,
    TRASH,
    Configuration,
    DominionGame,
    check,
    describe,
)

if TYPE_CHECKING:
    from dovetail.peer.environments.vector import VectorEnvironment

PHASES = ("action", "trash", "buy")
PROMPTS = {"action": "Play an action", "trash": "Trash a card", "buy": "Buy a card"}
PALETTE = {
    "card-1": ["#e9c35c", "#b98f22"],
    "card-2": ["#5d9c74", "#4c8a63"],
    "card-3": ["#8f6a9e", "#8d689c"],
    "card-4": ["#8aa3b8", "#6f8ba3"],
}
"""Colours of treasures, victory cards, curses and actions."""
MANY = 1_000
"""Larger than every count in a game."""


class Dominion(ArrayGame[Configuration]):
    """Dominion: buy cards from a common supply to build a deck; most points win.

    Observation: int16, shape (n,), the counts that ``layout`` names: own hand, deck, discards and
    cards in play, supply, trash, the known cards of the others, and the state of the turn.
    Actions: see ``rules``.  Chance: the shuffles and the starting player.
    """

    name = "dominion"
    seat_counts = (2, 3, 4)
    arrays = "dovetail_games.dominion.vector:DominionArrays"

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        self._moved: int | None = None
        """Last action."""
        self._told = ""
        """Last action as text."""
        check(self.configuration)
        self.game = DominionGame(self.configuration, random.Random(0))

    @classmethod
    def vector(cls, configuration: Any, slots: int) -> VectorEnvironment | None:
        if configuration.max_rounds > np.iinfo(np.int16).max:
            return None  # more turns do not fit into the observation; arrays would wrap around
        return super().vector(configuration, slots)

    def init(self) -> Spec:
        options = self.configuration
        count = options.players
        most = float(10 * options.victory_pile + 3 * count)
        kind = options.rewards
        worst = 1.0 if kind == "win" else most  # no regular loss exceeds a forfeit
        limits = (-1.0, 6.0) if kind == "purchase" else (-most - 100, most + 100)
        return Spec(
            name=self.name,
            seats=count,
            observation_spaces=[Box([len(layout(count))], -1, MANY, "int16")],
            action_spaces=[Discrete(ACTIONS)],
            reward_range=(-1.0, 1.0) if kind == "win" else limits,
            perfect_information=False,
            chance=True,
            afterstates=True,
            forfeit=(-worst, worst / (count - 1)),
        )

    def start(self, seed: int) -> Turn:
        self.game = DominionGame(self.configuration, random.Random(seed))
        self._moved, self._told = None, ""
        return self._turn(self.game.seat)

    def step(self, actions: Mapping[int, Any]) -> Turn:
        game = self.game
        seat = game.seat
        action = sole_action(actions, seat, over=game.over)
        told = self._describe(action)
        game.act(action)
        self._moved = action
        self._told = told
        return self._turn(seat)

    def _describe(self, action: int) -> str:
        """Return an action of the current phase as text."""
        return ENDS[self.game.phase] if action == PASS else describe(action)

    def _turn(self, actor: int) -> Turn:
        game, kind = self.game, self.configuration.rewards
        rewards = [0.0] * len(game.players)
        if kind == "purchase" and game.bought is not None:
            rewards[actor] = float(CARDS[game.bought].points)
        if not game.over:
            seat = game.seat
            others = []
            if actor != seat and rewards[actor]:
                others.append(View(actor, self.observation(actor), None, rewards[actor]))
            seen = self.observation(seat)
            return Turn.ask(seat, seen, game.legal(), rewards[seat], others=others)
        outcome = None
        if not game.cut:
            outcome = game.outcome(self.configuration.tie)
            rewards = [a + b for a, b in zip(rewards, self._final(outcome), strict=True)]
        seen_by_all = map(self.observation, range(len(rewards)))
        return Turn.end(seen_by_all, rewards, outcome=outcome, truncated=game.cut)

    def _final(self, outcome: list[float]) -> list[float]:
        count = len(outcome)
        if self.configuration.rewards == "win":
            return [(score * count - 1) / (count - 1) for score in outcome]
        if self.configuration.rewards == "difference":
            points = [player.points() for player in self.game.players]
            return [p - (sum(points) - p) / (count - 1) for p in points]
        return [0.0] * count

    def observation(self, seat: int) -> NDArray[np.int16]:
        """Return a seat's observation: int16, in the order of ``layout``."""
        game = self.game
        me = game.players[seat]
        found = [*me.hand]
        for pile in (me.draw, me.discard, me.in_play):
            found += _counts(pile)
        found += [n if kind in game.piles else -1 for kind, n in enumerate(game.supply)]
        found += game.trash
        for player in game.players[seat + 1 :] + game.players[:seat]:
            hidden = _counts(player.draw)
            found += [a + b for a, b in zip(player.hand, hidden, strict=True)]
            found += _counts(player.discard)
            found += _counts(player.in_play)
            found += [sum(player.hand), player.turns]
        acting = not game.over and game.seat == seat
        phase = [float(acting and game.phase == each) for each in PHASES]
        turn = [game.actions, game.buys, game.coins, game.played, game.to_trash]
        found += [*map(int, phase), *turn, me.turns, (game.seat - seat) % len(game.players)]
        return np.array(found, np.int16)

    def compiled(self) -> CompiledRules:
        """Return the options for compiled code."""
        options = self.configuration
        first = DominionGame(options, random.Random(0))
        return CompiledRules(
            np.array(first.supply),
            options.first == "random",
            options.end == "round",
            options.played == "aside",
            options.chapel,
            options.conspirator,
            options.max_rounds,
        )

    def afterstates(self, seat: int) -> NDArray[np.int16]:
        """Return the observation of the seat to act after each legal action, before a card is
        drawn."""
        legal: NDArray[np.bool_] = np.zeros((1, ACTIONS), bool)
        legal[0, self.game.legal()] = True
        seen = self.observation(seat)[None]
        out: NDArray[np.int16] = np.empty((legal.sum(), seen.shape[1]), np.int16)
        after_rows(seen, legal, self.compiled(), out)
        return out

    def fork(self, seat: int, seed: int) -> Self:
        """Return a copy with the information hidden from a seat drawn again.

        Hidden are the order of its own deck, and the others' hands and decks.
        """
        other = super().fork(seat, seed)
        game = other.game
        rng = game.rng = random.Random(seed)
        for number, player in enumerate(game.players):
            if number != seat:
                size = sum(player.hand)
                unknown = [k for k, count in enumerate(player.hand) for _ in range(count)]
                unknown += player.draw
                unknown.sort()
                rng.shuffle(unknown)
                player.hand = _counts(unknown[:size])
                player.draw = unknown[size:]
            else:
                player.draw.sort()
                rng.shuffle(player.draw)
        return other

    def text(self, seat: int | None = None) -> str:
        """Return supply and turn as text, with the seat's own hand only."""
        game = self.game
        supply = ", ".join(
            f"{CARDS[k].name} {game.supply[k]} ({CARDS[k].cost})" for k in game.piles
        )
        lines = [f"supply: {supply}"]
        for number, player in enumerate(game.players):
            mark = "*" if number == game.seat and not game.over else " "
            cards = f"{sum(player.counts())} cards, {player.turns} turns"
            lines.append(
                f"{mark} player {number + 1}: {cards}; in play: {_names(_counts(player.in_play))}"
            )
        if seat is not None:
            me = game.players[seat]
            lines.append(f"your hand: {_names(me.hand)}")
            lines.append(f"your discards: {_names(_counts(me.discard))}")
        if game.over:
            points = ", ".join(str(player.points()) for player in game.players)
            lines.append(f"the game is over; points by player: {points}")
        else:
            lines.append(
                f"{game.phase} phase of player {game.seat + 1}: "
                f"{game.actions} actions, {game.buys} buys, {game.coins} coins"
            )
            if seat == game.seat:
                lines.append(", ".join(f"{a}: {self._describe(a)}" for a in game.legal()))
        return "\n".join(lines)

    def scene(self, seat: int | None = None) -> Scene:
        """Return the cards; hands are visible to their owner only, and show backs to others."""
        game = self.game
        cards = [
            ShownCard(
                *("basic" if kind < BASIC else "supply", CARDS[kind].name, game.supply[kind]),
                note=_rules(kind),
                corner=str(CARDS[kind].cost),
                kind=_kind(kind),
            )
            for kind in game.piles
        ]
        in_supply = {kind: number for number, kind in enumerate(game.piles)}
        in_hand: dict[int, int] = {}
        for owner, player in enumerate(game.players):
            if owner == seat:
                for kind, count in enumerate(player.hand):
                    if count:
                        in_hand[kind] = len(cards)
                        cards.append(
                            ShownCard(
                                *("hand", CARDS[kind].name, count, owner),
                                note=_rules(kind),
                                kind=_kind(kind),
                            )
                        )
            else:
                cards.append(ShownCard("hand", "", sum(player.hand), owner))
            cards.append(ShownCard("deck", "", len(player.draw), owner))
            for zone, pile in (("discard", player.discard), ("play", player.in_play)):
                for kind, count in enumerate(_counts(pile)):
                    if count:
                        name = CARDS[kind].name
                        cards.append(ShownCard(zone, name, count, owner, kind=_kind(kind)))
        cards += [
            ShownCard("trash", CARDS[kind].name, count, kind=_kind(kind))
            for kind, count in enumerate(game.trash)
            if count
        ]
        choices = []
        if not game.over and seat == game.seat:
            for action in game.legal():
                if action == PASS:
                    choices.append(Choice(action, self._describe(action), key="p"))
                    continue
                at = in_supply[action - BUY] if BUY <= action < TRASH else in_hand[action % KINDS]
                choices.append(Choice(action, describe(action), cards=[at]))
        caption = ""
        if not game.over:
            # Treasures count once the player begins to buy.
            beside = "" if game.phase == "buy" else " beside treasures"
            counts = (game.coins, "coin"), (game.buys, "buy"), (game.actions, "action")
            caption = ", ".join(_count(*each) for each in counts) + beside
        seats = []
        zones = [
            Zone("basic", "Treasure and points"),
            Zone("supply", "Kingdom", show="grid"),
        ]
        for owner, player in enumerate(game.players):
            name = f"Player {owner + 1}"
            points = float(player.points())  # not a secret: all players saw the purchases
            note = f"{sum(player.hand)} in hand, {sum(player.counts())} cards"
            seats.append(Seated(name, points, note))
            whose = "Your" if owner == seat else f"{name}'s"
            zones += [
                Zone("play", f"{whose} cards in play", owner),
                Zone("hand", f"{whose} hand", owner, "fan"),
                Zone("deck", f"{whose} deck", owner, "pile"),
                Zone("discard", f"{whose} discards", owner, "pile"),
            ]
        zones.append(Zone("trash", "Trash", None, "pile"))
        marks, moved = [], self._told
        if self._moved is not None and BUY <= self._moved < TRASH:
            marks = [Mark("last", cards=[in_supply[self._moved - BUY]])]
        return Scene(
            cards=cards,
            choices=choices,
            caption=caption,
            seats=seats,
            marks=marks,
            zones=zones,
            moved=moved,
            prompt="" if game.over else PROMPTS[game.phase],
            reason=self._reason(),
            palette=PALETTE,
        )

    def _reason(self) -> str:
        game = self.game
        if not game.over:
            return ""
        if game.cut:
            return f"{game.options.max_rounds} rounds have been played"
        gone = [CARDS[kind].name for kind in game.piles if not game.supply[kind]]
        best, *others = sorted((player.points() for player in game.players), reverse=True)
        points = f"{_count(best, 'point')} to {' to '.join(map(str, others))}; " if others else ""
        return f"{points}sold out: {', '.join(gone)}"


def layout(players: int) -> list[str]:
    """Return the names of the counts in an observation.

    Piles that are not in the game have -1 in the supply. ``others`` are named by their distance in
    seats.
    """
    names = [
        f"{place}: {card.name}"
        for place in ("hand", "deck", "discard", "in play", "supply", "trash")
        for card in CARDS
    ]
    for after in range(1, players):
        for place in ("hand and deck", "discard", "in play"):
            names += [f"seat +{after}, {place}: {card.name}" for card in CARDS]
        names += [f"seat +{after}, cards in hand", f"seat +{after}, turns"]
    names += [f"phase: {phase}" for phase in PHASES]
    names += ["actions", "buys", "coins", "actions played", "cards to trash", "own turns"]
    return [*names, "seats until the seat to act"]


def _counts(pile: list[int]) -> list[int]:
    found = [0] * KINDS
    for kind in pile:
        found[kind] += 1
    return found


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _kind(kind: int) -> str:
    """Return a card's kind as a word."""
    card = CARDS[kind]
    if card.treasure:
        return "Treasure"
    return "Action" if card.action else "Victory" if card.points > 0 else "Curse"


def _rules(kind: int) -> str:
    """Return a card's effect, for people who do not know it."""
    card = CARDS[kind]
    found = [
        f"+{_count(count, word)}"
        for count, word in (
            *((card.cards, "card"), (card.actions, "action"), (card.buys, "buy")),
            (card.coins, "coin"),
        )
        if count
    ]
    if card.points:
        found.append(f"{card.points:+} point{'s' * (abs(card.points) > 1)}")
    if kind in _SPECIAL:
        found.append(_SPECIAL[kind])
    return "; ".join(found)


_SPECIAL = {
    NUMBER["Chapel"]: "trash cards from your hand",
    NUMBER["Adventurer"]: "draw until you have found two treasures",
    NUMBER["Conspirator"]: "if enough actions were played this turn: +1 card, +1 action",
    NUMBER["Moneylender"]: "trash a Copper for +3 coins",
}


def _names(counts: list[int]) -> str:
    named = [f"{count} {CARDS[kind].name}" for kind, count in enumerate(counts) if count]
    return ", ".join(named) or "nothing"
