"""Thousands of schedules of cuts, repeats, deaths and rubbish, and what must hold in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.broker.simulator import Faults, Simulator

from dovetail import Agent, Environment, InProcess, Spec, Turn, View
from dovetail.broker.runs import stacked
from dovetail.peer.agents.agent import Decision
from dovetail.peer.agents.agent import End as Ended
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.protocol import messages as m
from dovetail.protocol.journal import EpisodeRecord
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Discrete

EPISODES = 4

Reference = dict[int, tuple[int, int, list[float]]]
"""Seed, turns and totals of each episode."""


class Dice(Environment):
    """Two to four turns, sometimes simultaneous, sometimes the same seat again; all by the seed."""

    def init(self) -> Spec:
        return Spec(
            seats=3,
            observation_spaces=[Discrete(1 << 20)],
            action_spaces=[Discrete(4)],
            forfeit=(-1.0, 0.5),
        )

    def start(self, seed: int) -> Turn:
        self.seed, self.time = seed, 0
        self.length = 2 + derive(seed, "length") % 3
        return self._turn([])

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.time += 1
        self.seed = derive(self.seed, *(f"{s}:{a}" for s, a in sorted(actions.items())))
        return self._turn(sorted(actions))

    def _turn(self, moved: list[int]) -> Turn:
        if self.time == self.length:
            views = [View(s, 0, reward=1.0 if s in moved else -1.0) for s in range(3)]
            return Turn(seats=views, terminated=True, outcome=[1.0, 0.0, 0.0])
        number = derive(self.seed, "who") % 7 + 1
        to_act = [s for s in range(3) if number >> s & 1]
        views = [View(s, self.seed % 1000 + s, [0, 1, 2, 3][: 1 + s], 0.5) for s in to_act]
        return Turn(to_act=to_act, seats=views)


class Same(Dice):
    """The same with equal actions for all, so that it is played in groups."""

    name = "dice"

    def init(self) -> Spec:
        return Spec(seats=3, observation_spaces=[Discrete(1 << 20)], action_spaces=[Discrete(4)])


class StackArrays:
    """The messages to the agents of one life of one program."""

    def __init__(self) -> None:
        self.started: Counter[tuple[int, int]] = Counter()
        self.ended: Counter[tuple[int, int]] = Counter()
        self.rewards: dict[tuple[int, int], float] = {}
        self.totals: dict[tuple[int, int], float] = {}


def gambler(ledger: StackArrays) -> type[Agent]:
    class Gambler(Agent):
        name = "gambler"
        capacity = 0

        def start(self, turn: Decision) -> Any:
            ledger.started[turn.episode, turn.seat.seat] += 1
            return self.step(turn)

        def step(self, turn: Decision) -> Any:
            key = (turn.episode, turn.seat.seat)
            ledger.rewards[key] = ledger.rewards.get(key, 0.0) + turn.reward
            assert turn.legal is not None
            return turn.rng.choice(turn.legal)

        def end(self, end: Ended) -> None:
            key = (end.episode, end.seat.seat)
            ledger.ended[key] += 1
            ledger.totals[key] = end.total
            ledger.rewards[key] = ledger.rewards.get(key, 0.0) + end.reward

    return Gambler


class Script:
    """An experiment: make three agents, play, keep the results; begins again if it is forgotten.

    With ``substitute`` a fourth agent plays for those that are lost.
    """

    role: m.Role = "experiment"

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.begin()

    def begin(self) -> None:
        self.instances: list[int] = []
        self.open: dict[int, m.Message] = {}
        self.episodes: dict[int, m.Episode] = {}
        self.done: list[m.Done] = []
        self.runs: list[int] = []
        self.next = 1

    def offers(self) -> list[m.Offer]:
        return []

    def ask(self, message: Any) -> m.Message:
        self.open[message.id] = message
        self.next += 1
        asked: m.Message = message
        return asked

    def handle(self, incoming: Sequence[m.Message]) -> list[m.Message]:
        out: list[m.Message] = []
        for message in incoming:
            match message:
                case m.Welcome() if message.resumed:
                    out += self.open.values()
                case m.Welcome():
                    self.begin()
                    out.append(self.ask(m.ExperimentCreate(self.next, "gambler", seed=1)))
                case m.Error(id=int(number)) if number in self.open:
                    del self.open[number]
                    if not self.done:  # whatever it was, make new agents
                        self.instances = []
                        out.append(self.ask(m.ExperimentCreate(self.next, "gambler", seed=1)))
                case m.Reply() if message.id in self.open:
                    del self.open[message.id]
                    out += self.answered(message.body)
                case m.Episode():
                    self.episodes[message.episode] = message
                case m.Episodes():
                    self.episodes.update({each.episode: each for each in message.results})
                case m.Done():
                    self.done.append(message)
        return out

    def answered(self, body: Any) -> list[m.Message]:
        if "instance" in body:
            self.instances.append(body["instance"])
            substitute = self.options.get("on_agent_lost") == "substitute"
            if len(self.instances) < 3 + substitute:
                return [self.ask(m.ExperimentCreate(self.next, "gambler", seed=1))]
            usual = {"episodes": EPISODES, "seed": 5, "concurrency": 2, "check": True}
            run = m.Run(
                self.next,
                "dice",
                list(self.instances[:3]),
                substitutes=list(self.instances[3:]),
                **{**usual, **self.options},
            )
            return [self.ask(run)]
        self.runs.append(body["run"])
        return []


@pytest.fixture(scope="module")
def reference() -> Reference:
    """The episodes in process, when nothing goes wrong."""
    with InProcess([Dice], [gambler(StackArrays())]) as experiment:
        agents = [experiment.create("gambler", seed=1) for _ in range(3)]
        run = experiment.run("dice", agents, episodes=EPISODES, seed=5)
        return {e.index: (e.seed, e.turns, [s.total for s in e.seats]) for e in run}


SCHEDULES = [
    Faults(cut=0.03, repeat=0.05),
    Faults(cut=0.02, repeat=0.02, death=0.01, rubbish=0.02),
    Faults(cut=0.08, absence=4.0),
    Faults(death=0.03, delay=2.0),
    Faults(repeat=0.3, delay=0.5, rubbish=0.1),
]
KILLS = [
    Faults(kill=0.02),
    Faults(kill=0.05, cut=0.03, repeat=0.05, disk=0.02),
    Faults(kill=0.02, cut=0.02, death=0.01, rubbish=0.02, snapshot=0.2),
    Faults(kill=0.1, outage=1.0, snapshot=0.0),
    Faults(kill=0.03, delay=1.0, absence=4.0, disk=0.1),
]
"""The broker dies, too."""
STALLS = [
    Faults(stall=0.02),
    Faults(stall=0.03, cut=0.02, repeat=0.02, disk=0.02),
    Faults(stall=0.02, kill=0.02, death=0.01),
]
"""The broker and its peers stand still at times, and their clocks with them."""


def play(
    seed: int,
    reference: Reference,
    schedules: list[Faults] = SCHEDULES,
    substituted: list[int] | None = None,
) -> str:
    """Play a schedule; return how its run ended, and note the episodes in which a substitute
    played."""
    faults = schedules[seed % len(schedules)]
    simulator = Simulator(seed, faults)
    ledgers: list[tuple[StackArrays, object]] = []

    def agents() -> AgentHost:
        ledger = StackArrays()
        host = AgentHost([gambler(ledger)])
        ledgers.append((ledger, host))
        return host

    policy: list[dict[str, Any]] = [
        {},
        {"on_agent_lost": "wait", "save_every": 1},
        {"on_agent_lost": "substitute"},
    ]
    script = Script(**policy[seed % 3 if schedules is KILLS else 0])
    wires = [simulator.add(agents), simulator.add(agents)]
    environments = [simulator.add(lambda: EnvironmentHost([Dice])) for _ in range(2)]
    simulator.add(lambda: script, mortal=False)
    simulator.run(lambda: bool(script.done), 300.0)
    simulator.faulty = False
    simulator.run(lambda: bool(script.done) and simulator.core.idle, 600.0)
    # Whoever still lives hears everything that was meant for it.
    simulator.run(lambda: False, 30.0)

    assert simulator.core.idle
    if any(wire.alive for wire in wires) and any(wire.alive for wire in environments):
        assert script.done, "the run neither finished nor failed"
    living = [wire.program for wire in wires if wire.alive]
    for ledger, host in ledgers:
        for key, count in ledger.started.items():
            assert count == 1, "a decision was asked for twice"
            if host in living:
                assert ledger.ended[key] == 1, f"{key} heard {ledger.ended[key]} ends"
        for key, count in ledger.ended.items():
            assert count == 1
            if key in ledger.totals and ledger.totals[key] and host in living:
                assert ledger.rewards[key] == pytest.approx(ledger.totals[key])
    played = [record for record in simulator.records if isinstance(record, EpisodeRecord)]
    numbers = Counter(record.result.episode for record in played)
    assert all(count == 1 for count in numbers.values())
    by_run: dict[int, Counter[int]] = {}
    for record in played:
        result = record.result
        if result.scored:
            by_run.setdefault(result.run, Counter())[result.index] += 1
        if any(seat.stands_for is not None for seat in result.seats):
            assert not result.scored
            if substituted is not None:
                substituted.append(result.index)
        elif result.reason == "terminated":
            totals = [seat.total for seat in result.seats]
            assert (result.seed, result.turns, totals) == reference[result.index]
    for scored in by_run.values():
        assert all(count == 1 for count in scored.values()), "an episode counted twice"
    if script.done and script.done[-1].reason == "finished":
        finals = [
            e for e in script.episodes.values() if not e.will_retry and e.run == script.runs[-1]
        ]
        assert sorted(e.index for e in finals) == list(range(EPISODES))
    return script.done[-1].reason if script.done else "none"


def some(first: int, then: int) -> pytest.MarkDecorator:
    """Try the first seeds always, and the others with the slow tests."""
    more = pytest.param(range(first, then), marks=pytest.mark.slow)
    return pytest.mark.parametrize("seeds", [range(first), more], ids=["some", "more"])


@pytest.mark.long
@some(600, 1000)
@pytest.mark.learners
def test_invariants_hold_under_random_schedules(reference: Reference, seeds: range) -> None:
    reasons = Counter(play(seed, reference) for seed in seeds)
    assert reasons["finished"] > len(seeds) / 6
    assert reasons["failed"] > len(seeds) / 60, "the schedules are too kind to test anything"


@pytest.mark.long
@some(200, 400)
@pytest.mark.learners
def test_invariants_hold_if_programs_stand_still(reference: Reference, seeds: range) -> None:
    gentle = {play(seed, reference, STALLS) for seed in seeds if not seed % 3}
    assert gentle == {"finished"}, "standing still for less than the peer timeout cost a run"
    others = Counter(play(seed, reference, STALLS) for seed in seeds if seed % 3)
    assert others["finished"] > len(seeds) / 3


def deaths(reference: Reference, seeds: range) -> None:
    for gentle in (0, 3):  # nothing else dies or is away for long: every run ends with its results
        ends = {play(seed, reference, KILLS) for seed in seeds if seed % 5 == gentle}
        assert ends == {"finished"}
    substituted: list[int] = []
    others = Counter(
        play(seed, reference, KILLS, substituted) for seed in seeds if seed % 5 not in (0, 3)
    )
    assert others["finished"] > len(seeds) // 4
    assert substituted


@pytest.mark.long
@some(200, 400)
@pytest.mark.learners
def test_invariants_hold_if_the_broker_dies(reference: Reference, seeds: range) -> None:
    deaths(reference, seeds)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_invariants_hold_if_the_broker_dies_a_thousand_times(reference: Reference) -> None:
    deaths(reference, range(1000, 3000))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_invariants_hold_under_ten_thousand_schedules(reference: Reference) -> None:
    reasons = Counter(play(seed, reference) for seed in range(10_000, 20_000))
    print(dict(reasons))
    assert reasons["finished"] > 1000


def learner(heard: list[list[Any]]) -> type[Agent]:
    class Learner(Agent):
        """Learns from all of its episodes at once: what it has heard decides what it plays."""

        name = "gambler"
        capacity = 0

        def step(self, turn: Decision) -> Any:
            mine = heard[turn.seat.seat]
            mine.append((turn.seed, turn.turn, turn.reward))
            assert turn.legal is not None
            return turn.legal[derive(len(mine), repr(mine[-1])) % len(turn.legal)]

        def end(self, end: Ended) -> None:
            heard[end.seat.seat].append((end.total, end.reason))

    return Learner


def learned(seed: int, faults: Faults) -> list[list[Any]]:
    """Return what three learners in two programs hear of groups in three others."""
    simulator = Simulator(seed, faults)
    heard: list[list[Any]] = [[], [], []]
    options = {"stacked": True, "concurrency": 12, "episodes": 100, "check": None}
    script = Script(**options)
    for _ in range(2):
        simulator.add(lambda: AgentHost([learner(heard)]), mortal=False)
    for _ in range(3):
        simulator.add(lambda: EnvironmentHost([Same]), mortal=False)
    simulator.run(lambda: len(simulator.core.broker.sessions) == 5, 60.0)
    simulator.add(lambda: script, mortal=False)
    simulator.run(lambda: bool(script.done), 5000.0)
    assert [each.reason for each in script.done] == ["finished"]
    assert len(script.episodes) == 100
    simulator.faulty = False
    simulator.run(lambda: False, 60.0)  # the last of them are heard of
    return heard


@pytest.mark.long
@pytest.mark.parametrize(
    "faults", [Faults(delay=2.0), Faults(delay=1.0, kill=0.01, outage=1.0)], ids=["delays", "kills"]
)
def test_groups_that_learn_repeat_whoever_answers_first(
    monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    monkeypatch.setattr(stacked, "PAIR", 8)  # three groups of four slots
    heard = [learned(seed, faults) for seed in range(5)]
    assert all(len(each) > 100 for each in heard[0])
    assert all(each == heard[0] for each in heard)
