"""Players whose compiled code indexes by what a game shows refuse what the game cannot show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail import DovetailError, InProcess
from dovetail.peer import plugins
from dovetail.peer.agents.agent import Seat
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.agents.vector import Rows
from dovetail.protocol import spaces
from dovetail.protocol.messages import Spec

PLAYERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "ntuple-2048": ("2048", {}, {}),
    "ntuple-connect-four": ("connect_four", {"tuples": 2, "length": 4}, {}),
    "connect-four-solver": ("connect_four", {}, {"rows": 4, "columns": 4}),
    "tetris-player": ("tetris", {}, {}),
    "amazons-player": (
        "amazons",
        {"depth": 1, "rollouts": False, "epsilon": 1.0},
        {"rows": 4, "columns": 4},
    ),
    "amazons-territory": ("amazons", {"depth": 1}, {"rows": 4, "columns": 4}),
    "dots-player": (
        "dots",
        {"turns": 1, "epsilon": 1.0, "target": "predicted"},
        {"rows": 3, "columns": 3},
    ),
    "dots-perfect": ("dots", {}, {"rows": 2, "columns": 2}),
    "rlgame-minimax": ("rlgame", {"depth": 1}, {}),
}
"""Game, parameters, configuration."""


def observations(given: Any) -> dict[str, Any]:
    """Return observations that no game shows, by what is wrong with them."""
    if isinstance(given, dict):
        boards = {
            f"board {what}": given | {"board": value}
            for what, value in observations(given["board"]).items()
        }
        pieces = {f"piece {each!r}": given | {"piece": each} for each in (-1, 7, 1 << 40, 0.5, "I")}
        return boards | pieces | {"no piece": {"board": given["board"]}, "a list": [given["board"]]}
    larger = np.zeros([length + 3 for length in given.shape], given.dtype)
    return {
        "negative": given.astype(np.int64) - 1,
        "large": np.full_like(given, 255),
        "very large": np.full(given.shape, 1 << 40, np.int64),
        "real": given + 0.5,
        "not a number": np.full(given.shape, np.nan),
        "more": larger,
        "fewer": given[..., :-1],
        "flat": given.reshape(-1)[:1],
        "a number": 7,
        "text": "x",
        "nested": [[[[[]]]]],
    }


def impossible(game: str, given: Any) -> dict[str, Any]:
    """Return boards of the right shape and numbers that cannot come about."""
    if game != "connect_four":
        return {}
    floating = np.zeros_like(given)
    floating[0, -1] = 1
    return {"both in all squares": np.ones_like(given), "floating": floating}


class Play:
    """A player, and its game."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.game, self.parameters, self.configuration = PLAYERS[name]
        self.kind = plugins.find("environment", self.game)
        self.rules = self.kind(self.kind.Configuration(**self.configuration))
        self.spec = self.rules.init()
        self.first = self.rules.start(1).seats[0]

    def refuses(self, **shown: Any) -> str:
        """Return the error of the player when its game shows or offers something else at first."""

        class Hostile(self.kind):  # type: ignore[misc, name-defined]
            def start(self, seed: int) -> Any:
                turn = super().start(seed)
                for name, value in shown.items():
                    setattr(turn.seats[0], name, value)
                return turn

        kinds: list[Any] = [plugins.find("agent", self.name), Random]
        with InProcess([Hostile], kinds) as experiment:
            agent = experiment.create(self.name, parameters=self.parameters)
            others = [experiment.create("random")] * (self.spec.seats - 1)
            results = experiment.run(
                *(self.game, [agent, *others]),
                configuration=self.configuration,
                check=False,
                retries=0,
                max_turns=3,
            ).wait()
        assert results[0].reason == "crashed", results
        return results[0].message


@pytest.mark.parametrize("name", PLAYERS)
def test_boards_that_a_game_does_not_have(name: str) -> None:
    play = Play(name)
    seen = play.first.observation
    for what, value in {**observations(seen), **impossible(play.game, seen)}.items():
        text = play.refuses(observation=value)
        assert "Error:" not in text, (what, text)
        assert "\n" not in text, (what, text)


MOVES = [[-1], [1 << 20], [1 << 40], [1 << 62]]


@pytest.mark.parametrize("name", ["amazons-player", "dots-player"])
@pytest.mark.parametrize("legal", MOVES)
def test_moves_that_a_game_does_not_have(name: str, legal: list[int]) -> None:
    assert "offers" in Play(name).refuses(legal=legal)


@pytest.mark.parametrize("name", ["ntuple-2048", "ntuple-connect-four"])
def test_stacked_boards_that_a_game_does_not_have(name: str) -> None:
    play = Play(name)
    agent = plugins.find("agent", name)(
        plugins.find("agent", name).Parameters(**play.parameters), seed=1
    )
    seat = Seat(1, 0, play.spec)
    agent.init(seat)
    memory = agent.open_group({0: seat}, 2)
    seen = play.first.observation
    wrong = {**observations(seen), **impossible(play.game, seen)}
    for what, value in wrong.items():
        both: Any = [seen, value]
        if isinstance(value, np.ndarray) and value.shape == seen.shape:
            both = np.stack(both)
        with pytest.raises(DovetailError):
            print(what, agent.step_rows(rows(both), memory))
    with pytest.raises(DovetailError):
        agent.step_rows(rows(np.stack([seen])), memory)


def test_stacked_masks_that_lack_columns() -> None:
    play = Play("ntuple-connect-four")
    agent = plugins.find("agent", play.name)(seed=1)
    spec = plugins.find("environment", play.game)
    seat = Seat(1, 0, spec(spec.Configuration(columns=20)).init())
    agent.init(seat)
    seen = np.zeros((2, 2, 6, 20), np.uint8)
    with pytest.raises(DovetailError, match="a move for each column"):
        agent.step_rows(rows(seen), agent.open_group({0: seat}, 2))


def rows(observations: Any) -> Rows:
    """Return first decisions of two slots."""
    numbers = np.arange(2, dtype=np.int32)
    return Rows(
        *(numbers, np.zeros(2, np.int32), np.zeros(2, np.int32), observations),
        *(np.full((2, 1), 15, np.uint8), np.zeros(2), numbers, np.arange(2), np.ones(2, np.uint64)),
        "learn",
    )


def test_states_beyond_a_dense_table() -> None:
    kind = plugins.find("agent", "q-learning")
    agent = kind(kind.Parameters(table="dense"), seed=1)
    seat = Seat(
        1, 0, Spec(observation_spaces=[spaces.Discrete(5)], action_spaces=[spaces.Discrete(4)])
    )
    agent.init(seat)
    memory = agent.open_group({0: seat}, 2)
    for number in (-1, 5, 1 << 40):
        for mode in ("learn", "evaluate"):
            given = rows(np.array([0, number]))
            given.mode = mode
            with pytest.raises(DovetailError, match="beyond"):
                agent.step_rows(given, memory)
