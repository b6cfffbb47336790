"""Every agent in every game: it plays, or says in one line why not."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from dovetail import Agent, Decision, DovetailError, InProcess
from dovetail.peer import plugins
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol import messages as m

pytestmark = pytest.mark.xdist_group("every agent")

SMALL: dict[str, dict[str, Any]] = {
    "alpha-beta": {"depth": 1},
    "rollouts": {"depth": 1, "candidates": 2, "rollout_depth": 1, "rollout_actions": 1},
    "mcts": {"simulations": 1},
    "scripted": {"actions": [0], "after": "random"},
    "amazons-player": {"rollouts": False, "depth": 1},
    "rlgame-minimax": {"depth": 2, "configuration": {"size": 5, "pawns": 3}},
}
"""So that a decision takes milliseconds."""
BOARDS: dict[str, dict[str, Any]] = {
    "amazons": {"rows": 5, "columns": 5},
    "connect_four": {"rows": 5, "columns": 5},
    "rlgame": {"size": 5, "pawns": 3},
    "dots": {"rows": 3, "columns": 3},
}
FILES = {
    "recorded": {"journal": "no such file"},
    "sb3": {"policy": "none"},
    "kaggle": {"policy": "none"},
}
"""Agents that need a file; without it they say so."""
PLAYS = {
    "random": {"connect_four", "amazons", "2048", "dominion", "dots", "rlgame", "tetris"},
    "td": {"connect_four", "amazons", "dominion", "dots", "rlgame"},
    "alpha-beta": {"connect_four", "amazons", "dots", "rlgame"},
    "mcts": {"connect_four", "amazons", "dots", "rlgame"},
    "amazons-player": {"amazons"},
    "amazons-territory": {"amazons"},
    "dots-player": {"dots"},
    "rlgame-minimax": {"rlgame"},
    "dots-perfect": {"dots"},
    "connect-four-solver": {"connect_four"},
    "tetris-player": {"tetris"},
    "ntuple-2048": {"2048"},
    "ntuple-connect-four": {"connect_four"},
    "dominion-q": {"dominion"},
}
"""Games that some of them must play, lest a refusal of everything pass."""
GIVEN: dict[str, dict[str, Any]] = {
    "td": {"symmetric": True},
    "alpha-beta": {"source": "rules", "configuration": BOARDS["amazons"]},
}
"""Parameters with which an agent has most to keep of its seats."""


class Illegal(Agent):
    """Forfeits at its first decision."""

    def step(self, decision: Decision) -> int:
        return -1


def play(agent: str, game: str, opponent: type[Agent] = Random) -> set[str]:
    """Return how two episodes of at most three turns ended."""
    environment = plugins.find("environment", game)
    with InProcess([environment], [plugins.find("agent", agent), Random, Illegal]) as experiment:
        parameters = SMALL.get(agent) or FILES.get(agent) or {}
        player = experiment.create(agent, parameters=parameters, seed=1)
        other = experiment.create(opponent.name or opponent.__name__.lower(), seed=2)
        count = environment(environment.Configuration()).init().seats
        seats = [player] + [other] * (count - 1)
        run = experiment.run(
            game,
            seats,
            configuration=BOARDS.get(game, {}),
            episodes=2,
            seed=3,
            max_turns=3,
            retries=0,
            lookahead=True,
        )
        results = run.wait()
    problems = {each.message for each in results if each.reason == "crashed"}
    assert all("Error:" not in each and "\n" not in each for each in problems), problems
    return {each.reason for each in results}


@pytest.mark.parametrize("game", plugins.names("environment"))
@pytest.mark.parametrize("agent", [each for each in plugins.names("agent") if each != "human"])
def test_it_plays_or_says_in_one_line_why_not(agent: str, game: str) -> None:
    try:
        reasons = play(agent, game)
    except DovetailError as error:
        text = str(error)
        assert "\n" not in text
        assert "Traceback" not in text
        assert len(text) > 20
        assert game not in PLAYS.get(agent, ()), text
        return
    fine = {"terminated", "truncated"}
    if agent == "scripted":
        fine.add("illegal-action")
    assert reasons <= (fine if game in PLAYS.get(agent, ()) else {*fine, "crashed"}), reasons


@pytest.mark.parametrize("agent", [each for each in PLAYS if PLAYS[each] - {"2048", "tetris"}])
def test_it_plays_on_after_a_forfeit(agent: str) -> None:
    """Its seat does not see how a game ends that an opponent forfeits; the next one fails if it
    needs to."""
    for game in PLAYS[agent] - {"2048", "tetris"}:
        assert play(agent, game, Illegal) == {"illegal-action"}


@pytest.mark.parametrize("agent", PLAYS)
def test_matches_that_are_over_take_no_memory(agent: str) -> None:
    game = min(PLAYS[agent])
    kind = plugins.find("environment", game)
    spec = kind(kind.Configuration(**BOARDS.get(game, {}))).init()
    spec.name = game
    host = AgentHost([plugins.find("agent", agent)])
    given = {**SMALL.get(agent, {}), **GIVEN.get(agent, {})}
    (made,) = host.handle([m.Create(1, 1, agent, given, 1)])
    assert isinstance(made, m.Reply), made

    def matches(first: int) -> None:
        for match in range(first, first + 400):
            seat = m.Init(match, 0, 1, spec, lookahead=True)
            assert host.handle([seat, m.Leave(match)]) == []

    tracemalloc.start()
    try:
        matches(1)
        before, _ = tracemalloc.get_traced_memory()
        matches(401)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 10_000
