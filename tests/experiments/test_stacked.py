"""Whatever is played single is the same stacked: results, journal, and what agents are told."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

from dovetail import Agent, BatchAgent, Decision, End, Environment, InProcess, Spec, Turn, View
from dovetail.broker.runs import stacked as stacked_runs
from dovetail.broker.shell.server import Server
from dovetail.client.client import Experiment
from dovetail.client.inprocess import LocalLink
from dovetail.peer.agents.agent import RESIGN, Lookahead, Needs
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.environments.environment import IllegalAction
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.protocol import journal
from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Discrete
from dovetail_games.connect_four import ConnectFour


class Mixed(Environment):
    """One to three of three seats act; rewards for all, refusals, truncations, crashes: all by the
    seed."""

    name = "mixed"
    forfeit: tuple[float, float] | None = (-2.0, 1.0)

    def init(self) -> Spec:
        return Spec(
            seats=3,
            observation_spaces=[Discrete(1 << 20)],
            action_spaces=[Discrete(4)],
            forfeit=self.forfeit,
            afterstates=True,
        )

    def start(self, seed: int) -> Turn:
        self.rng = random.Random(seed)
        self.left = self.rng.randrange(1, 9)
        return self._turn()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        for seat, action in actions.items():
            if self.rng.random() < 0.01:
                raise IllegalAction(f"not {action} now", seat)
        if self.rng.random() < 0.01:
            raise RuntimeError("a bug in the rules")
        self.left -= 1
        return self._turn()

    def _turn(self) -> Turn:
        rng = self.rng
        rewards = [rng.choice([0.0, 0.5, -0.25]) for _ in range(3)]
        if self.left == 0:
            outcome = [rng.random() for _ in range(3)] if rng.random() < 0.7 else None
            seen = [rng.randrange(100), None, rng.randrange(100)]
            return Turn.end(seen, rewards, outcome=outcome, truncated=rng.random() < 0.3)
        seats = sorted(rng.sample(range(3), rng.randrange(1, 4)))
        views = [
            View(seat, self._seen(), self._legal(), rewards[seat])
            if seat in seats
            else View(seat, None, None, rewards[seat])
            for seat in range(3)
        ]
        return Turn(to_act=seats, seats=views)

    def _seen(self) -> Any:
        return self.rng.choice([self.rng.randrange(100), {"a": np.arange(3)}, None])

    def _legal(self) -> Any:
        legal = sorted(self.rng.sample(range(4), self.rng.randrange(1, 5)))
        return self.rng.choice([legal, bytes([sum(1 << a for a in legal)])])

    def afterstates(self, seat: int) -> Any:
        raise NotImplementedError


class Free(Mixed):
    """The same where every action is legal, and nothing is paid for a forfeit."""

    name = "free"
    forfeit = None

    def _legal(self) -> Any:
        return None


class Told(Agent):
    """Keeps what it is told; acts, and now and then misbehaves, by the seeds."""

    name = "told"
    capacity = 0
    Memory = list
    said: ClassVar[list[Any]] = []

    def step(self, decision: Decision) -> Any:
        decision.memory.append(
            [
                *(decision.seat.seat, decision.turn, decision.legal, decision.reward),
                *(repr(decision.observation), decision.mode, decision.seed),
            ]
        )
        draw = decision.rng.random()
        # One seat in a turn at most: whose answer comes first is not for the seeds to say.
        if decision.turn % 2 == 1 and decision.turn % 3 == decision.seat.seat:
            if draw < 0.1:
                return decision.rng.choice([99, -1, RESIGN])
            if draw < 0.12:
                raise ValueError("a bug in the agent")
        if decision.turn % 2 == 0 and draw < 0.2:
            self.report(draw=draw)
        if decision.turn % 2 == 0 and draw > 0.9:
            decision.refused = 2
        return decision.rng.choice(decision.legal or range(4))

    def end(self, end: End) -> None:
        self.said.append(
            [
                *(end.memory, end.seat.seat, end.reward, repr(end.observation), end.outcome),
                *(end.reason, end.blame, end.total, end.decisions, end.mode),
            ]
        )


class Many(BatchAgent):
    """The same for all that wait."""

    name = "many"
    capacity = 0

    def step_batch(self, decisions: Any) -> Any:
        return [each.rng.choice(each.legal or range(4)) for each in decisions]


def comparable(value: Any) -> Any:
    """Return a record without the numbers and times that depend on what was played when."""
    body = msgspec.to_builtins(value)
    result = body.get("result", body)
    for name in ("run", "episode", "seq"):
        result.pop(name, None)
    for name in ("time", "type", "record", "software"):
        body.pop(name, None)
    for seat in result["seats"]:
        seat.pop("seconds", None)
        seat.pop("instance", None)
        seat.pop("ignored", None)
        # The order of floating-point sums is that of the episode's turns in both.
    return body


def played(
    path: Path, kinds: tuple[Any, Any], *, agents: list[str], stacked: bool, **options: Any
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return results and records by index, and what the agents were told."""
    Told.said.clear()
    environment, others = kinds
    with InProcess([environment], others, journal=path) as experiment:
        made = [experiment.create(name, seed=n) for n, name in enumerate(agents)]
        # The games keep no promise of their spec, which the check of a first episode would find.
        options = {"check": False, **options}
        run = experiment.run(environment.name, made, stacked=stacked, seed=5, **options)
        results = sorted(map(comparable, run), key=lambda each: (each["index"], each["reason"]))
        assert experiment._inbox.seen, "nothing came"
    records = sorted(
        (comparable(each) for _, each in journal.episodes(path)),
        key=lambda each: (each["result"]["index"], each["result"]["reason"]),
    )
    return results, records, sorted(Told.said, key=repr)


CASES: dict[str, dict[str, Any]] = {
    "three seats": {"agents": ["told", "told", "many"]},
    "rotating": {"agents": ["told", "many", "told"], "rotate": True},
    "named": {"agents": ["told", "many", "told"], "rotate": True, "names": ["a", "b", "c"]},
    "truncated by the run": {"agents": ["told"] * 3, "max_turns": 3},
    "random for illegal": {"agents": ["told"] * 3, "on_illegal": "random"},
    "truncate for illegal": {"agents": ["told"] * 3, "on_illegal": "truncate", "retries": 2},
    "modes": {"agents": ["told", "told", "many"], "modes": ["learn", "evaluate", "learn"]},
    "seeds": {"agents": ["told"] * 3, "seeds": [7] * 50 + list(range(50))},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("game", [Mixed, Free])
def test_the_same_results_records_and_words(case: str, game: Any, tmp_path: Path) -> None:
    options = {"episodes": 100, "concurrency": 13, "mode": "evaluate", **CASES[case]}
    kinds = (game, [Told, Many])
    single = played(tmp_path / "single", kinds, stacked=False, **options)
    stacked = played(tmp_path / "stacked", kinds, stacked=True, **options)
    assert stacked[0] == single[0]
    assert stacked[1] == single[1]
    assert stacked[2] == single[2]
    assert all(len(set(each.get("names", "abc"))) == 3 for each in stacked[1])
    reasons = {each["reason"] for each in single[0]}
    assert {"terminated", "truncated"} <= reasons


def test_one_instance_in_several_seats(tmp_path: Path) -> None:
    def results(stacked: bool) -> Any:
        with InProcess([Mixed], [Told]) as experiment:
            told = experiment.create("told", seed=1)
            run = experiment.run(
                "mixed",
                [told, told, told],
                episodes=60,
                concurrency=8,
                mode="evaluate",
                stacked=stacked,
                check=False,
            )
            return sorted(map(comparable, run), key=lambda each: (each["index"], each["reason"]))

    assert results(True) == results(False)


@pytest.mark.parametrize("rotate", [False, True])
def test_compiled_peers_give_the_same_over_the_wire(
    rotate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every message is encoded and read as over a socket; the host is compiled or plays copies."""
    monkeypatch.setattr(stacked_runs, "PAIR", 64)  # two groups

    class Plain(ConnectFour):
        name = "plain"

    def results(game: str, *, stacked: bool) -> Any:
        server = Server()
        server.attach(EnvironmentHost([ConnectFour, Plain]))
        for name in ("one", "two"):
            server.attach(AgentHost([Random]), name)
        experiment = Experiment(LocalLink(server, m.Hello(m.VERSION, "experiment")))
        agents = [experiment.create("random", seed=n, peer=p) for n, p in enumerate(["one", "two"])]
        run = experiment.run(
            game, agents, episodes=90, concurrency=70, seed=3, rotate=rotate, stacked=stacked
        )
        return sorted(map(comparable, run), key=lambda each: each["index"])

    single = results("connect_four", stacked=False)
    assert results("connect_four", stacked=True) == single
    assert results("plain", stacked=True) == single


def test_a_game_goes_to_groups_and_comes_back_in_few_messages() -> None:
    with InProcess([ConnectFour], [Random]) as experiment:
        agents = [experiment.create("random", seed=n) for n in range(2)]
        run = experiment.run("connect_four", agents, episodes=256, concurrency=64, stacked=True)
        assert len(list(run)) == 256
        assert experiment._inbox.seen < 100, "an episode in each message"


class Vast(Agent):
    """Answers with a number that no column of actions holds."""

    name = "vast"
    capacity = 0

    def step(self, decision: Decision) -> Any:
        return 1 << 63


def test_a_number_that_no_column_holds_is_an_illegal_action() -> None:
    def results(stacked: bool) -> list[tuple[str, int | None]]:
        with InProcess([Free], [Vast]) as experiment:
            vast = [experiment.create("vast", seed=n) for n in range(3)]
            run = experiment.run("free", vast, episodes=4, concurrency=4, stacked=stacked)
            return [(each.reason, each.blame) for each in run]

    found = results(True)
    assert {reason for reason, _ in found} == {"illegal-action"}
    assert sorted(found) == sorted(results(False))


class Asking(Agent):
    """Could ask what would follow, and does so where it may."""

    name = "asking"
    capacity = 0
    needs = Needs(legal="list")

    def step(self, decision: Decision) -> Any:
        if decision.seat.lookahead:
            yield Lookahead([[each] for each in decision.legal or ()])
        return decision.rng.choice(decision.legal or [])


@pytest.mark.parametrize("game", [Mixed, Free])
def test_an_agent_that_need_not_ask_plays_the_same_and_is_named_the_same(game: Any) -> None:
    def results(stacked: bool) -> list[Any]:
        with InProcess([game], [Asking]) as experiment:
            made = [experiment.create("asking", seed=n) for n in range(3)]
            options: Any = {"episodes": 20, "concurrency": 5, "retries": 0, "stacked": stacked}
            run = experiment.run(game.name, made, check=False, **options)
            return sorted(map(comparable, run), key=lambda each: each["index"])

    found = results(True)
    assert found == results(False)
    assert any("asking needs" in each.get("message", "") for each in found) == (game is Free)
