"""Alpha-beta against plain minimax on random trees, solved games, and both ways to come by
positions."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import DovetailError, Environment, InProcess, Spec, Turn, View, spaces
from dovetail.client.client import RunFailed
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.journal import EpisodeRecord, read
from dovetail_agents.general.search import rollouts, tree
from dovetail_agents.general.search.agents import (
    AlphaBetaAgent,
    Greedy,
    MCTSAgent,
    Rollouts,
)
from dovetail_agents.general.search.alpha_beta import AlphaBeta, Result
from dovetail_agents.general.search.evaluations import open_fours
from dovetail_agents.general.search.tree import LocalRules, Node, root
from dovetail_games.amazons import Amazons
from dovetail_games.amazons import Configuration as AmazonsOptions
from dovetail_games.connect_four import Configuration, ConnectFour
from dovetail_games.dots import Configuration as DotsOptions
from dovetail_games.dots import Dots
from dovetail_games.game_2048 import Game2048
from dovetail_games.rlgame import RLGame


class Tree(Environment):
    """A random tree: who acts next, how many actions there are and what they earn follow from a
    seed."""

    def __init__(self, seed: int = 0, depth: int = 4) -> None:
        super().__init__()
        self.seed, self.depth = seed, depth
        self.line: tuple[int, ...] = ()

    def drawn(self) -> random.Random:
        return random.Random(f"{self.seed}/{self.line}")

    def init(self) -> Spec:
        return Spec(seats=2, action_spaces=[spaces.Discrete(4)])

    def start(self, seed: int) -> Turn:
        self.line = ()
        return self.turn()

    def turn(self) -> Turn:
        rng = self.drawn()
        reward = float(rng.choice([0, 0, 0, 1, -1, 2]))
        views = [View(0, list(self.line), None, reward), View(1, list(self.line), None, -reward)]
        if len(self.line) == self.depth or (self.line and rng.random() < 0.1):
            return Turn(seats=views, terminated=True)
        seat = rng.randrange(2)  # the same may act again
        views[seat].legal = list(range(rng.randrange(1, 5)))
        return Turn(to_act=[seat], seats=views)

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.line = (*self.line, next(iter(actions.values())))
        return self.turn()


def minimax(tree: Tree, turn: Turn, earned: float, seat: int, depth: int) -> float:
    """The definition, with no window and no table."""
    if not turn.to_act or depth == 0:
        return earned
    values = []
    acting = turn.to_act[0]
    for action in next(v for v in turn.seats if v.seat == acting).legal or ():
        after = Tree(tree.seed, tree.depth)
        after.line = tree.line
        then = after.step({acting: action})
        reward = next(v for v in then.seats if v.seat == seat).reward
        values.append(minimax(after, then, earned + reward, seat, depth - 1))
    return max(values) if acting == seat else min(values)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 6), st.booleans(), st.booleans(), st.booleans())
def test_it_finds_what_minimax_finds(
    seed: int, depth: int, prune: bool, table: bool, deepen: bool
) -> None:
    """Also where a seat moves again, and all best actions, not one of them."""
    tree = Tree(seed, 6)
    turn = tree.start(0)
    seat = turn.to_act[0]
    legal = next(v for v in turn.seats if v.seat == seat).legal or []
    assert isinstance(legal, list)
    expected = {}
    for action in legal:
        after = Tree(seed, 6)
        then = after.step({seat: action})
        reward = next(v for v in then.seats if v.seat == seat).reward
        expected[action] = minimax(after, then, reward, seat, depth - 1)
    search = AlphaBeta(seat, prune=prune, table=table)
    node = root(seat, 2, legal, [], tree)
    enough = (lambda: False) if deepen else None
    found: Result = LocalRules().run(search.deepen(node, depth, enough))
    best = max(expected.values())
    assert found.best == [action for action in legal if expected[action] == best]
    assert max(found.values.values()) == best
    if not prune:
        assert found.values == expected


def quiet_minimax(
    tree: Tree, turn: Turn, earned: list[float], seat: int, depth: int, beyond: int
) -> float:
    """The definition of the search beyond the horizon."""
    if not turn.to_act or depth <= -beyond:
        return earned[seat]
    acting = turn.to_act[0]
    values = [earned[seat]] if depth <= 0 else []
    for action in next(v for v in turn.seats if v.seat == acting).legal or ():
        after = Tree(tree.seed, tree.depth)
        after.line = tree.line
        then = after.step({acting: action})
        gains = {view.seat: view.reward for view in then.seats}
        if depth > 0 or not then.to_act or any(gains.values()):
            total = [sum_ + gains[each] for each, sum_ in enumerate(earned)]
            values.append(quiet_minimax(after, then, total, seat, depth - 1, beyond))
    return max(values) if acting == seat else min(values)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 3), st.integers(0, 4), st.booleans())
def test_beyond_the_horizon_it_follows_what_earns(
    seed: int, depth: int, beyond: int, prune: bool
) -> None:
    tree = Tree(seed, 6)
    turn = tree.start(0)
    seat = turn.to_act[0]
    expected = {}
    legal = next(v for v in turn.seats if v.seat == seat).legal or []
    assert isinstance(legal, list)
    for action in legal:
        after = Tree(seed, 6)
        then = after.step({seat: action})
        earned = [view.reward for view in sorted(then.seats, key=lambda view: view.seat)]
        expected[action] = quiet_minimax(after, then, earned, seat, depth - 1, beyond)
    search = AlphaBeta(seat, prune=prune, quiescence=beyond)
    found: Result = LocalRules().run(search.deepen(root(seat, 2, legal, [], tree), depth))
    best = max(expected.values())
    assert found.best == [action for action in legal if expected[action] == best]
    if not prune:
        assert found.values == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 5), st.integers(1, 4))
def test_as_many_actions_as_wanted_get_their_exact_value(seed: int, depth: int, exact: int) -> None:
    tree = Tree(seed, 6)
    turn = tree.start(0)
    seat = turn.to_act[0]
    legal = next(v for v in turn.seats if v.seat == seat).legal or []
    assert isinstance(legal, list)
    node = root(seat, 2, legal, [], tree)
    full = LocalRules().run(AlphaBeta(seat, prune=False).deepen(node, depth)).values
    found = LocalRules().run(AlphaBeta(seat, exact=exact).deepen(node, depth)).values
    threshold = sorted(full.values(), reverse=True)[: min(exact, len(full))][-1]
    for action, value in full.items():
        if value >= threshold:
            assert found[action] == value
        else:
            assert value <= found[action] < threshold


def test_quiescence_sees_the_box_behind_the_horizon() -> None:
    """Four boxes, one ply: the third side of a box gives it away, which only the reply shows."""
    game = Dots(DotsOptions(3, 3, "boxes"))
    lost = {0: 0.0, 12: 0.0}
    for seed in range(10):
        rng = random.Random(seed)
        turn = game.start(0)
        for _ in range(5):
            turn = game.step({turn.to_act[0]: rng.choice(decision_of(game, turn).legal)})
        node = decision_of(game, turn)
        assert node.seat is not None
        full = AlphaBeta(node.seat, exact=12)
        worth = LocalRules().run(full.deepen(node, 12)).values
        for quiescence in lost:
            search = AlphaBeta(node.seat, quiescence=quiescence)
            best = LocalRules().run(search.deepen(node, 1)).best
            lost[quiescence] += max(worth.values()) - sum(worth[a] for a in best) / len(best)
    assert lost[12] < lost[0] / 2


def test_pruning_looks_at_fewer_positions() -> None:
    looked = {}
    for prune in (True, False):
        total = 0
        for seed in range(20):
            tree = Tree(seed, 6)
            turn = tree.start(0)
            seat = turn.to_act[0]
            view = next(v for v in turn.seats if v.seat == seat)
            assert isinstance(view.legal, list)
            node = root(seat, 2, view.legal, [], tree)
            total += (
                LocalRules().run(AlphaBeta(seat, prune=prune, table=False).deepen(node, 6)).nodes
            )
        looked[prune] = total
    assert looked[True] < 0.8 * looked[False]


def decision_of(environment: Environment, turn: Turn) -> Node:
    seat = turn.to_act[0]
    view = next(v for v in turn.seats if v.seat == seat)
    assert isinstance(view.legal, list)
    return root(seat, 2, view.legal, view.observation, environment)


@pytest.mark.parametrize(
    ("rows", "columns", "lead"), [(2, 2, -1), (2, 3, 0), (2, 4, -1), (3, 3, 2)]
)
def test_dots_and_boxes_solved(rows: int, columns: int, lead: int) -> None:
    """The same values as the exhaustive searches of the game's own tests."""
    game = Dots(DotsOptions(rows, columns, "boxes"))
    node = decision_of(game, game.start(0))
    found = LocalRules().run(AlphaBeta(0).deepen(node, 24))
    assert max(found.values.values()) == lead


def test_connect_four_on_a_small_board_solved() -> None:
    """4 x 4, four in a row: a draw (J. Tromp's table of small boards)."""
    game = ConnectFour(Configuration(4, 4, 4))
    node = decision_of(game, game.start(0))
    found = LocalRules().run(AlphaBeta(0).deepen(node, 16))
    assert max(found.values.values()) == 0


@pytest.mark.parametrize(
    ("moves", "best"),
    [
        ((3, 0, 3, 0, 3), [3]),  # the other wins there otherwise: block
        ((3, 0, 3, 0, 3, 6), [3]),  # win
        ((2, 0, 3, 0), [4]),  # three in a row, open at 1 and 5, wins
    ],
)
def test_connect_four_tactics(moves: tuple[int, ...], best: list[int]) -> None:
    game = ConnectFour()
    turn = game.start(0)
    for column in moves:
        turn = game.step({turn.to_act[0]: column})
    found = LocalRules().run(AlphaBeta(turn.to_act[0]).deepen(decision_of(game, turn), 4))
    assert set(found.best) == set(best)


PLACED = [
    ConnectFour(),
    ConnectFour(Configuration(5, 4, 3)),
    Dots(DotsOptions(3, 4, "boxes")),
    Amazons(AmazonsOptions(5, 5)),
    Amazons(AmazonsOptions(5, 5, action="steps")),
]


@pytest.mark.parametrize("game", PLACED, ids=lambda game: f"{game.name}-{game.configuration}")
def test_a_placed_environment_plays_on_as_the_one_it_came_from(game: Any) -> None:
    rng = random.Random(3)
    for seed in range(5):
        turn = game.start(seed)
        while turn.to_act:
            seat = turn.to_act[0]
            view = next(v for v in turn.seats if v.seat == seat)
            other = type(game)(game.configuration)
            other.place(seat, view.observation)
            np.testing.assert_array_equal(other.observation(seat), view.observation)
            np.testing.assert_array_equal(other.afterstates(seat), game.afterstates(seat))
            action = rng.choice(view.legal)
            theirs = other.step({seat: action})
            turn = game.step({seat: action})
            assert (theirs.to_act, theirs.outcome) == (turn.to_act, turn.outcome)
            for mine, image in zip(turn.seats, theirs.seats, strict=True):
                np.testing.assert_array_equal(mine.observation, image.observation)
                assert (mine.legal, mine.reward) == (image.legal, image.reward)


def games(agent: str, parameters: dict[str, Any], environment: Any, count: int, **run: Any) -> Any:
    with InProcess([environment], [AlphaBetaAgent, Rollouts, MCTSAgent, Random]) as experiment:
        player = experiment.create(agent, seed=1, parameters=parameters)
        other = experiment.create("random")
        run = {"episodes": count, "seed": 5, "rotate": True, **run}
        results = experiment.run(environment.name, [player, other], **run).wait()
    assert all(each.reason == "terminated" for each in results), results[0].message
    return [(each.index, each.outcome, each.turns) for each in results]


def won(results: Any) -> float:
    return float(sum(outcome[index % 2] for index, outcome, _ in results))


@pytest.mark.parametrize(
    ("agent", "parameters"),
    [
        ("alpha-beta", {"depth": 2, "quiescence": 1}),
        ("mcts", {"simulations": 20}),
        ("rollouts", {"candidates": 2, "rollout_depth": 1}),
    ],
)
def test_asking_and_having_the_rules_give_the_same_games(
    agent: str, parameters: dict[str, Any]
) -> None:
    here = games(agent, {**parameters, "source": "rules"}, ConnectFour, 4)
    there = games(agent, {**parameters, "source": "lookahead"}, ConnectFour, 4, lookahead=True)
    assert here == there == games(agent, parameters, ConnectFour, 4)


def test_the_same_seed_gives_the_same_games_twice_in_a_session(tmp_path: Path) -> None:
    """Where chance is drawn for it, too: episodes have other numbers the second time."""
    journal = tmp_path / "games"
    with InProcess([Game2048], [MCTSAgent], journal=journal) as experiment:
        given = {"simulations": 3, "source": "lookahead"}
        player = experiment.create("mcts", seed=1, parameters=given)
        for _ in range(2):
            run = experiment.run("2048", [player], episodes=2, seed=5, max_turns=12, lookahead=True)
            run.wait()
    played = [each.actions for each in read(journal) if isinstance(each, EpisodeRecord)]
    assert len(played) == 4
    assert played[:2] == played[2:]
    assert played[0] != played[1]


def test_a_question_whose_answer_would_exceed_a_frame_is_asked_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {"depth": 1, "source": "lookahead"}
    whole = games("alpha-beta", given, ConnectFour, 2, lookahead=True)
    monkeypatch.setattr(tree, "ANSWERED", 3 * (7 + tree.SPARE))
    assert games("alpha-beta", given, ConnectFour, 2, lookahead=True) == whole


def test_they_beat_random() -> None:
    assert won(games("alpha-beta", {"depth": 3}, ConnectFour, 10)) >= 9
    assert won(games("mcts", {"simulations": 60}, ConnectFour, 10)) >= 8
    small = {"configuration": {"size": 5, "pawns": 3, "max_moves": 1000}, "lookahead": True}
    assert won(games("alpha-beta", {"depth": 2, "nodes": 60}, RLGame, 6, **small)) >= 3


OPEN_FOURS = {"evaluation": "open_fours"}


def test_an_evaluation_makes_it_stronger() -> None:
    with InProcess([ConnectFour], [AlphaBetaAgent]) as experiment:
        knowing = experiment.create("alpha-beta", parameters={"depth": 2, **OPEN_FOURS})
        plain = experiment.create("alpha-beta", parameters={"depth": 2})
        run = experiment.run("connect_four", [knowing, plain], episodes=20, seed=1, rotate=True)
        score = sum(each.outcome[each.index % 2] for each in run.wait() if each.outcome)
    assert score >= 15


def test_open_fours_by_hand() -> None:
    game = ConnectFour()
    turn = game.start(0)
    assert open_fours(decision_of(game, turn), 0) == 0
    turn = game.step({0: 0})  # three lines from the corner: across, up, diagonal
    node = decision_of(game, turn)
    assert node.seat == 1
    assert open_fours(node, 0) == pytest.approx(0.5 * math.tanh(3 / 40)) == -open_fours(node, 1)


@pytest.mark.parametrize("name", ["open_four", "math:nowhere", "no.such.module:f", "no.py:f"])
def test_an_evaluation_that_is_not_there_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(DovetailError, match="option 'evaluation'") as caught:
        games("alpha-beta", {"evaluation": name}, ConnectFour, 1)
    assert "\n" not in str(caught.value)


class Fates(Environment):
    """Seat 0 chooses one of five fates; two forced actions later it has won or lost."""

    def __init__(self, won: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.won = won
        self.line: list[int] = []

    def init(self) -> Spec:
        return Spec(seats=2, action_spaces=[spaces.Discrete(5)])

    def start(self, seed: int) -> Turn:
        self.line = []
        return self.turn()

    def turn(self) -> Turn:
        if len(self.line) == 3:
            win = self.line[0] in self.won
            rewards = [1.0, -1.0] if win else [-1.0, 1.0]
            views = [View(seat, reward=rewards[seat]) for seat in (0, 1)]
            return Turn(seats=views, terminated=True, outcome=[float(win), float(not win)])
        seat = len(self.line) % 2
        # Seat 0's immediate reward ranks its fates: 4 is worth most, 0 least.
        gain = self.line[0] / 10 if len(self.line) == 1 else 0.0
        views = [View(0, list(self.line), None, gain), View(1, list(self.line), None, -gain)]
        views[seat].legal = list(range(5)) if not self.line else [0]
        return Turn(to_act=[seat], seats=views)

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.line.append(next(iter(actions.values())))
        return self.turn()


@pytest.mark.parametrize(
    ("won", "candidates", "chosen"),
    [
        ({1}, 5, {1}),  # exactly one won: it is played
        ({0, 3}, 5, {0, 3}),  # several: one of them by lot
        (set(), 5, {0, 1, 2, 3, 4}),  # none: any of the candidates
        ({0, 3}, 2, {3}),  # only the best candidates are played out
        ({0}, 2, {3, 4}),
    ],
)
def test_continuations_choose_by_the_rule_of_the_study(
    won: set[int], candidates: int, chosen: set[int]
) -> None:
    game = Fates(frozenset(won))
    node = decision_of(game, game.start(0))
    found = {
        LocalRules().run(
            rollouts.search(
                node,
                random.Random(seed),
                lambda node, seat: 0.0,
                depth=1,
                candidates=candidates,
                rollout_depth=1,
                table=False,
            )
        )
        for seed in range(60)
    }
    assert found == chosen


def test_greedy_takes_what_earns_most_at_once() -> None:
    """Boxes when it can have them, so it beats a player that does not look."""
    with InProcess([Dots], [Greedy, Random]) as experiment:
        player = experiment.create("greedy", parameters={"configuration": {"rewards": "boxes"}})
        other = experiment.create("random")
        results = experiment.run(
            "dots",
            [player, other],
            configuration={"rewards": "boxes"},
            episodes=40,
            seed=1,
            rotate=True,
        ).wait()
    lead = [episode.seats[episode.index % 2].total for episode in results]
    assert sum(each > 0 for each in lead) >= 34


def test_limits_leave_an_action() -> None:
    game = ConnectFour()
    node = decision_of(game, game.start(0))
    search = AlphaBeta(0, limit=3)
    found = LocalRules().run(search.deepen(node, 9))
    assert (found.depth, found.best) == (0, node.legal)
    search = AlphaBeta(0, limit=300)
    found = LocalRules().run(search.deepen(node, 9))
    assert 1 <= found.depth < 9
    assert search.nodes <= 307
    found = LocalRules().run(AlphaBeta(0).deepen(node, 9, lambda: True))
    assert found.depth == 1


def test_a_game_that_can_neither_be_placed_nor_asked_is_refused_in_one_line() -> None:
    with pytest.raises(RunFailed) as caught:
        games("alpha-beta", {}, RLGame, 1)
    assert caught.value.code == "lookahead"
    assert "alpha-beta cannot search rlgame without lookahead: " in str(caught.value)
    assert "cannot be placed" in str(caught.value)
    with pytest.raises(DovetailError, match=r"set its `parameters\.configuration` to the env"):
        games("alpha-beta", {}, ConnectFour, 1, configuration={"rows": 5})


def test_infinite_windows_are_not_values() -> None:
    game = ConnectFour(Configuration(2, 2, 2))
    found = LocalRules().run(AlphaBeta(0).deepen(decision_of(game, game.start(0)), 4))
    assert all(math.isfinite(value) for value in found.values.values())
