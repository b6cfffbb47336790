"""The rules of Dominion for two to four players with the study's cards (section 1).

A turn has an action phase, in which action cards are played, and a buy phase, in which all
treasures in hand count and cards are bought into the discard pile. Then everything is discarded and
five cards are drawn. The game ends when the Provinces or any three piles are gone; most points win.

Every decision is one action: ``kind`` plays a card, ``17 + kind`` buys one, ``34 + kind`` trashes
one, and ``PASS`` ends the phase, the trashing or the buying. Players are not asked where they have
no choice: treasures count automatically, and phases without an option are skipped.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dovetail.peer.environments.environment import DovetailError, IllegalAction
from dovetail_games.dominion.cards import (
    ADVENTURER,
    BASIC,
    CARDS,
    CHAPEL,
    CONSPIRATOR,
    COPPER,
    CURSE,
    ESTATE,
    GOLD,
    KINDS,
    KINGDOM,
    MONEYLENDER,
    NUMBER,
    PROVINCE,
    SILVER,
)

PLAY, BUY, TRASH, PASS = 0, KINDS, 2 * KINDS, 3 * KINDS
"""First number of each kind of action; ``PASS`` is a single action."""
ACTIONS = PASS + 1

Phase = Literal["action", "trash", "buy"]
Tie = Literal["fair", "shared", "highest-seat"]


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of Dominion."""

    players: Annotated[
        int, Meta(ge=2, le=4, description="number of players", extra_json_schema={"x-seats": True})
    ] = 2
    kingdom: Annotated[
        tuple[str, ...], Meta(description="the kinds of kingdom cards in the supply, by name")
    ] = KINGDOM
    kingdom_size: Annotated[int, Meta(ge=0, le=10, description="number of kinds in `kingdom`")] = 10
    victory_pile: Annotated[
        int, Meta(ge=1, le=100, description="Estates, Duchies and Provinces in the supply, each")
    ] = 12
    kingdom_pile: Annotated[int, Meta(ge=1, le=100, description="cards of each kingdom pile")] = 10
    curses: Annotated[
        int, Meta(ge=-1, le=100, description="Curses; -1 for ten per player beyond the first")
    ] = -1
    first: Annotated[Literal["random", "seat-0"], Meta(description="who begins")] = "random"
    end: Annotated[
        Literal["turn", "round"],
        Meta(
            description="turn: the game ends at the end of the turn; round: once all have had the "
            "same number of turns"
        ),
    ] = "turn"
    tie: Annotated[
        Tie,
        Meta(
            description="tie-break: fair: the seat with fewer turns, then at random; shared; "
            "highest-seat"
        ),
    ] = "fair"
    played: Annotated[
        Literal["aside", "discard"],
        Meta(description="where played cards lie until the end of the turn"),
    ] = "aside"
    chapel: Annotated[int, Meta(ge=1, le=10, description="cards that a Chapel may trash")] = 4
    conspirator: Annotated[
        int,
        Meta(ge=1, le=10, description="actions played, itself included, that give its bonus"),
    ] = 3
    max_rounds: Annotated[
        int, Meta(ge=1, le=100_000, description="rounds after which a game is truncated")
    ] = 300
    rewards: Annotated[
        Literal["win", "difference", "purchase"],
        Meta(
            description="win: at the end, 1 and shares of -1; difference: at the end, own points "
            "minus the mean of the others'; purchase: the points of each card when it is bought"
        ),
    ] = "win"


@dataclass(slots=True)
class DominionPlayer:
    """A player's cards."""

    draw: list[int]
    """Cards of the deck; the last is the top."""
    hand: list[int] = field(default_factory=lambda: [0] * KINDS)
    """Number of cards of each kind."""
    discard: list[int] = field(default_factory=list)
    in_play: list[int] = field(default_factory=list)
    turns: int = 0

    def counts(self) -> list[int]:
        """Return the number of cards of each kind that the player owns."""
        found = self.hand.copy()
        for pile in (self.draw, self.discard, self.in_play):
            for kind in pile:
                found[kind] += 1
        return found

    def points(self) -> int:
        """Return the player's victory points."""
        return sum(count * CARDS[kind].points for kind, count in enumerate(self.counts()))


class DominionGame:
    """A game in progress.

    Args:
        options: the set-up.
        rng: the source of shuffles and of the starting player.
    """

    def __init__(self, options: Configuration, rng: random.Random) -> None:
        self.options = options
        self.rng = rng
        count = options.players
        self.supply = [0] * KINDS
        self.supply[COPPER] = 60 - 7 * count
        self.supply[SILVER], self.supply[GOLD] = 40, 30
        for kind in (ESTATE, ESTATE + 1, PROVINCE):
            self.supply[kind] = options.victory_pile
        self.supply[CURSE] = 10 * (count - 1) if options.curses < 0 else options.curses
        for name in options.kingdom:
            self.supply[NUMBER[name]] = options.kingdom_pile
        self.piles = [kind for kind in range(KINDS) if self.supply[kind]]
        """Kinds in the initial supply."""
        self.trash = [0] * KINDS
        self.players = []
        for _ in range(count):
            deck = [COPPER] * 7 + [ESTATE] * 3
            rng.shuffle(deck)
            self.players.append(DominionPlayer(deck))
        for player in self.players:
            self._take(player, 5)
        self.first = rng.randrange(count) if options.first == "random" else 0
        self.seat = self.first
        self.over = False
        self.cut = False
        self.bought: int | None = None
        """Kind bought by the last action."""
        self._begin_turn()

    @property
    def player(self) -> DominionPlayer:
        """Player to act."""
        return self.players[self.seat]

    # -- legal actions ----------------------------------------------------------------------------

    def legal(self) -> list[int]:
        """Return the actions of the player to act, in ascending order; empty once the game is
        over."""
        if self.over:
            return []
        hand = self.player.hand
        if self.phase == "action":
            found = [PLAY + kind for kind in range(BASIC, KINDS) if hand[kind]]
        elif self.phase == "trash":
            found = [TRASH + kind for kind in range(KINDS) if hand[kind]]
        else:
            found = [
                BUY + kind
                for kind in range(KINDS)
                if self.supply[kind] and CARDS[kind].cost <= self.coins
            ]
        return [*found, PASS]

    def act(self, action: int) -> None:
        """Apply an action of the player to act, and continue to the next decision.

        Raises:
            IllegalAction: the action is not legal; nothing has changed.
        """
        if self.over:
            raise IllegalAction("the game is over", self.seat)
        if type(action) is not int or action not in self.legal():
            raise IllegalAction(f"{describe(action)} is not legal now", self.seat)
        self.bought = None
        if action == PASS:
            self._pass()
        elif action >= TRASH:
            self._discard_forever(action - TRASH)
        elif action >= BUY:
            self._buy(action - BUY)
        else:
            self._play(action)
        self._skip()

    # -- a turn ------------------------------------------------------------------------------------

    def _begin_turn(self) -> None:
        self.phase: Phase = "action"
        self.actions, self.buys, self.coins = 1, 1, 0
        self.played = 0
        """Number of action cards played this turn."""
        self.to_trash = 0
        self._skip()

    def _skip(self) -> None:
        """Skip phases without a choice."""
        hand = self.player.hand
        if self.phase == "trash" and (self.to_trash == 0 or not any(hand)):
            self.phase = "action"
        if self.phase == "action" and (self.actions == 0 or not any(hand[BASIC:])):
            self._begin_buying()
        if self.phase == "buy" and self.buys == 0:
            self._end_turn()

    def _pass(self) -> None:
        if self.phase == "trash":
            self.to_trash = 0
        elif self.phase == "action":
            self._begin_buying()
        else:
            self.buys = 0

    def _begin_buying(self) -> None:
        self.phase = "buy"
        hand = self.player.hand
        self.coins += sum(count * CARDS[k].coins for k, count in enumerate(hand[:3]))

    def _play(self, kind: int) -> None:
        player, card = self.player, CARDS[kind]
        player.hand[kind] -= 1
        (player.in_play if self.options.played == "aside" else player.discard).append(kind)
        self.played += 1
        self.actions += card.actions - 1
        self.buys += card.buys
        self.coins += card.coins
        self._take(player, card.cards)
        if kind == CONSPIRATOR and self.played >= self.options.conspirator:
            self.actions += 1
            self._take(player, 1)
        elif kind == MONEYLENDER and player.hand[COPPER]:
            self._discard_forever(COPPER)
            self.coins += 3
        elif kind == CHAPEL:
            self.phase = "trash"
            self.to_trash = self.options.chapel
        elif kind == ADVENTURER:
            self._adventure(player)

    def _adventure(self, player: DominionPlayer) -> None:
        """Draw until two treasures were found; discard the other cards."""
        treasures = 0
        aside: list[int] = []
        while treasures < 2 and (kind := self._top(player)) is not None:
            if CARDS[kind].treasure:
                player.hand[kind] += 1
                treasures += 1
            else:
                aside.append(kind)
        player.discard += aside

    def _discard_forever(self, kind: int) -> None:
        self.player.hand[kind] -= 1
        self.trash[kind] += 1
        if self.phase == "trash":
            self.to_trash -= 1

    def _buy(self, kind: int) -> None:
        self.supply[kind] -= 1
        self.player.discard.append(kind)
        self.coins -= CARDS[kind].cost
        self.buys -= 1
        self.bought = kind

    def _end_turn(self) -> None:
        player = self.player
        for kind, count in enumerate(player.hand):
            player.discard += [kind] * count
        player.hand = [0] * KINDS
        player.discard += player.in_play
        player.in_play = []
        self._take(player, 5)
        player.turns += 1
        rounds = min(each.turns for each in self.players)
        full_round = all(each.turns == rounds for each in self.players)
        if self.finished and (self.options.end == "turn" or full_round):
            self.over = True
        elif full_round and rounds >= self.options.max_rounds:
            self.over = self.cut = True
        else:
            self.seat = (self.seat + 1) % len(self.players)
            self._begin_turn()

    @property
    def finished(self) -> bool:
        """True once the Provinces, or three piles, are gone."""
        empty = sum(self.supply[kind] == 0 for kind in self.piles)
        return self.supply[PROVINCE] == 0 or empty >= 3

    def _take(self, player: DominionPlayer, count: int) -> None:
        for _ in range(count):
            kind = self._top(player)
            if kind is None:
                return
            player.hand[kind] += 1

    def _top(self, player: DominionPlayer) -> int | None:
        """Take the top card of the deck, after shuffling in the discard pile if it is empty."""
        if not player.draw:
            if not player.discard:
                return None
            player.draw, player.discard = player.discard, []
            self.rng.shuffle(player.draw)
        return player.draw.pop()

    # -- the end -----------------------------------------------------------------------------------

    def outcome(self, tie: Tie) -> list[float]:
        """Return the score of each seat: 1 for the winner, and ties as ``tie`` says.

        Args:
            tie: ``fair``: fewest turns among those with most points, then at random; ``shared``: an
                equal part for each; ``highest-seat``: the last of them.
        """
        points = [player.points() for player in self.players]
        best = [seat for seat, each in enumerate(points) if each == max(points)]
        if tie == "shared":
            return [1 / len(best) if seat in best else 0.0 for seat in range(len(points))]
        if tie == "fair":
            fewest = min(self.players[seat].turns for seat in best)
            winner = self.rng.choice([s for s in best if self.players[s].turns == fewest])
        else:
            winner = best[-1]
        return [float(seat == winner) for seat in range(len(points))]


ENDS: dict[Phase, str] = {
    "action": "pass (on to buying)",
    "trash": "pass (trash no more)",
    "buy": "pass (end the turn)",
}
"""Meaning of ``PASS`` in each phase."""


def describe(action: object) -> str:
    """Return an action as text."""
    if type(action) is not int or not 0 <= action < ACTIONS:
        return f"{action!r}"
    if action == PASS:
        return "pass"
    verb = ("play", "buy", "trash")[action // KINDS]
    return f"{verb} {CARDS[action % KINDS].name}"


def check(options: Configuration) -> None:
    """Check that the options are consistent.

    Raises:
        DovetailError: they are not; the message names the option.
    """
    unknown = [name for name in options.kingdom if name not in NUMBER or NUMBER[name] < BASIC]
    known = ", ".join(card.name for card in CARDS[BASIC:])
    if unknown:
        raise DovetailError(
            f"environment dominion, option 'kingdom': there is no {unknown[0]!r}; there are {known}"
        )
    if len(set(options.kingdom)) != len(options.kingdom):
        raise DovetailError("environment dominion, option 'kingdom': a kind is named twice")
    if len(options.kingdom) != options.kingdom_size:
        raise DovetailError(
            f"environment dominion, option 'kingdom': it names {len(options.kingdom)} kinds, but "
            f"kingdom_size is {options.kingdom_size}; make them agree"
        )
