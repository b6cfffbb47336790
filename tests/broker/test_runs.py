"""Runs: the order of episodes, how many are played at once, and who may do what."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from tests.broker.conversation import Conversation, Voice

from dovetail.broker.core.core import Settings
from dovetail.broker.matches import matches as matches_module
from dovetail.broker.peers.limits import MATCHES
from dovetail.broker.peers.peers import COMPLAINTS
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.spaces import Discrete, Space

SPACES: list[Space] = [Discrete(3)]

# -- the order of episodes -------------------------------------------------------------------------


def heard(voice: Voice, kind: type[m.Message]) -> list[Any]:
    """Return the messages of a type that a peer has heard, and empty its queue."""
    found = [each for each in voice.heard if isinstance(each, kind)]
    voice.heard.clear()
    return found


def second_run(capacity: int, **run: Any) -> Conversation:
    """Begin a run in which one agent of some capacity holds both seats; all its matches are
    open."""
    table = Conversation().opens()
    heard(table.environment, m.EnvironmentStart)
    Voice(table, "agent", "both", m.Offer("both", capacity=capacity, instance=True))
    table.experiment.says(m.Run(2, "game", ["both", "both"], **run))
    for each in heard(table.environment, m.Open):
        table.environment.says(m.Spec(each.match, "game", 2, SPACES, SPACES))
    heard(table.experiment, m.Reply)
    return table


@pytest.mark.rule("S7.9")
def test_episodes_begin_in_order_and_as_many_at_once_as_the_run_says() -> None:
    table = second_run(0, episodes=4, concurrency=2, seed=3)
    begun = heard(table.environment, m.EnvironmentStart)
    assert len(begun) == 2
    table.environment.says(m.Turn(begun[1].episode, 0, [], [], terminated=True))
    [third] = heard(table.environment, m.EnvironmentStart)
    table.environment.says(m.Turn(third.episode, 0, [], [], terminated=True))
    table.environment.says(m.Turn(begun[0].episode, 0, [], [], terminated=True))
    results = heard(table.experiment, m.Episode)
    assert [each.index for each in results] == [1, 2, 0]
    assert len({each.seed for each in results}) == 3


@pytest.mark.rule("S7.9")
@pytest.mark.parametrize("first", [2**63 - 1, 2**64 - 1])
def test_every_index_is_an_integer_that_travels(first: int) -> None:
    with pytest.raises(AssertionError, match=r"2 episodes from index .* indices may be 0 to 2"):
        Conversation(episodes=2, first_index=first)
    last = Conversation(episodes=2, first_index=2**63 - 2)
    last.opens().environment.hears(m.EnvironmentStart)


@pytest.mark.rule("S7.9")
def test_agents_that_rotate_share_the_seed_of_a_round() -> None:
    table = Conversation(episodes=4, rotate=True).opens()
    seeds, seats = [], []
    for _ in range(4):
        start = table.environment.hears(m.EnvironmentStart)
        seeds.append(start.seed)
        table.environment.says(m.Turn(start.episode, 0, [], [], terminated=True))
        seats.append([heard(agent, m.End)[0].seat for agent in table.agents])
    assert seats == [[0, 1], [1, 0], [0, 1], [1, 0]]
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]


@pytest.mark.rule("S7.8")
def test_an_instance_plays_as_many_episodes_at_once_as_its_capacity() -> None:
    table = second_run(2, episodes=5, concurrency=4)
    begun = heard(table.environment, m.EnvironmentStart)
    assert len(begun) == 2  # though it holds both seats of each, and four matches are open
    table.environment.says(m.Turn(begun[0].episode, 0, [], [], terminated=True))
    assert len(heard(table.environment, m.EnvironmentStart)) == 1


def test_an_agent_that_is_free_again_plays_in_another_run() -> None:
    table = second_run(1, episodes=2)
    [first] = heard(table.environment, m.EnvironmentStart)
    table.experiment.says(m.Run(3, "game", ["both", "both"]))
    [opened] = heard(table.environment, m.Open)
    table.environment.says(m.Spec(opened.match, "game", 2, SPACES, SPACES))
    assert not heard(table.environment, m.EnvironmentStart)
    second = list(table.core.runs)[1].number
    table.experiment.says(m.Pause(4, second))
    table.environment.says(m.Turn(first.episode, 0, [], [], terminated=True))
    [begun] = heard(table.environment, m.EnvironmentStart)
    assert begun.match == opened.match


def test_the_end_of_an_episode_looks_at_no_run_that_shares_no_agent() -> None:
    table = second_run(1, episodes=2)
    [first] = heard(table.environment, m.EnvironmentStart)
    unrelated: Any = None  # using it fails
    table.core.runs._runs[-1] = unrelated
    table.environment.says(m.Turn(first.episode, 0, [], [], terminated=True))
    assert heard(table.environment, m.EnvironmentStart)


@pytest.mark.rule("S11.3")
def test_a_run_opens_no_more_matches_than_the_limit() -> None:
    table = Conversation(episodes=10**6, concurrency=10**6)
    assert 1 + len(heard(table.environment, m.Open)) == MATCHES == 4096


@pytest.mark.rule("S11.3")
def test_complaints_end_until_the_next_pong() -> None:
    table = Conversation()
    agent = table.agents[0]

    def complaints(frames: int) -> int:
        for _ in range(frames):
            table.core.refuse(agent.address, ProtocolError("malformed", "no"), table.now)
            table.carry()
        return len(heard(agent, m.Error))

    assert complaints(COMPLAINTS + 50) == COMPLAINTS == 100
    agent.says(m.Pong(1))
    assert complaints(1) == 1


# -- who may do what -------------------------------------------------------------------------------


@pytest.mark.rule("S13.3")
@pytest.mark.parametrize("kind", [m.Pause, m.Drain, m.ExperimentStart, m.ExperimentStep])
def test_only_its_experiment_may_direct_a_run(kind: Any) -> None:
    table = Conversation(stepwise=True)
    other = Voice(table, "experiment", "other")
    other.says(kind(1, table.run))
    other.hears(m.Error, id=1, code="unknown")
    other.says(m.Cancel(2, run=table.run))
    other.hears(m.Error, id=2, code="unknown")
    assert [each.machine.state for each in table.core.runs] == ["running"]


@pytest.mark.rule("S13.3")
def test_only_who_holds_a_seat_or_a_match_may_answer_for_it() -> None:
    table = Conversation().opens()
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    other, agent = table.agents[1], table.agents[0]
    agent.hears(m.Init)
    decision = agent.hears(m.AgentStart)
    other.hears(m.Init)
    other.acts(0, decision)
    other.hears(m.Error, code="illegal")
    stranger = Voice(table, "environment", "stranger", m.Offer("other"))
    stranger.says(m.Turn(decision.episode, 1, [], [], terminated=True))
    assert not table.environment.heard
    agent.acts(0, decision)
    table.environment.hears(m.EnvironmentStep)
    stranger.says(m.Turn(decision.episode, 1, [], [], terminated=True))
    assert not table.experiment.heard


@pytest.mark.rule("S7.13", "S13.3")
def test_a_secret_run_is_not_shown() -> None:
    table = Conversation(secret=True)
    watcher = Voice(table, "observer", "eyes")
    watcher.says(m.Watch(1))
    watcher.hears(m.Reply, id=1)
    table.opens()
    table.environment.hears(m.EnvironmentStart, watched=False)
    watcher.says(m.Watch(2, table.run))
    watcher.hears(
        m.Error, id=2, code="access", message=f"run {table.run} is secret; it is not shown"
    )
    table.environment.turns(terminated=True)
    assert table.experiment.hears(m.Episode).reason == "terminated"
    assert not watcher.heard


@pytest.mark.rule("S7.12", "S13.3")
@pytest.mark.parametrize("role", ["observer", "experiment"])
def test_the_catalogue_names_peers_offers_instances_runs_and_counters(role: m.Role) -> None:
    table = Conversation(episodes=3).opens()
    table.environment.hears(m.EnvironmentStart)
    reader = Voice(table, role, "reader")
    reader.says(m.Catalogue(1))
    found = reader.hears(m.Reply, id=1).body
    found = found if isinstance(found, dict) else {f: getattr(found, f) for f in KEYS}
    assert {*found} == KEYS
    names = [each["name"] for each in found["peers"]]
    assert names == ["rules", "p0", "p1", "trial", "reader"]
    assert {*found["peers"][0]} == {"name", "role", "state", "software"}
    assert [(each["name"], each["peer"]) for each in found["environments"]] == [("game", "rules")]
    assert [each["name"] for each in found["agents"]] == ["p0", "p1"]
    assert [each["busy"] for each in found["instances"]] == [1, 1]
    [run] = found["runs"]
    assert (run["run"], run["environment"], run["state"]) == (table.run, "game", "running")
    assert (run["finished"], run["playing"], run["episodes"]) == (0, 1, 3)
    assert found["kept"] == []
    assert {*found["counters"]} == {"turns", "episodes", "ignored", "refused"}


KEYS = {"peers", "environments", "agents", "instances", "runs", "kept", "counters"}


@pytest.mark.rule("S13.3", "S4.12")
def test_a_session_token_takes_the_session_over() -> None:
    table = Conversation().opens()
    agent = table.agents[0]
    before = agent.address
    agent.heard.clear()
    assert agent.returns().resumed
    assert table.core.role(before) is None
    assert table.core.role(agent.address) == "agent"


@pytest.mark.rule("S13.1")
def test_without_a_token_every_peer_is_welcome() -> None:
    table = Conversation(settings=Settings(token=None))
    Voice(table, "observer", "anyone")


def test_what_is_over_leaves_nothing_in_the_timers() -> None:
    """A deadline may be far away, and episodes short; what waits for it must not grow with them."""
    table = Conversation(episodes=50, clock=m.ClockRule(decision=600.0), answer_timeout=600.0)
    table.opens()
    sizes: set[int] = set()
    for _ in range(50):
        table.environment.hears(m.EnvironmentStart)
        table.environment.turns(0)
        if not sizes:
            table.agents[0].hears(m.Init)
        table.agents[0].hears(m.AgentStart)
        table.agents[0].acts(0)
        table.environment.hears(m.EnvironmentStep)
        table.environment.turns(terminated=True, outcome=[1.0, 0.0])
        table.agents[0].hears(m.End)
        sizes.add(len(table.core.broker.timers.heap))
    assert sizes == {1}


def test_an_environment_plays_as_many_matches_at_once_as_it_offers() -> None:
    table = Conversation().opens()
    Voice(table, "agent", "both", m.Offer("both", capacity=0, instance=True))
    rare = Voice(table, "environment", "one", m.Offer("rare", matches=1))
    table.experiment.says(m.Run(2, "rare", ["both", "both"], episodes=2, concurrency=4))
    table.experiment.says(m.Run(3, "rare", ["both", "both"]))
    [opened] = heard(rare, m.Open)  # of two runs, which may play five at once
    rare.says(m.Spec(opened.match, "rare", 2, SPACES, SPACES))
    table.at(5.0)
    told = [each for each in table.core.runs if each.asked.id == 3]
    assert "plays as many matches as it can" in told[0].told.waiting
    for _ in range(2):
        [begun] = heard(rare, m.EnvironmentStart)
        assert begun.match == opened.match
        rare.says(m.Turn(begun.episode, 0, [], [], terminated=True))
    [other] = heard(rare, m.Open)  # the first run is over
    rare.says(m.Spec(other.match, "rare", 2, SPACES, SPACES))
    [begun] = heard(rare, m.EnvironmentStart)
    rare.says(m.Turn(begun.episode, 0, [], [], terminated=True))
    assert [each.reason for each in heard(table.experiment, m.Done)] == ["finished"] * 2


def test_a_run_waits_for_room_at_an_environment_whose_other_program_is_gone() -> None:
    table = Conversation().opens()
    Voice(table, "agent", "both", m.Offer("both", capacity=0, instance=True))
    places = [Voice(table, "environment", n, m.Offer("rare", matches=1)) for n in ("a", "b")]
    table.experiment.says(m.Run(2, "rare", ["both", "both"], episodes=3, concurrency=2, retries=0))
    for place in places:
        [opened] = heard(place, m.Open)
        place.says(m.Spec(opened.match, "rare", 2, SPACES, SPACES))
    places[0].says(m.Bye())
    for _ in range(3):
        for begun in heard(places[1], m.EnvironmentStart):
            places[1].says(m.Turn(begun.episode, 0, [], [], terminated=True))
    assert [each.reason for each in heard(table.experiment, m.Done)] == ["finished"]


def test_matches_are_counted_only_where_there_may_be_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of 4,096 counted those before it, which took 0.2 s for a run."""
    counted = Mock(wraps=sum)
    monkeypatch.setattr(matches_module, "sum", counted, raising=False)
    table = Conversation()
    rare = Voice(table, "environment", "rare", m.Offer("rare", matches=50))
    table.experiment.says(m.Run(2, "rare", ["p0", "p1"], episodes=999, concurrency=200))
    assert len(heard(rare, m.Open)) == 50
    assert counted.call_count <= 1
