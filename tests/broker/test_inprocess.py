"""Peers in the broker's own program: their time counts, and what they say counts as over a
socket."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from dovetail import Agent, DovetailError, Environment, InProcess, Spec, Turn, View, spaces
from dovetail.broker.shell.server import Server
from dovetail.client.inprocess import LocalLink
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.presets import preset
from dovetail.protocol import messages as m
from dovetail.protocol.journal import episodes
from dovetail_experiments.records.replay import replay
from dovetail_games.connect_four import ConnectFour


class Short(Environment):
    """One seat, two turns."""

    name = "short"
    legal: Any = (0, 2)

    def init(self) -> Spec:
        return Spec(
            seats=1,
            observation_spaces=[spaces.Discrete(1)],
            action_spaces=[spaces.Discrete(3)],
        )

    def start(self, seed: int) -> Turn:
        return Turn(to_act=[0], seats=[View(0, 0, self.legal)])

    def step(self, actions: Any) -> Turn:
        return Turn(seats=[View(0, 0)], terminated=True, outcome=[1.0])


class Last(Agent):
    """Takes the last legal action."""

    name = "last"

    def step(self, turn: Any) -> Any:
        return turn.legal[-1]


def test_legal_actions_may_be_a_tuple() -> None:
    with InProcess([Short], [Last]) as experiment:
        run = experiment.run("short", [experiment.create("last")], episodes=1)
        assert [(each.reason, each.seats[0].breaches) for each in run] == [("terminated", 0)]


def test_installed_names_are_taken_beside_classes() -> None:
    with InProcess(["connect_four", Short], ["random", Last]) as experiment:
        random, last = experiment.create("random"), experiment.create("last")
        assert len(experiment.run("connect_four", [random, last], episodes=2).wait()) == 2
        assert len(experiment.run("short", [last], episodes=2).wait()) == 2


@pytest.mark.parametrize(
    ("environments", "agents", "error"),
    [
        (["connect_fuor"], [], "connect_four"),
        (["connect_four"], ["randm"], "random"),
        ("connect_four", ["random"], r"environments is 'connect_four'; it is a list"),
        (["connect_four"], "random", r"agents is 'random'; it is a list"),
    ],
)
def test_a_wrong_name_says_what_was_meant(environments: Any, agents: Any, error: str) -> None:
    with pytest.raises(DovetailError, match=error):
        InProcess(environments, agents)


def test_what_an_agent_takes_counts_however_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = [100.0]  # time passes for nothing else
    monkeypatch.setattr(time, "monotonic", lambda: slept[0])

    class Slow(Last):
        name = "slow"

        def step(self, turn: Any) -> Any:
            slept[0] += 5.0
            return turn.legal[0]

    with InProcess([Short], [Slow]) as experiment:
        slow = [experiment.create("slow")]
        run = experiment.run("short", slow, episodes=2, clock={"decision": 1.0})
        for each in run:
            assert each.reason == "timeout"
            assert each.seats[0].seconds == 5.0


def test_what_the_experiment_takes_counts_for_no_answer_that_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept = [100.0]  # time passes for nothing else
    monkeypatch.setattr(time, "monotonic", lambda: slept[0])

    class Uneven(Short):
        """Episodes of one to four turns, so that some end while others await an answer."""

        name = "uneven"

        def start(self, seed: int) -> Turn:
            self.left = seed % 4
            return super().start(seed)

        def step(self, actions: Any) -> Turn:
            self.left -= 1
            return super().start(0) if self.left >= 0 else super().step(actions)

    class Many(Last):
        name = "many"
        capacity = 0

    with InProcess([Uneven], [Many]) as experiment:
        many = [experiment.create("many")]
        timed = m.ClockRule(decision=0.5, margin=0.0)
        run = experiment.run("uneven", many, episodes=40, seed=1, concurrency=4, clock=timed)
        for each in run:
            slept[0] += 0.9
            assert each.reason == "terminated"


def test_what_is_refused_is_answered_in_its_turn_and_by_the_brokers_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept = [100.0]  # time passes for nothing else
    monkeypatch.setattr(time, "monotonic", lambda: slept[0])
    server = Server(None)
    link = LocalLink(server, m.Hello(m.VERSION, "experiment"))
    link.receive(0.0)
    slept[0] += 1000.0  # the broker's time stands still
    wrong = m.Run(8, "game", ["me"], concurrency=0)
    link.send([m.Catalogue(7), wrong, m.Catalogue(9)])
    heard = link.receive(0.0)
    told = [(type(each), each.id) for each in heard if isinstance(each, m.Reply | m.Error)]
    assert told == [(m.Reply, 7), (m.Error, 8), (m.Reply, 9)]
    assert {peer.heard for peer in server.core.broker.connections.values()} == {100.0}
    server.close()


def test_a_game_with_options_of_its_program_is_replayed_from_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "games.journal"
    low = preset(ConnectFour, {"rows": 4, "columns": 5}, "environment connect_four")
    with InProcess([low], [Random], journal=path) as experiment:
        players = [experiment.create("random", seed=seed) for seed in (1, 2)]
        played = experiment.run("connect_four", players, episodes=3, seed=1).wait()
    records = [record for _, record in episodes(path)]
    assert [record.configuration for record in records] == [
        {"rows": 4, "columns": 5, "connect": 4}
    ] * 3
    for record, episode in zip(records, played, strict=True):
        *_, (_, turn) = replay(record)
        assert turn.outcome == episode.outcome
