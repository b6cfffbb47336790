"""Sessions: names, hello said twice, what is sent again after a connection was lost."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from msgspec.msgpack import Ext
from msgspec.structs import replace
from tests.broker.conversation import Conversation, Voice

from dovetail.broker.core.core import Core, Settings
from dovetail.broker.core.intake import Intake
from dovetail.protocol import codec
from dovetail.protocol import messages as m


def answer(core: Core, address: str, hello: m.Message, now: float = 0.0) -> Any:
    """Say hello; return the one answer that comes back to it."""
    core.receive(address, hello, now)
    [found] = [message for to, message in core.take()[1] if to == address]
    return found


@pytest.fixture
def core() -> Core:
    return Core(Settings(), b"")


def test_a_frame_at_which_the_broker_fails_costs_its_sender_the_session(
    core: Core, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for address in ("a", "b"):
        answer(core, address, m.Hello(1, "observer", address))

    def fail(*taken: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(core._handlers["observer"], m.Catalogue, fail)
    intake = Intake(core)
    frame = codec.encode(m.Catalogue(1))
    intake.take("a", [frame, codec.encode(m.Ping(1))], 0.0)
    error, bye = (message for _, message in core.take()[1])
    assert isinstance(error, m.Error)
    assert error.code == "crashed"
    assert isinstance(bye, m.Bye)
    assert "ZeroDivisionError" in caplog.text
    assert list(core.broker.dropped) == ["a"]
    intake.take("b", [codec.encode(m.Ping(2))], 0.0)
    assert core.take()[1] == [("b", m.Pong(2))]
    monkeypatch.setattr(core._sessions, "greet", fail)
    intake.take("c", [codec.encode(m.Hello(1, "observer"))], 0.0)
    [(to, error)] = core.take()[1]
    assert isinstance(error, m.Error)
    assert (to, error.code) == ("c", "crashed")
    assert "c" in core.broker.dropped


@pytest.mark.rule("S4.9", "S4.10")
def test_the_pings_of_a_crowd_grow_slower_than_the_crowd(core: Core) -> None:
    told = {
        address: answer(core, address, m.Hello(1, "agent", address))
        for address in (f"{number}" for number in range(4000))
    }
    assert [told[each].heartbeat for each in ("0", "62", "255", "3999")] == [1.0, 1.0, 4.0, 30.0]
    assert [told[each].peer_timeout for each in ("0", "255", "3999")] == [30.0, 30.0, 90.0]
    heard = dict.fromkeys(told, 0)
    for now in range(1, 90):
        core.tick(float(now))
        out = core.take()[1]
        for to, message in out:
            if isinstance(message, m.Ping):
                heard[str(to)] += 1
                if to != "255":
                    core.receive(to, m.Pong(message.number), float(now))
    assert [heard[each] for each in ("0", "62", "3999")] == [89, 89, 3]
    assert heard["255"] == 8  # given up after 30 s of silence
    assert sum(heard.values()) < 89 * len(told) / 10


AGENT = m.Hello(1, "agent", "north", [m.Offer("deep", instance=True)])


@pytest.mark.rule("S4.3", "S4.4")
def test_a_name_is_held_by_who_is_present(core: Core) -> None:
    assert answer(core, "a", AGENT).name == "north"
    for other in (m.Hello(1, "agent", "north"), m.Hello(1, "observer", "north")):
        assert answer(core, "b", other).code == "name-taken"
    deep = m.Hello(1, "agent", "south", [m.Offer("deep", instance=True)])
    assert "another agent is called 'deep'" in answer(core, "b", deep).message


def test_no_entrant_takes_a_name_that_another_needs(core: Core) -> None:
    core.broker.entrant = {"1": "ann", "2": "bob"}.get
    ann, bob = (replace(AGENT, token=token) for token in "12")
    assert answer(core, "a", ann).name == "ann/north"
    assert answer(core, "b", bob).name == "bob/north"
    assert answer(core, "c", ann).code == "name-taken"
    again = answer(core, "a", ann)  # the first was lost
    assert again.name == "ann/north"
    answer(core, "e", m.Hello(1, "experiment"))
    body = answer(core, "e", m.Catalogue(1)).body
    assert [each["agent"] for each in body["instances"]] == ["ann/deep", "bob/deep"]
    assert all("address" not in each for each in body["peers"])
    core.broker.origin = lambda address: "10.0.0.7" if address == "a" else ""
    peers = answer(core, "e", m.Catalogue(2)).body["peers"]
    assert {each["name"]: each.get("address") for each in peers}["ann/north"] == "10.0.0.7"


@pytest.mark.parametrize(
    "name",
    [
        *("\x1b[2J", "a\nb", "\x9b31m", "\x7f", "a\u202egpj", "\u2066b"),
        *("ann\u200b", "\ufeffann", "an\xadn", "an\u200dn", "\ufe0fann", "ann\u3164"),
        *map("an{}n".format, "\u00a0\u1680\u2000\u200a\u202f\u205f\u2800\u3000"),
        "ي\u200c\u200d",
    ],
)
def test_what_a_terminal_would_obey_or_cannot_be_seen_is_in_no_name(core: Core, name: str) -> None:
    offer = [m.Offer(name)]
    for hello in (
        m.Hello(1, "observer", name),
        m.Hello(1, "agent", offers=offer),
        m.Hello(1, "agent", software=name),
    ):
        error = answer(core, "a", hello)
        assert error.code == "invalid"
        assert name not in error.message


@pytest.mark.parametrize("name", ["می‌خواهم", "क्‍ष", "👩‍🔬", "❤️ q", "Zoë", "日本"])
def test_a_name_may_be_of_any_script(core: Core, name: str) -> None:
    assert answer(core, "a", m.Hello(1, "observer", name)).name == name


@pytest.mark.rule("S14.1")
@pytest.mark.parametrize("field", [{"role": "referee"}, {"offers": 3}, {"name": []}])
def test_a_hello_of_another_version_is_refused_as_that_whatever_it_says(
    core: Core, field: dict[str, Any]
) -> None:
    for version, code in ((2, "version"), (1, "invalid")):
        hello = {"type": "hello", "version": version, "role": "agent", **field}
        Intake(core).take("a", [codec.encode(hello)], 0.0)
        [(_, error)] = core.take()[1]
        assert isinstance(error, m.Error)
        assert error.code == code
    Intake(core).take("a", [codec.encode({"type": "catalogue", "version": 2})], 0.0)
    assert [each.code for _, each in core.take()[1]] == ["hello-first"]  # type: ignore[attr-defined]


@pytest.mark.rule("S4.5")
@pytest.mark.parametrize(
    "value", [np.arange(3), b"bytes", Ext(5, b""), {1: 2}, nan, datetime(2026, 1, 1, tzinfo=UTC)]
)
def test_parameters_are_what_json_has(core: Core, value: Any) -> None:
    """Otherwise the catalogue, which shows them to all, could not be made."""
    parameters = {"size": {"enum": [1, value], "default": inf, "title": None}}
    wrong = m.Hello(1, "environment", "e", [m.Offer("game", parameters=parameters)])
    assert answer(core, "a", wrong).code == "invalid"
    parameters = {"size": {"enum": [1, 2], "default": inf, "title": None}}
    right = m.Hello(1, "environment", "e", [m.Offer("game", parameters=parameters)])
    assert answer(core, "a", right).name == "e"
    assert answer(core, "a", wrong).code in ("invalid", "wrong-state")
    assert answer(core, "a", right).name == "e"  # the welcome again
    answer(core, "b", m.Hello(1, "observer"))
    core.receive("b", m.Catalogue(1), 0.0)
    [(_, reply)] = core.take()[1]
    assert isinstance(reply, m.Reply)
    assert reply.body["environments"][0]["parameters"] == parameters


@pytest.mark.rule("S4.4")
@pytest.mark.parametrize("name", ["north", "south"])
def test_a_name_of_one_who_is_away_is_taken_over(core: Core, name: str) -> None:
    first = answer(core, "a", AGENT)
    core.lost("a", 1.0)
    again = m.Hello(1, "agent", name, AGENT.offers)  # by its own name, or that of its agent
    assert type(answer(core, "b", again, 1.0)) is m.Welcome
    assert [each.peer.name for each in core.instances] == [name]
    resume = m.Hello(1, "agent", "east", resume=first.session)
    assert not answer(core, "c", resume, 1.0).resumed


def test_taking_over_ends_what_the_old_session_was_in() -> None:
    table = Conversation().opens()
    table.environment.hears(m.EnvironmentStart)
    table.core.lost(table.agents[0].address, 0.0)
    Voice(table, "agent", "p0")
    table.agents[1].hears(m.Init)
    table.agents[1].hears(m.End, reason="disconnected", blame=0)
    table.experiment.hears(m.Episode)
    done = table.experiment.hears(m.Done, reason="failed")
    assert done.message == "p0 (p0) was replaced by another 'p0'"


@pytest.mark.rule("S4.3")
def test_names_that_the_broker_chooses_are_unique(core: Core) -> None:
    number = int(answer(core, "a", m.Hello(1, "agent")).name.removeprefix("agent-"))
    taken = {f"agent-{number + ahead}" for ahead in range(1, 4)}
    for name in sorted(taken):
        answer(core, name, m.Hello(1, "observer", name))
    names = {answer(core, f"later {n}", m.Hello(1, "agent")).name for n in range(3)}
    assert len(names) == 3
    assert not names & taken


@pytest.mark.rule("S4.6")
def test_the_same_hello_twice_gets_the_same_welcome(core: Core) -> None:
    first = answer(core, "a", AGENT)
    assert answer(core, "a", AGENT, 2.0) == first
    assert answer(core, "a", m.Hello(1, "agent", "other"), 2.0).code == "wrong-state"
    core.receive("a", m.Ping(1), 3.0)
    core.take()
    assert answer(core, "a", AGENT, 4.0).code == "wrong-state"
    assert answer(core, "a", m.Hello(1, "agent", resume=first.session), 5.0).resumed


@pytest.mark.rule("S4.5", "S14.1")
@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (m.Hello(99, "agent"), "version"),
        (m.Hello(1, "agent", offers=[m.Offer("a"), m.Offer("a")]), "invalid"),
        (m.Hello(1, "experiment", offers=[m.Offer("a")]), "invalid"),
        (m.Hello(1, "observer", offers=[m.Offer("a")]), "invalid"),
    ],
)
def test_a_hello_that_makes_no_sense_is_refused(core: Core, hello: m.Hello, code: str) -> None:
    assert answer(core, "a", hello).code == code
    assert core.role("a") is None


@pytest.mark.rule("S13.1")
def test_the_access_token_is_asked_for() -> None:
    core = Core(Settings(token="open sesame"), b"")
    for token in (None, "", "open", "\ud800"):
        assert answer(core, "a", m.Hello(1, "agent", token=token)).code == "access"
    assert type(answer(core, "a", m.Hello(1, "agent", token="open sesame"))) is m.Welcome


class Secret(str):
    """A token that must not be compared as text is: the time that takes tells how much of it is
    right."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise AssertionError(f"compared with {other!r}")


def test_each_token_is_looked_up_once_and_the_brokers_takes_the_same_time() -> None:
    core, asked = Core(Settings(token=Secret("open sesame")), b""), []

    def entrant(token: str) -> str | None:
        asked.append(token)
        return "ada" if token == "hers" else None

    core.broker.entrant = entrant
    assert answer(core, "a", m.Hello(1, "agent", token="wrong")).code == "access"
    assert type(answer(core, "b", m.Hello(1, "agent", token="hers"))) is m.Welcome
    assert type(answer(core, "c", m.Hello(1, "agent", token="open sesame"))) is m.Welcome
    assert asked == ["wrong", "hers"]
    assert [peer.entrant for peer in core.broker.sessions.values()] == ["ada", ""]


# -- delivery --------------------------------------------------------------------------------------


@pytest.mark.rule("S4.12", "S5.5")
def test_what_is_lost_is_sent_again_in_order() -> None:
    table = Conversation().opens()
    agent, environment = table.agents[0], table.environment
    environment.hears(m.EnvironmentStart)
    environment.turns(0)
    sent = list(agent.heard)
    assert [(type(x), x.seq) for x in sent] == [(m.Init, 1), (m.AgentStart, 2)]
    table.core.lost(agent.address, 0.0)
    agent.heard.clear()
    assert agent.returns().resumed
    assert list(agent.heard) == sent
    agent.hears(m.Init)
    agent.hears(m.AgentStart)
    agent.returns()  # it has heard both, and has answered neither
    assert list(agent.heard) == sent
    agent.hears(m.Init)
    agent.hears(m.AgentStart)
    agent.acts(0)
    agent.returns()
    assert not agent.heard


def test_the_reward_of_a_lost_decision_comes_though_the_episode_is_over() -> None:
    table = Conversation(clock=m.ClockRule(decision=1.0)).opens()
    agent, environment = table.agents[0], table.environment
    environment.hears(m.EnvironmentStart)
    environment.turns(0, rewards=(3.0, 0.0))
    agent.hears(m.Init)
    table.core.lost(agent.address, 0.0)
    agent.heard.clear()
    table.at(1.0)
    agent.returns()
    agent.hears(m.AgentStart, reward=3.0)
    agent.hears(m.End, reward=0.0, total=3.0, reason="timeout")
    agent.hears(m.Leave)
    agent.returns()
    assert not agent.heard


def test_what_has_arrived_is_not_sent_again() -> None:
    table = Conversation().opens()
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(terminated=True)
    experiment = table.experiment
    kept = list(experiment.heard)
    assert [type(x) for x in kept] == [m.Episode, m.Done]
    experiment.hears(m.Episode)
    table.at(1.0)  # a pong says so
    experiment.heard.clear()
    experiment.returns()
    assert list(experiment.heard) == kept[1:]


def test_a_ping_says_what_is_settled() -> None:
    table = Conversation()
    settled: dict[int, int] = {}

    def beat(now: float) -> dict[int, int]:
        table.core.tick(now)
        out = table.core.take()[1]
        return {to: x.settled for to, x in out if isinstance(x, m.Ping)}  # type: ignore[misc]

    environment, agent = table.environment.address, table.agents[0].address
    settled = beat(0.0)
    assert (settled[environment], settled[agent]) == (0, 0)
    table.opens()
    settled = beat(1.0)
    assert settled[environment] == 1  # `open` is answered, `start` is not
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    settled = beat(2.0)
    assert (settled[environment], settled[agent]) == (2, 0)
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(0)
    assert beat(3.0)[agent] == 2


def test_an_unanswered_request_is_asked_again_and_a_reply_kept_for_its_experiment() -> None:
    table = Conversation()
    maker = Voice(table, "agent", "maker", m.Offer("td"))
    table.experiment.says(m.ExperimentCreate(2, "td"))
    first = maker.hears(m.Create)
    maker.returns()
    again = maker.hears(m.Create)
    assert again == first
    table.core.lost(table.experiment.address, 0.0)
    maker.says(m.Reply(again.id))
    table.experiment.returns()
    table.experiment.hears(m.Reply, id=2)


@pytest.mark.rule("S4.7")
def test_a_session_is_over_when_its_grace_is() -> None:
    table = Conversation().opens()
    agent = table.agents[0]
    table.core.lost(agent.address, 0.0)
    table.at(9.0)
    assert not table.experiment.heard
    table.at(11.0)
    table.experiment.hears(m.Episode, reason="disconnected", blame=0)
    table.experiment.hears(m.Done, reason="failed", message="p0 (p0) did not come back")
    agent.heard.clear()
    assert not agent.returns().resumed


def test_an_old_connection_that_says_hello_again_is_not_forgotten_with_the_old_session() -> None:
    core = Core(Settings(), b"")
    answer(core, "a", m.Hello(1, "agent", "north"))
    core.lost("a", 0.0)
    answer(core, "a", m.Hello(1, "agent", "south"), 1.0)
    core.tick(11.0)
    assert core.role("a") == "agent"
