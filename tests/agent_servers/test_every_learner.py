"""Every learner passes the checks of `dovetail.testing`, learns, and refuses states that were
forged."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dovetail import DovetailError, Experiment, InProcess
from dovetail.peer import plugins
from dovetail.peer.agents.random_agent import Random
from dovetail.testing import check_agent
from dovetail.testing.agents import CHECKS

pytestmark = pytest.mark.xdist_group("every agent")

LEARNERS: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {
    "td": ("connect_four", {"hidden": 8}, {}, 6),
    "td-batch": ("connect_four", {"hidden": 8, "traces": "dutch"}, {}, 6),
    "td-rlgame": ("rlgame", {}, {"size": 5, "pawns": 3, "win_reward": 1.0, "pawn_reward": 0.01}, 4),
    "amazons-player": (
        "amazons",
        {"rollouts": False, "depth": 1, "learning_rate": 0.01},
        {"rows": 5, "columns": 5},
        3,
    ),
    "dots-player": ("dots", {"turns": 2}, {"rows": 3, "columns": 3}, 5),
    "dominion-q": ("dominion", {"version": "12"}, {}, 3),
    "q-learning": ("dots", {}, {"rows": 2, "columns": 3}, 20),
    "ntuple-2048": ("2048", {}, {}, 2),
    "ntuple-connect-four": ("connect_four", {"tuples": 5, "length": 4}, {}, 6),
}
"""Game, parameters, configuration, episodes."""


class Table:
    """A learner in the first seat, random in the others."""

    def __init__(self, name: str, experiment: Experiment, state: bytes | None = None) -> None:
        self.game, parameters, self.configuration, self.episodes = LEARNERS[name]
        self.experiment = experiment
        self.learner = experiment.create(name, parameters=parameters, seed=1, state=state)
        kind = plugins.find("environment", self.game)
        seats = kind(kind.Configuration(**self.configuration)).init().seats
        self.seats = [self.learner] + [experiment.create("random", seed=2)] * (seats - 1)

    def play(self, seed: int = 3) -> None:
        results = self.experiment.run(
            self.game,
            self.seats,
            configuration=self.configuration,
            episodes=self.episodes,
            seed=seed,
            max_turns=400,
        ).wait()
        assert {each.reason for each in results} <= {"terminated", "truncated"}, results

    def state(self) -> bytes:
        return self.experiment.save(self.learner)


@pytest.fixture(params=LEARNERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def experiment(name: str) -> Any:
    game = plugins.find("environment", LEARNERS[name][0])
    with InProcess([game], [plugins.find("agent", name), Random]) as found:
        yield found


def test_it_learns_and_other_seeds_learn_something_else(name: str, experiment: Experiment) -> None:
    states = []
    for seed in (3, 4):
        table = Table(name, experiment)
        untrained = table.state()
        table.play(seed=seed)
        states.append(table.state())
        assert states[-1] != untrained
    assert states[0] != states[1]


@pytest.mark.parametrize("check", CHECKS)
def test_it_passes(check: str, name: str) -> None:
    game, parameters, configuration, episodes = LEARNERS[name]
    check_agent(
        plugins.find("agent", name),
        parameters,
        environment=game,
        configuration=configuration,
        episodes=episodes,
        only=check,
    )


def test_bytes_that_are_refused_change_nothing(name: str, experiment: Experiment) -> None:
    table = Table(name, experiment)
    table.play()
    before = table.state()
    fields = msgspec.msgpack.decode(before, strict=False)
    forged = [b"", b"no state", before[:-3], msgspec.msgpack.encode(fields | {"version": 99})]
    # Of another kind, or a field that does not fit the others.
    forged.append(msgspec.msgpack.encode(fields | {"agent": "dovetail.other"}))
    parts = [field for field in ("weights", "entries") if field in fields]
    forged += [msgspec.msgpack.encode(fields | {field: b"1234567"}) for field in parts]
    if "entries" in fields:
        wrong = fields["entries"] | {"actions": 3}
        other = fields["parameters"] | {"epsilon": 0.123}
        state = fields | {"entries": wrong, "parameters": other, "seed": 77}
        forged.append(msgspec.msgpack.encode(state))
    if name.endswith("-player"):
        other = fields["parameters"] | {"epsilon": 0.123}
        forged.append(msgspec.msgpack.encode(fields | {"parameters": other, "snapshots": b"123"}))
    for state in forged:
        with pytest.raises(DovetailError):
            experiment.load(table.learner, state)
        assert table.state() == before
