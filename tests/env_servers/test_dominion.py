"""Dominion: cards against the study's tables, invariants, what is hidden, and the bots' tables."""

from __future__ import annotations

import copy
import random
from typing import Any, ClassVar

import numpy as np
import pytest

from dovetail import DovetailError, InProcess
from dovetail.peer import options
from dovetail.peer.environments.environment import IllegalAction
from dovetail_agents.games.dominion import bots
from dovetail_agents.general.td import TDBatch
from dovetail_experiments.statistics import mean, wilson
from dovetail_games.dominion import CARDS, Configuration, Dominion, DominionGame
from dovetail_games.dominion.cards import (
    ADVENTURER,
    BASIC,
    CHAPEL,
    CONSPIRATOR,
    COPPER,
    DUCHY,
    ESTATE,
    GOLD,
    KINDS,
    MONEYLENDER,
    NUMBER,
    PROVINCE,
    SILVER,
    SMITHY,
)
from dovetail_games.dominion.environment import layout
from dovetail_games.dominion.rules import BUY, PASS, TRASH, describe

ALL = tuple(card.name for card in CARDS if NUMBER[card.name] >= BASIC)
VILLAGE, FESTIVAL, BAZAAR = NUMBER["Village"], NUMBER["Festival"], NUMBER["Bazaar"]
WOODCUTTER, WORKERS = NUMBER["Woodcutter"], NUMBER["Workers village"]


def rigged(hand: list[int], draw: list[int] | None = None, **given: Any) -> DominionGame:
    """A game whose first player has these cards; the deck's top is the list's end."""
    game = DominionGame(Configuration(first="seat-0", **given), random.Random(1))
    player = game.player
    player.hand = [hand.count(kind) for kind in range(KINDS)]
    player.draw = draw if draw is not None else [COPPER] * 10
    player.discard = []
    game._begin_turn()
    return game


def test_the_cards_are_the_studys() -> None:
    """Tables 3.1.1 (with 1, 3, 6 points) and 5.2.1."""
    cost = {card.name: card.cost for card in CARDS}
    assert cost == {
        **{"Copper": 0, "Silver": 3, "Gold": 6, "Estate": 2, "Duchy": 5, "Province": 8, "Curse": 0},
        **{"Smithy": 4, "Chapel": 2, "Bazaar": 5, "Adventurer": 6, "Conspirator": 4},
        **{"Festival": 5, "Moneylender": 4, "Village": 3, "Woodcutter": 3, "Workers village": 4},
    }
    points = {card.name: card.points for card in CARDS if card.points}
    assert points == {"Estate": 1, "Duchy": 3, "Province": 6, "Curse": -1}


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_set_up_is_the_studys(players: int) -> None:
    game = DominionGame(Configuration(players), random.Random(1))
    assert game.supply[:7] == [60 - 7 * players, 40, 30, 12, 12, 12, 10 * (players - 1)]
    assert game.supply[7:] == [10] * 10
    for player in game.players:
        counts = player.counts()
        assert (counts[COPPER], counts[ESTATE], sum(counts)) == (7, 3, 10)
        assert sum(player.hand) == 5
        assert player.points() == 3


@pytest.mark.parametrize(
    ("card", "cards", "actions", "buys", "coins"),
    [
        (SMITHY, 3, 0, 1, 0),
        (BAZAAR, 1, 2, 1, 1),
        (FESTIVAL, 0, 2, 2, 2),
        (VILLAGE, 1, 2, 1, 0),
        (WOODCUTTER, 0, 0, 2, 2),
        (WORKERS, 1, 2, 2, 0),
        (CONSPIRATOR, 0, 0, 1, 2),
    ],
)
def test_what_an_action_gives(card: int, cards: int, actions: int, buys: int, coins: int) -> None:
    spare = SMITHY  # keeps the action phase open while actions are left
    game = rigged([card, spare, ESTATE])
    game.act(card)
    drawn = sum(game.player.hand) - 2
    money = game.player.hand[COPPER] if game.phase == "buy" else 0
    assert (drawn, game.actions, game.buys, game.coins - money) == (cards, actions, buys, coins)
    assert game.player.in_play == [card]


def test_chapel_trashes_up_to_four_and_may_stop() -> None:
    game = rigged([CHAPEL, ESTATE, ESTATE, ESTATE, COPPER, COPPER])
    game.act(CHAPEL)
    for _ in range(3):
        game.act(TRASH + ESTATE)
    assert game.phase == "trash"
    game.act(TRASH + COPPER)
    assert (game.phase, game.trash[ESTATE], game.trash[COPPER]) == ("buy", 3, 1)
    assert game.coins == 1
    game = rigged([CHAPEL, ESTATE])
    game.act(CHAPEL)
    game.act(PASS)
    assert (game.phase, sum(game.trash)) == ("buy", 0)


def test_adventurer_draws_until_two_treasures_and_discards_the_rest() -> None:
    game = rigged([ADVENTURER], [ESTATE, GOLD, DUCHY, SILVER, ESTATE])
    game.act(ADVENTURER)
    assert (game.player.hand[SILVER], game.player.hand[GOLD]) == (1, 1)
    assert sorted(game.player.discard) == [ESTATE, DUCHY]
    assert game.player.draw == [ESTATE]
    assert game.coins == 5
    game = rigged([ADVENTURER], [ESTATE])
    game.act(ADVENTURER)
    assert game.player.discard == [ESTATE]


def test_conspirator_counts_itself_as_the_third() -> None:
    game = rigged([VILLAGE, VILLAGE, CONSPIRATOR, SMITHY])
    game.act(VILLAGE)
    game.act(VILLAGE)
    actions, hand = game.actions, sum(game.player.hand)
    game.act(CONSPIRATOR)
    assert (game.actions, sum(game.player.hand)) == (actions, hand)  # one played, one drawn


def test_moneylender_needs_a_copper() -> None:
    game = rigged([MONEYLENDER, COPPER])
    game.act(MONEYLENDER)
    assert (game.coins, game.trash[COPPER]) == (3, 1)
    game = rigged([MONEYLENDER, ESTATE])
    game.act(MONEYLENDER)
    assert (game.coins, sum(game.trash)) == (0, 0)


def test_buying_and_the_end_of_a_turn() -> None:
    game = rigged([WOODCUTTER, GOLD, SILVER])
    me = game.player
    game.act(WOODCUTTER)
    assert (game.coins, game.buys) == (7, 2)
    game.act(BUY + DUCHY)
    assert (game.coins, game.buys, game.seat, me.discard) == (2, 1, 0, [DUCHY])
    game.act(BUY + ESTATE)
    assert game.seat == 1
    assert sorted(me.discard) == sorted([DUCHY, ESTATE, WOODCUTTER, GOLD, SILVER])
    assert sum(me.hand) == 5
    assert me.turns == 1


@pytest.mark.parametrize("piles", [[PROVINCE], [ESTATE, SMITHY, COPPER]])
@pytest.mark.parametrize("end", ["turn", "round"])
def test_the_game_ends_with_the_provinces_or_three_piles(piles: list[int], end: Any) -> None:
    game = rigged([GOLD, GOLD, SILVER], end=end)
    for kind in piles:
        game.supply[kind] = 0
    game.act(PASS)
    assert game.over == (end == "turn")
    if not game.over:
        game.act(PASS)
        assert game.over


def test_ties() -> None:
    game = DominionGame(Configuration(), random.Random(1))
    assert game.outcome("shared") == [0.5, 0.5]
    assert game.outcome("highest-seat") == [0.0, 1.0]
    game.players[0].turns = 1
    assert game.outcome("fair") == [0.0, 1.0]
    game.players[1].turns = 1
    assert {tuple(game.outcome("fair")) for _ in range(50)} == {(1.0, 0.0), (0.0, 1.0)}


class Slow:
    """The rules again, from the study's section 1, with lists of names and no counts.

    It shares the shuffles (the same generator, asked in the same order) and nothing else.
    """

    COST: ClassVar[dict[str, int]] = {
        **{"Copper": 0, "Silver": 3, "Gold": 6, "Estate": 2, "Duchy": 5, "Province": 8, "Curse": 0},
        **{"Smithy": 4, "Chapel": 2, "Bazaar": 5, "Adventurer": 6, "Conspirator": 4},
        **{"Festival": 5, "Moneylender": 4, "Village": 3, "Woodcutter": 3, "Workers village": 4},
    }
    GIVES: ClassVar[dict[str, tuple[int, int, int, int]]] = {  # cards, actions, buys, coins
        **{"Smithy": (3, 0, 0, 0), "Bazaar": (1, 2, 0, 1), "Conspirator": (0, 0, 0, 2)},
        **{"Festival": (0, 2, 1, 2), "Village": (1, 2, 0, 0), "Woodcutter": (0, 0, 1, 2)},
        **{"Workers village": (1, 2, 1, 0)},
    }
    WORTH: ClassVar[dict[str, int]] = {"Copper": 1, "Silver": 2, "Gold": 3}
    POINTS: ClassVar[dict[str, int]] = {"Estate": 1, "Duchy": 3, "Province": 6, "Curse": -1}

    def __init__(self, players: int, rng: random.Random) -> None:
        self.rng = rng
        self.order = list(self.COST)
        self.supply = dict.fromkeys(self.order[7:], 10)
        self.supply |= {"Copper": 60 - 7 * players, "Silver": 40, "Gold": 30}
        self.supply |= {"Estate": 12, "Duchy": 12, "Province": 12, "Curse": 10 * (players - 1)}
        self.decks, self.discards = [], [[] for _ in range(players)]  # type: ignore[var-annotated]
        for _ in range(players):
            deck = ["Copper"] * 7 + ["Estate"] * 3
            rng.shuffle(deck)
            self.decks.append(deck)
        self.hands: list[list[str]] = [[] for _ in range(players)]
        for player in range(players):
            self.draw(player, 5)
        self.player = rng.randrange(players)
        self.over = False
        self.begin()

    def next_card(self, player: int) -> str | None:
        if not self.decks[player]:
            self.decks[player], self.discards[player] = self.discards[player], []
            if self.decks[player]:
                self.rng.shuffle(self.decks[player])
        return self.decks[player].pop() if self.decks[player] else None

    def draw(self, player: int, count: int) -> None:
        for _ in range(count):
            card = self.next_card(player)
            if card is not None:
                self.hands[player].append(card)

    def begin(self) -> None:
        self.phase, self.actions, self.buys, self.coins = "action", 1, 1, 0
        self.table: list[str] = []
        self.trashes = 0

    def choices(self) -> set[str]:
        """Return the player's choices; phases without a choice are left first."""
        hand = self.hands[self.player]
        while True:
            if self.phase == "chapel":
                if self.trashes < 4 and hand:
                    return {f"trash {card}" for card in hand} | {"pass"}
                self.phase = "action"
            if self.phase == "action":
                cards = {card for card in hand if card in self.order[7:]}
                if self.actions and cards:
                    return {f"play {card}" for card in cards} | {"pass"}
                self.to_buying()
            if self.buys:
                return {
                    f"buy {card}"
                    for card, left in self.supply.items()
                    if left and self.COST[card] <= self.coins
                } | {"pass"}
            self.clean_up()
            if self.over:
                return set()
            hand = self.hands[self.player]

    def to_buying(self) -> None:
        self.phase = "buy"
        self.coins += sum(self.WORTH.get(card, 0) for card in self.hands[self.player])

    def do(self, choice: str) -> None:
        self.choices()
        hand, (verb, _, card) = self.hands[self.player], choice.partition(" ")
        if choice == "pass":
            if self.phase == "chapel":
                self.phase = "action"
            elif self.phase == "action":
                self.to_buying()
            else:
                self.buys = 0
        elif verb == "trash":
            hand.remove(card)
            self.trashes += 1
        elif verb == "buy":
            self.supply[card] -= 1
            self.discards[self.player].append(card)
            self.coins -= self.COST[card]
            self.buys -= 1
        else:
            self.play(card)

    def play(self, card: str) -> None:
        hand = self.hands[self.player]
        hand.remove(card)
        self.table.append(card)
        self.actions -= 1
        cards, actions, buys, coins = self.GIVES.get(card, (0, 0, 0, 0))
        self.actions, self.buys, self.coins = (
            self.actions + actions,
            self.buys + buys,
            self.coins + coins,
        )
        self.draw(self.player, cards)
        if card == "Conspirator" and len(self.table) >= 3:
            self.actions += 1
            self.draw(self.player, 1)
        if card == "Moneylender" and "Copper" in hand:
            hand.remove("Copper")
            self.coins += 3
        if card == "Chapel":
            self.phase, self.trashes = "chapel", 0
        if card == "Adventurer":
            found, others = 0, []
            while found < 2:
                drawn = self.next_card(self.player)
                if drawn is None:
                    break
                if drawn in self.WORTH:
                    hand.append(drawn)
                    found += 1
                else:
                    others.append(drawn)
            self.discards[self.player] += others

    def clean_up(self) -> None:
        me = self.player
        # Hands are put down in the order of the table of cards, then what was played.
        self.discards[me] += sorted(self.hands[me], key=self.order.index) + self.table
        self.hands[me] = []
        self.draw(me, 5)
        if self.supply["Province"] == 0 or list(self.supply.values()).count(0) >= 3:
            self.over = True
            return
        self.player = (me + 1) % len(self.hands)
        self.begin()

    def points(self, player: int) -> int:
        cards = self.hands[player] + self.decks[player] + self.discards[player]
        return sum(self.POINTS.get(card, 0) for card in cards)


@pytest.mark.parametrize("seed", range(25))
def test_it_agrees_with_slow_rules_decision_by_decision(seed: int) -> None:
    """The same choices, supply, hands and coins at every decision, and the same points at the
    end."""
    players = 2 + seed % 3
    game, slow = (
        DominionGame(Configuration(players), random.Random(seed)),
        Slow(players, random.Random(seed)),
    )
    rng = random.Random(seed)
    while not game.over:
        choices = slow.choices()
        assert {describe(action) for action in game.legal()} == choices
        assert (game.seat, game.actions, game.buys, game.coins) == (
            slow.player,
            slow.actions,
            slow.buys,
            slow.coins,
        )
        for player, hand in zip(game.players, slow.hands, strict=True):
            assert player.hand == [hand.count(card.name) for card in CARDS]
        assert {CARDS[k].name: game.supply[k] for k in range(KINDS)} == slow.supply
        # Seldom pass, so that every card is played; buy dear cards, so that games end.
        action = rng.choice(game.legal())
        if action == PASS or (action >= BUY and rng.random() < 0.5):
            action = max((a for a in game.legal() if a != PASS), default=PASS)
        slow.do(describe(action))
        game.act(action)
    assert slow.choices() == set()
    assert slow.over
    assert [player.points() for player in game.players] == [
        slow.points(player) for player in range(players)
    ]


def invariants(game: DominionGame, total: list[int]) -> None:
    found = [a + b for a, b in zip(game.supply, game.trash, strict=True)]
    for player in game.players:
        found = [a + b for a, b in zip(found, player.counts(), strict=True)]
    assert found == total
    assert min(game.actions, game.buys, game.coins, game.to_trash) >= 0


def random_games(games: int) -> float:
    rounds = 0
    for seed in range(games):
        rng = random.Random(seed)
        game = DominionGame(Configuration(2 + seed % 3), rng)
        total = [a + b for a, b in zip(game.supply, game.trash, strict=True)]
        for player in game.players:
            total = [a + b for a, b in zip(total, player.counts(), strict=True)]
        while not game.over:
            game.act(rng.choice(game.legal()))
        invariants(game, total)
        rounds += game.player.turns
    return rounds / games


def test_random_play_keeps_the_cards() -> None:
    assert random_games(60) < 300


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_hundred_thousand_random_games() -> None:
    print("dominion, 10^5 random games: mean turns of the last player", random_games(100_000))


@pytest.mark.parametrize("players", [2, 3, 4])
def test_what_is_hidden_does_not_show(players: int) -> None:
    """Hands and decks of others, and the order of one's own deck, may be anything."""
    environment, rng = Dominion(Configuration(players=players)), random.Random(3)
    turn = environment.start(1)
    for step in range(300):
        for seat in range(players):
            fork = environment.fork(seat, step)
            np.testing.assert_array_equal(fork.observation(seat), environment.observation(seat))
            assert fork.text(seat) == environment.text(seat)
            assert fork.scene(seat) == environment.scene(seat)
            assert fork.text() == environment.text()
            mine = [
                [p.hand, sorted(p.draw)]
                for p in (g.game.players[seat] for g in (fork, environment))
            ]
            assert mine[0] == mine[1]
        if not turn.to_act:
            break
        view = next(view for view in turn.seats if view.seat == turn.to_act[0])
        assert isinstance(view.legal, list)
        turn = environment.step({turn.to_act[0]: rng.choice(view.legal)})


def test_forks_differ_in_what_is_hidden() -> None:
    environment = Dominion()
    environment.start(1)
    hands = {tuple(environment.fork(0, seed).game.players[1].hand) for seed in range(30)}
    decks = {tuple(environment.fork(0, seed).game.players[0].draw) for seed in range(30)}
    assert len(hands) > 1
    assert len(decks) > 1


def test_the_layout_names_every_number() -> None:
    environment = Dominion(Configuration(players=3, first="seat-0"))
    environment.start(1)
    names = layout(3)
    seen = dict(zip(names, environment.observation(0).tolist(), strict=True))
    assert len(set(names)) == len(names)
    assert seen["hand: Copper"] + seen["deck: Copper"] == 7
    assert seen["supply: Province"] == 12
    assert seen["seat +1, hand and deck: Estate"] == 3
    assert seen["seat +2, cards in hand"] == 5
    assert (seen["phase: buy"], seen["buys"], seen["coins"]) == (1, 1, seen["hand: Copper"])


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ({"players": 5}, "environment dominion, option 'players': "),
        ({"kingdom": ["Smithy", "Market"]}, "option 'kingdom': there is no 'Market'"),
        ({"kingdom": ["Smithy", "Smithy"]}, "option 'kingdom': a kind is named twice"),
        (
            {"kingdom": [card.name for card in CARDS[7:16]]},
            "option 'kingdom': it names 9 kinds, but kingdom_size is 10",
        ),
        ({"tie": "none"}, "environment dominion, option 'tie': "),
        ({"curses": "x"}, "environment dominion, option 'curses': "),
        ({"seats": 2}, "seats"),
    ],
)
def test_bad_options_get_one_line(given_: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DovetailError) as caught:
        Dominion(options.read(Configuration, given_, "environment dominion"))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_the_rules_say_of_a_wrong_action() -> None:
    game = rigged([SMITHY, COPPER])
    with pytest.raises(IllegalAction, match="buy Copper is not legal now"):
        game.act(BUY + COPPER)
    with pytest.raises(IllegalAction, match="99 is not legal now"):
        game.act(99)


# -- the study's tables of bots --------------------------------------------------------------------

BOTS = {
    "Random": bots.DominionRandom,
    "Money": bots.DominionMoney,
    "Greedy": bots.DominionGreedy,
    "Blacksmith": bots.DominionBlacksmith,
    "Chapel": bots.DominionChapel,
}
TWO = {  # table 3.3.1: win % of the second, points of both, rounds
    ("Random", "Money"): (100.0, 14.17, 85.74, 37.24),
    ("Random", "Chapel"): (100.0, 12.98, 78.72, 33.43),
    ("Random", "Greedy"): (100.0, 16.05, 91.03, 44.69),
    ("Random", "Blacksmith"): (100.0, 14.37, 85.05, 37.00),
    ("Money", "Chapel"): (57.81, 40.04, 42.03, 20.53),
    ("Money", "Greedy"): (37.41, 52.90, 45.52, 25.21),
    ("Money", "Blacksmith"): (48.02, 46.16, 43.16, 22.72),
    ("Chapel", "Greedy"): (33.31, 49.99, 41.56, 23.29),
    ("Chapel", "Blacksmith"): (44.45, 43.94, 39.18, 21.19),
    ("Greedy", "Blacksmith"): (61.12, 46.23, 51.68, 24.72),
}
FOUR = {  # table 3.3.2: two of each
    ("Random", "Money"): (100.0, 9.48, 44.03, 21.97),
    ("Random", "Chapel"): (100.0, 8.61, 37.72, 19.12),
    ("Random", "Greedy"): (100.0, 10.15, 47.32, 25.29),
    ("Random", "Blacksmith"): (100.0, 9.40, 43.83, 20.93),
    ("Money", "Chapel"): (53.87, 20.77, 21.14, 13.99),
    ("Money", "Greedy"): (59.18, 27.22, 27.21, 16.20),
    ("Money", "Blacksmith"): (68.71, 22.97, 24.40, 14.72),
    ("Chapel", "Greedy"): (61.74, 24.05, 24.71, 14.86),
    ("Chapel", "Blacksmith"): (69.25, 20.46, 22.05, 13.72),
    ("Greedy", "Blacksmith"): (60.12, 25.91, 28.18, 14.92),
}


class Told(Dominion):
    """Tells the test how games ended."""

    ends: ClassVar[list[tuple[list[int], float]]] = []

    def _final(self, outcome: list[float]) -> list[float]:
        players = self.game.players
        rounds = max(player.turns for player in players)
        Told.ends.append(([player.points() for player in players], rounds))
        return super()._final(outcome)


def contest(first: str, second: str, each: int, games: int) -> list[Any]:
    """Play; return the second kind's share of wins, and both kinds' points, and rounds."""
    kingdom = {"kingdom": ["Smithy", "Chapel"], "kingdom_size": 2, "tie": "highest-seat"}
    Told.ends = []
    with InProcess([Told], list(BOTS.values())) as experiment:
        seats = [experiment.create(BOTS[name].name) for name in [first] * each + [second] * each]
        run = experiment.run(
            "dominion",
            seats,
            configuration={"players": 2 * each, **kingdom},
            episodes=games,
            seed=1,
        )
        results = run.wait()
    assert all(episode.reason == "terminated" for episode in results)
    wins = sum(sum(episode.outcome[each:]) for episode in results if episode.outcome)
    points = [
        mean([sum(p[part]) / each for p, _ in Told.ends])
        for part in (slice(each), slice(each, None))
    ]
    return [wilson(wins, games), *points, mean([float(r) for _, r in Told.ends])]


@pytest.mark.long
@pytest.mark.parametrize("pair", [("Random", "Money"), ("Greedy", "Blacksmith")])
def test_bots_play_as_in_the_study(pair: tuple[str, str]) -> None:
    """The winner, its share within 8 points, and points within 4 of the study's, in 150 games."""
    won, first, second, _ = contest(*pair, 1, 150)
    share, points, theirs, _ = TWO[pair]
    assert abs(100 * won.value - share) < 8
    assert abs(first.value - points) < 4
    assert abs(second.value - theirs) < 4


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("each", "table"), [(1, TWO), (2, FOUR)])
def test_the_tables_of_the_study(each: int, table: dict[Any, Any]) -> None:
    """2,000 games a pair beside the study's 100,000; the same side wins in every row."""
    games = 2_000
    for pair, expected in table.items():
        first, second = pair
        found = contest(first, second, each, games)
        line = f"{pair[0]:10} {pair[1]:10}"
        for value, study, scale in zip(found, expected, (100, 1, 1, 1), strict=True):
            half = scale * (value.high - value.low) / 2
            line += f"  {scale * value.value:6.2f} ±{half:4.2f} ({study:6.2f})"
        print(line)
        if abs(expected[0] - 50) > 3:
            assert (found[0].value > 0.5) == (expected[0] > 50), pair


@pytest.mark.parametrize(
    "given",
    [
        {"players": 2},
        {"players": 4, "end": "round", "played": "discard", "chapel": 2, "conspirator": 2},
    ],
)
def test_afterstates_are_positions_before_cards_are_drawn(given: dict[str, Any]) -> None:
    """By the rules themselves, on a copy that draws nothing and skips no phase."""
    game, rng = Dominion(Configuration(**given, kingdom_size=10, kingdom=ALL)), random.Random(3)
    seen = set()
    for seed in range(2):
        game.start(seed)
        for _ in range(150):
            if game.game.over:
                break
            seat, legal = game.game.seat, game.game.legal()
            rows = game.afterstates(seat)
            assert len(rows) == len(legal)
            for action, row in zip(legal, rows, strict=True):
                ahead = copy.deepcopy(game)
                rules: Any = ahead.game
                rules._top = lambda player: None
                rules._skip = lambda: None
                rules.act(action)
                if rules.phase == "buy" and rules.buys == 0:
                    rules._end_turn()
                if not rules.over:
                    seen.add(action)
                    assert row.tolist() == ahead.observation(seat).tolist(), describe(action)
            game.step({seat: rng.choice(legal[:-1] or legal)})
    assert len(seen) > 25


@pytest.mark.long
def test_td_learns_from_afterstates_of_single_games_and_groups_alike() -> None:
    states = []
    for stacked in (False, True):
        with InProcess([Dominion], [TDBatch]) as experiment:
            learner = experiment.create("td-batch", parameters={"hidden": 4}, seed=1)
            experiment.run(
                "dominion", [learner] * 2, episodes=4, concurrency=2, seed=1, stacked=stacked,
                configuration={"players": 2}, max_turns=60,
            ).wait()  # fmt: skip
            states.append(experiment.save(learner))
    assert states[0] == states[1]


def test_the_end_is_told_with_the_points() -> None:
    environment = Dominion()
    environment.game.over = True
    environment.game.supply[PROVINCE] = 0
    assert environment.scene().reason == "3 points to 3; sold out: Province"
