from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from dovetail import DovetailError, InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail_agents.games.rlgame import RLGameMinimax, kernels
from dovetail_agents.games.rlgame.agent import LEAVES, geometry_of
from dovetail_agents.general.search.alpha_beta import AlphaBeta
from dovetail_agents.general.search.tree import LocalRules, Node, root
from dovetail_agents.learning import sparse
from dovetail_games.rlgame import RLGame
from dovetail_games.rlgame.kernels import encode

WIN = 2.0


def lead(node: Node, seat: int) -> float:
    assert isinstance(node.environment, RLGame)
    board = node.environment.board
    return (board.alive(seat) - board.alive(1 - seat)) / int(board.pawns.shape[1])


def position(rng: random.Random, plies: int, **options: Any) -> RLGame:
    """Return a game after random moves that is not over."""
    while True:
        game = RLGame(RLGame.Configuration(win_reward=WIN, **options))
        game.start(0)
        for _ in range(plies):
            if game.board.over:
                break
            game.step({game.board.mover: rng.choice(game.board.legal())})
        if not game.board.over:
            return game


def compiled(
    game: RLGame, depth: int, *, prune: bool, leaf: kernels.Leaf
) -> tuple[dict[int, float], int]:
    board, nodes = game.board, np.zeros(1, np.int64)
    geometry = geometry_of(board.geometry, board.ordered, board.bases)
    moves, values = kernels.search(
        board.mover, board.pawns, board.cells, depth, prune, WIN, geometry, leaf, nodes
    )
    return dict(zip(moves.tolist(), values.tolist(), strict=True)), int(nodes[0])


@pytest.mark.parametrize("loss", ["ordered", "simultaneous"])
@pytest.mark.parametrize("evaluation", ["none", "pawns"])
def test_it_finds_the_values_of_plain_minimax(loss: str, evaluation: str) -> None:
    rng = random.Random(1)
    decided = 0
    for plies in (0, 7, 20, 33, 46):
        game = position(rng, plies, size=5, pawns=4, loss=loss)
        seat = game.board.mover
        start = root(seat, 2, game.board.legal(), game.observation(seat), game)
        plain = AlphaBeta(seat, lead if evaluation == "pawns" else lambda *_: 0.0, prune=False)
        wanted = LocalRules().run(plain.deepen(start, 3))
        for prune in (False, True):
            found, _ = compiled(game, 3, prune=prune, leaf=LEAVES[evaluation])
            best = max(found.values())
            assert [a for a, v in found.items() if v == best] == wanted.best
            assert all(v == wanted.values[a] for a, v in found.items() if not prune or v == best)
        decided += max(wanted.values.values()) == WIN
    assert 0 < decided < 5


def test_pruning_changes_no_best_move_at_depth_five() -> None:
    rng = random.Random(2)
    for plies in (0, 12, 24):
        game = position(rng, plies, size=6)
        whole, all_nodes = compiled(game, 5, prune=False, leaf=LEAVES["pawns"])
        found, nodes = compiled(game, 5, prune=True, leaf=LEAVES["pawns"])
        best = max(whole.values())
        assert [a for a, v in found.items() if v == best] == [
            a for a, v in whole.items() if v == best
        ]
        assert nodes < all_nodes / 3


def test_the_network_sees_what_the_environment_encodes() -> None:
    rng = random.Random(3)
    for plies in (0, 9, 30, 50):
        board = position(rng, plies, size=6).board
        shape = board.geometry
        row = np.zeros(2 * (shape.outside + 5), np.uint8)
        encode(board.pawns, board.cells, shape.slots[0], 0, row)
        found = np.empty(24, np.int64)
        count = kernels.active(board.pawns, board.cells, shape.slots[0], found)
        assert sorted(found[:count].tolist()) == np.flatnonzero(row).tolist()
        weights = np.random.default_rng(plies).uniform(-0.5, 0.5, (row.size + 1, 7))
        second = np.linspace(-1, 1, 8)
        hidden = 1 / (1 + np.exp(-(np.append(row, 0.5) @ weights)))
        value = 1 / (1 + np.exp(-(np.append(hidden, 0.5) @ second)))
        got = sparse.value(weights, second, found, count, np.empty(7))
        assert got == pytest.approx(value, rel=1e-12)


def test_a_blind_search_walks_into_the_entering_that_a_sound_one_prevents() -> None:
    """The error of the study's version 1.3: entering by the enemy is not seen as the end."""
    rng = random.Random(4)
    blind = LEAVES["none"]._replace(blind=True)
    lost = 0
    for _ in range(40):
        game = position(rng, 30, size=6)
        sound, _ = compiled(game, 2, prune=True, leaf=LEAVES["none"])
        wrong, _ = compiled(game, 2, prune=True, leaf=blind)
        if max(sound.values()) == -WIN:
            lost += 1
            assert max(wrong.values()) > -WIN
    assert lost


def play(configuration: dict[str, Any], parameters: dict[str, Any], **more: Any) -> list[Any]:
    with InProcess([RLGame], [RLGameMinimax, Random]) as experiment:
        players = [
            experiment.create("rlgame-minimax", parameters=parameters, seed=1),
            experiment.create("random", seed=2),
        ]
        run = experiment.run(
            "rlgame", players, configuration=configuration, seed=5, rotate=True, retries=0, **more
        )
        return [(episode, players[0]) for episode in run]


@pytest.mark.parametrize("encoding", ["own", "study", "planes"])
def test_it_beats_random_whatever_it_sees(encoding: str) -> None:
    configuration = {"size": 6, "encoding": encoding}
    games = play(configuration, {"depth": 5, "configuration": configuration}, episodes=10)
    assert all(episode.reason == "terminated" for episode, _ in games)
    won = [
        episode.outcome[[place.instance for place in episode.seats].index(player)]
        for episode, player in games
    ]
    assert sum(won) >= 9


def test_it_follows_an_opening() -> None:
    configuration = {"size": 6}
    given = {"depth": 2, "configuration": configuration}
    games = play(configuration, given, episodes=6, opening_turns=3)
    assert {episode.reason for episode, _ in games} == {"terminated"}


def test_it_says_what_it_cannot_follow() -> None:
    with pytest.raises(DovetailError, match="set it to the environment's options"):
        play({"size": 6}, {}, episodes=1)
    games = play({"size": 6, "first": 1}, {"configuration": {"size": 6}}, episodes=1)
    assert "cannot tell how the position" in games[0][0].message
