"""Work in progress survives the broker: its file, and the state that is read from it."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from msgspec.msgpack import Ext
from tests.broker.conversation import Conversation, Voice

from dovetail.broker.core.core import Core, Settings
from dovetail.broker.core.intake import Local
from dovetail.broker.durable import snapshot
from dovetail.broker.durable import write_ahead_log as live_module
from dovetail.broker.durable.append_file import AppendFile, MappedFile
from dovetail.broker.durable.journal import Journal
from dovetail.broker.durable.object_codec import ObjectCodec
from dovetail.broker.durable.write_ahead_log import Live, live, place
from dovetail.broker.peers.state import BrokerPart
from dovetail.broker.shell.serve import serve
from dovetail.broker.shell.server import Server
from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.host import AgentHost
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.journal import EpisodeRecord, NumberRecord, StateRecord, read
from dovetail.protocol.logfile import new_framing


def again(core: Core) -> Core:
    """Return a core with the state of another, by way of bytes."""
    other = Core(Settings(), b"")
    snapshot.read(snapshot.write(core, {}), other, lambda name: name)
    other.broker.states.update(core.broker.states)
    return other


def outcome(table: Conversation) -> list[tuple[Any, ...]]:
    return [
        (r.result.reason, r.result.outcome, [s.total for s in r.result.seats], r.actions)
        for r in table.records
    ]


def game(monkeypatch: pytest.MonkeyPatch, step: int | None) -> list[tuple[Any, ...]]:
    """Play, with a restart of the broker before one of the messages."""
    table = Conversation(clock=m.ClockRule(decision=5.0), episodes=2)
    count = 0
    says = Voice.says

    def counted(voice: Voice, message: m.Message) -> None:
        nonlocal count
        if count == step:
            table.core = again(table.core)
        count += 1
        says(voice, message)

    monkeypatch.setattr(Voice, "says", counted)
    table.opens()
    for episode in range(2):
        table.environment.hears(m.EnvironmentStart)
        table.environment.turns(0)
        if not episode:
            table.agents[0].hears(m.Init)
        table.agents[0].hears(m.AgentStart)
        table.agents[0].acts(1)
        table.environment.hears(m.EnvironmentStep, actions=[(0, 1)])
        table.environment.turns(1, 0, rewards=[0.5, 0.0])
        if not episode:
            table.agents[1].hears(m.Init)
        table.agents[1].hears(m.AgentStart)
        table.agents[1].acts(0)
        table.agents[0].hears(m.AgentStep, reward=0.5)
        table.agents[0].acts(1)
        table.environment.hears(m.EnvironmentStep)
        table.environment.turns(terminated=True, outcome=[1.0, 0.0], rewards=[1.0, -1.0])
        for agent in table.agents:
            agent.hears(m.End)
    return outcome(table)


def test_a_snapshot_at_any_message_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        expected = game(patch, None)
    assert len(expected) == 2
    for step in range(9):
        with monkeypatch.context() as patch:
            assert game(patch, step) == expected, step


def fields(part: BrokerPart) -> list[str]:
    return list(getattr(part, "__mypyc_attrs__", None) or vars(part))  # compiled, or not


def test_every_part_of_the_core_is_in_a_snapshot() -> None:
    """A field that is neither state nor derived from it would be lost with the broker."""
    core = Core(Settings(), b"")
    parts = {"_broker", "_instances", "_runs", "_requests", "_watching", "_matches", "_results"}
    derived = {
        Core: {"broker", "instances", "runs", "_connections", "_timers", "_handlers", "_free"}
        | {"_commands", "_episodes", "_sessions", "_recovery", "_events", "_follows", "_parts"},
        type(core.broker): {"out", "records", "states", "timers", "entrant", "missed", "origin"}
        | {"events", "journalled"}
        | {"slowed", "dropped", "_unauthenticated"},  # of connections, which end with the program
        type(core.runs): {"matches", "episodes", "stacked"},
        type(core.runs.episodes): {"migrations"},
        type(core._watching): {"_out", "_attended", "_interests"},
    }
    for part in core._parts:
        assert {*fields(part)} - (parts - {*part.STATE}) == {
            *part.STATE,
            *derived.get(type(part), ()),
        }, type(part)
    held = {id(part) for part in core._parts}
    owners = (core, core.runs, core.runs.episodes)
    values = [getattr(part, name) for part in owners for name in fields(part)]
    inside = [each for each in values if isinstance(each, BrokerPart)]
    assert {id(each) for each in inside} | {id(core)} == held


@pytest.mark.parametrize("change", ["lost", "more", "part"])
def test_a_state_of_other_fields_is_refused_whole(change: str) -> None:
    core = Core(Settings(heartbeat=7.0), b"")
    states = Core(Settings(), b"").snapshot()
    if change == "lost":
        del states[-1]["_heartbeat"]
    elif change == "more":
        states[0]["secret"] = 1
    else:
        states.pop()
    with pytest.raises(ValueError, match="other fields"):
        core.resume(states)
    assert core.broker.settings.heartbeat == 7.0


def test_equal_sets_are_equal_bytes() -> None:
    """In whatever order they were filled, and although 1 and 9 take each other's place."""
    graph = ObjectCodec({}, {})
    assert graph.encode({1, 9}) == graph.encode({9, 1})
    assert graph.decode(graph.encode({1, 9})) == {1, 9}


def test_what_is_not_a_state_is_refused() -> None:
    core = Core(Settings(), b"")
    data = snapshot.write(core, {})
    assert b"broker.Settings" in data
    with pytest.raises(ValueError, match="not in the list"):
        snapshot.read(data.replace(b"broker.Settings", b"broker.Setting_"), core, lambda name: name)


@dataclass
class Thing:
    value: int = 0


class Point(msgspec.Struct):
    x: int


REFERENCE, FIXED, STRUCT = 1, 4, 6


@pytest.mark.parametrize(
    "value",
    [
        [Ext(REFERENCE, b"\0\0\0\1"), []],
        [Ext(FIXED, b"unknown"), []],
        [Ext(STRUCT, msgspec.msgpack.encode(["unknown"])), []],
        [Ext(STRUCT, msgspec.msgpack.encode(["point", 1, 2])), []],
        [None, [["thing"]]],
        [None, [["set", Ext(REFERENCE, b"\0\0\0\0")]]],
        [None, [[]]],
        [None, [3]],
        [{"tuple": []}, []],
        3,
        [],
    ],
)
def test_bytes_that_are_no_objects_are_a_value_error(value: Any) -> None:
    graph = ObjectCodec({"thing": Thing, "point": Point}, {})
    with pytest.raises(ValueError):  # noqa: PT011 (the texts differ)
        graph.decode(msgspec.msgpack.encode(value))


def test_a_state_of_another_length_is_a_value_error() -> None:
    for state in ([], [0] * 100):
        with pytest.raises(ValueError, match="other fields"):
            snapshot.read(
                ObjectCodec({}, {}).encode(state), Core(Settings(), b""), lambda name: name
            )


def test_clocks_stand_still_until_a_peer_is_back() -> None:
    table = Conversation(clock=m.ClockRule(decision=5.0)).opens()
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart)
    table.at(3.0)
    table.core = again(table.core)
    table.core.restarted(table.now)
    table.at(9.0)  # beyond the decision's deadline, within the grace period
    watcher = Voice(table, "observer", "eyes")
    watcher.says(m.Watch(1, scenes=True))
    watcher.hears(m.Reply)
    left = [m.Clock(2.0), m.Clock(5.0)]
    watcher.hears(m.WatchedTurn, clocks=left, running=[])
    table.agents[0].returns()
    watcher.hears(m.WatchedTurn, clocks=left, running=[0])
    table.agents[0].hears(m.Init)
    start = table.agents[0].hears(m.AgentStart)
    table.at(10.9)  # 3 s before and 1.9 s after
    assert not table.records
    table.agents[0].acts(0, to=start)
    table.environment.returns()
    table.environment.hears(m.EnvironmentStep, actions=[(0, 0)])


def test_a_peer_that_knows_more_begins_again() -> None:
    """After a loss of power the file may end before what a peer has heard."""
    table = Conversation().opens()
    table.environment.hears(m.EnvironmentStart)
    old = again(table.core)
    table.environment.turns(0)
    table.agents[0].hears(m.Init)
    start = table.agents[0].hears(m.AgentStart)
    assert start.seq > 0
    table.core = old
    table.core.restarted(table.now)
    voice = table.agents[0]
    assert not voice.connects(m.Hello(1, "agent", resume=voice.token, seen=start.seq)).resumed


class Shell:
    """A server without a socket, driven by hand: an environment and an experiment in bytes."""

    def __init__(self, path: Path) -> None:
        self.journal = Journal(path)
        self.live = Live(self.journal)
        self.server = Server(None, Settings(), self.journal, self.live)

    def die(self) -> None:
        """End as a killed process does."""
        for file in (self.journal._file, self.live._file):
            assert file is not None
            os.close(file._file)


def test_a_durable_broker_takes_no_entrant_hook() -> None:
    with pytest.raises(ValueError, match="cannot ask an entrant hook again"):
        serve(durable=True, entrant=lambda token: None)


def test_the_file_is_private_and_goes_with_an_orderly_end(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "games")
    path = place(tmp_path / "games")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shell.server.close()
    assert not path.exists()


def test_peers_in_the_program_end_with_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "games")
    shell.server.post(Local(), [m.Hello(1, "experiment", "trial")])
    shell.server.pump(0.0)
    number = shell.server.core.broker.next
    assert shell.server.core.broker.sessions
    shell.die()
    second = Shell(tmp_path / "games")
    assert second.server.core.broker.next >= number
    assert not second.server.core.broker.sessions
    second.server.close()


def test_time_in_which_the_broker_stood_still_does_not_count(monkeypatch: Any) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    server = Server(None, Settings(heartbeat=1.0))
    local = Local()
    local.reliable = False  # as over a socket
    server.post(local, [m.Hello(1, "agent", "slow")])
    server.pump(0.0)
    (peer,) = server.core.broker.sessions.values()
    now += 0.5
    server.pump(0.0)
    for _ in range(3):
        now += 25.0  # stopped, or suspended
        server.pump(0.0)
        server.pump(0.0)
    assert not peer.away
    for _ in range(35):
        now += 1.0
        server.pump(0.0)
    assert peer.away
    server.close()


@pytest.mark.parametrize("works", ["broker", "host"])
def test_long_work_of_the_broker_is_not_on_the_clocks_but_a_hosts_is(
    monkeypatch: Any, works: str
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    server, router = Server(None, Settings()), Strangers()
    server._router = router
    hello, ping = codec.encode(m.Hello(1, "observer")), codec.encode(m.Ping(1))
    router.coming.append((b"one", [hello]))
    server.pump(0.0)
    begun = server._now()

    def work(*_: Any) -> list[m.Message]:
        nonlocal now
        now += 6.0
        return []

    class Slow(Agent):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            work()

        def step(self, decision: Any) -> Any:
            return 0

    def ask_host(*_: Any) -> None:
        local = Local(AgentHost([Slow]))
        server.core.broker.out.messages.append((local, m.Create(1, 3, "slow", {}, 1)))

    server.core._free["observer"][m.Ping] = work if works == "broker" else ask_host  # type: ignore
    router.coming.append((b"one", [ping]))
    for _ in range(3):
        server.pump(0.0)
    assert server._now() - begun == (0.0 if works == "broker" else 6.0)
    server.close()


@pytest.mark.parametrize("kept", [None, 3], ids=["whole", "in pieces"])
def test_long_frames_are_written_from_where_they_are(
    tmp_path: Path, monkeypatch: Any, kept: int | None
) -> None:
    """Each was copied twice on its way into the file."""
    long = b"long" * live_module.LONG
    events: list[Any] = [
        (1.0, [b"one", b"short", long, b"x", long]),
        (2.0,),
        (3.0, b"two", None),
        (4.0, ["local 1", long, long]),
        (5.0, [b"one", b"short"]),
    ]
    real = os.pwritev
    given: list[int] = []

    def some(file: int, parts: Sequence[bytes], where: int) -> int:
        given.extend(id(part) for part in parts)
        if kept is None:
            return real(file, parts, where)
        return os.pwrite(file, b"".join(parts)[:kept], where)

    monkeypatch.setattr(os, "pwritev", some)
    shell = Shell(tmp_path / "games")
    for _ in range(2):
        shell.live.events += events
        shell.live.flush()
    assert given.count(id(long)) == 8
    assert shell.live._read()[1][-10:] == events * 2
    shell.server.close()


def test_another_version_does_not_read_it(
    tmp_path: Path, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    Shell(tmp_path / "games").die()
    monkeypatch.setattr(live_module, "version", lambda: "0.0.0 other")
    shell = Shell(tmp_path / "games")
    assert "a different version of dovetail recorded them" in caplog.text
    assert (tmp_path / "games.live.old").exists()
    shell.server.close()


def test_a_version_whose_records_differ_does_not_read_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    head = msgspec.msgpack.encode({"version": "9.9.9 other", "snapshot": {}})
    events = msgspec.msgpack.encode({"events": 3})
    framing = new_framing(live_module.TITLE)
    written = framing.head + framing.pack(1, head) + framing.pack(2, events)
    (tmp_path / "games.live").write_bytes(written)
    shell = Shell(tmp_path / "games")
    assert "a different version of dovetail recorded them" in caplog.text
    assert (tmp_path / "games.live.old").read_bytes() == written
    shell.server.close()


def test_a_broker_that_is_not_durable_ends_what_another_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its records follow in the journal: a later broker that read the file took them for the old
    one's."""
    Shell(tmp_path / "games").die()
    assert (tmp_path / "games.live").exists()
    journal = Journal(tmp_path / "games")
    assert live(journal, durable=False) is None
    assert "not durable" in caplog.text
    assert not (tmp_path / "games.live").exists()
    caplog.clear()
    assert live(journal, durable=False) is None
    assert not caplog.records
    journal.close(0)


def test_the_file_stays_small(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(live_module, "GROWTH", 20_000)
    monkeypatch.setattr(MappedFile, "ROOM", 1 << 15)
    shell = Shell(tmp_path / "games")
    local = Local()
    shell.server.post(local, [m.Hello(1, "observer", "one")])
    largest = 0
    for number in range(2_000):
        shell.server.post(local, [m.Ping(number)])
        shell.server.pump(0.0)
        largest = max(largest, place(tmp_path / "games").stat().st_size)
    assert 20_000 < largest < 60_000
    shell.die()
    second = Shell(tmp_path / "games")
    second.server.close()
    assert EpisodeRecord not in map(type, read(tmp_path / "games"))


def test_a_snapshot_is_written_over_the_file_before_the_last(
    tmp_path: Path, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """New files of 32 MB cost a broker more than half of its time with frames of a megabyte."""
    monkeypatch.setattr(live_module, "GROWTH", 20_000)
    path = tmp_path / "games"
    shell = Shell(path)
    local = Local()
    shell.server.post(local, [m.Hello(1, "observer", "one")])
    files: list[int] = []
    while len(files) < 5:
        shell.server.post(local, [m.Ping(0)])
        shell.server.pump(0.0)
        now = place(path).stat().st_ino
        if now not in files[-1:]:
            files.append(now)
    assert files == [files[0], files[1], files[0], files[1], files[0]]
    number = shell.server.core.broker.next
    shell.server.post(local, [m.Ping(0)])
    shell.server.pump(0.0)
    shell.die()
    assert place(path).stat().st_size > 20_000  # most of it is what stood there before
    second = Shell(path)
    assert second.server.core.broker.next == number
    assert not caplog.records
    second.server.close()
    assert [each.name for each in tmp_path.iterdir()] == ["games"]


def test_a_log_older_than_its_journal_is_named_and_uses_no_number_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "games"
    shell = Shell(path)
    old = place(path).read_bytes()
    shell.journal.write([NumberRecord(50)])
    shell.die()
    place(path).write_bytes(old)
    second = Shell(path)
    assert second.server.core.broker.next == 50
    assert f"{place(path)} is older than its journal: the last 1 records may" in caplog.text
    second.die()
    path.write_bytes(path.read_bytes()[:-1])
    third = Shell(path)
    assert f"{path} has lost its last 1 records" in caplog.text
    third.server.close()


@pytest.mark.parametrize("left", [0, 3, 40, 90, 400])
def test_a_log_without_a_whole_snapshot_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, left: int
) -> None:
    """No write of the broker leaves one, so that it is not the torn end of a file."""
    path = tmp_path / "games"
    Shell(path).die()
    place(path).write_bytes(place(path).read_bytes()[:left])
    second = Shell(path)
    [said] = caplog.messages
    assert said.startswith(f"{place(path)} is damaged: it has no whole snapshot")
    second.server.close()


class Strangers:
    """Connections without sockets, which say something once."""

    address = ""

    def __init__(self) -> None:
        self.coming: list[tuple[bytes, list[bytes] | None]] = []
        self.sent: list[str] = []
        """The session tokens that it welcomed with."""
        self.heard: list[Any] = []
        self.pause: Callable[[bytes, float], None] = lambda name, seconds: None

    def receive(self, timeout: float) -> list[tuple[bytes, list[bytes] | None]]:
        coming, self.coming = self.coming, []
        return coming

    def send(self, name: bytes, frames: Sequence[bytes]) -> None:
        heard = [msgspec.msgpack.decode(frame) for frame in frames]
        self.heard += heard
        self.sent += [each["session"] for each in heard if each["type"] == "welcome"]

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


@pytest.mark.parametrize("first", ["stays", "leaves at once", "comes back and leaves at once"])
def test_one_that_left_as_soon_as_it_came_does_not_cost_the_others_their_sessions(
    tmp_path: Path, first: str
) -> None:
    hello, bye = codec.encode(m.Hello(1, "observer")), codec.encode(m.Bye())
    shell, router = Shell(tmp_path / "games"), Strangers()
    shell.server._router = router

    def says(name: bytes, *frames: bytes) -> None:
        router.coming.append((name, list(frames)))
        shell.server.pump(0.0)

    if first == "comes back and leaves at once":
        says(b"before", hello)
        back = codec.encode(m.Hello(1, "observer", resume=router.sent[-1]))
        says(b"first", back, bye)
    else:
        says(b"first", hello, *([] if first == "stays" else [bye]))
    says(b"second", hello)
    before = shell.server.core.broker
    shell.die()
    second = Shell(tmp_path / "games")
    after = second.server.core.broker
    assert after.next == before.next
    assert set(after.sessions) == set(before.sessions)
    assert router.sent[-1] in after.sessions
    second.server.close()


def test_a_peer_is_read_later_for_what_it_asked_together_with_its_hello() -> None:
    server, router = Server(None, Settings()), Strangers()
    server._router = router
    paused: list[bytes] = []
    router.pause = lambda name, seconds: paused.append(name)
    asked = [codec.encode(m.Catalogue(number)) for number in range(1, 600)]
    router.coming.append((b"one", [codec.encode(m.Hello(1, "observer")), *asked]))
    server.pump(0.0)
    assert paused == [b"one"]
    server.close()


def test_heartbeats_are_heard_while_the_disk_is_full(tmp_path: Path, monkeypatch: Any) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    shell, router = Shell(tmp_path / "games"), Strangers()
    shell.server._router = router

    def hears(*frames: m.Message) -> list[Any]:
        """Say something; return what is heard half a second later."""
        nonlocal now
        now += 0.5
        router.heard.clear()
        router.coming.append((b"one", [codec.encode(each) for each in frames]))
        shell.server.pump(0.0)
        return [(each["type"], each.get("settled", 0)) for each in router.heard]

    hears(m.Hello(1, "experiment"), m.Catalogue(1))
    with monkeypatch.context() as full:
        full.setattr(AppendFile, "append", Mock(side_effect=OSError(28, "No space left")))
        assert hears(m.Catalogue(2), m.Ping(5)) == [("pong", 0), ("error", 0)]
        beats = [each for _ in range(6) for each in hears(m.Ping(6))]
        assert beats.count(("pong", 0)) == 6
        assert beats.count(("ping", 0)) == len(beats) - 6 >= 2  # nothing is settled meanwhile
    after = [each for _ in range(6) for each in hears(m.Ping(7))]
    assert after.count(("reply", 0)) == 1
    assert any(settled for _, settled in after)
    shell.server.close()


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("before", [True, False])
def test_who_says_hello_while_the_disk_is_full_hears_why_it_waits(
    tmp_path: Path, monkeypatch: Any, durable: bool, before: bool
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    journal = Journal(tmp_path / "games")
    server = Server(None, Settings(), journal, Live(journal) if durable else None)
    router = Strangers()
    server._router = router

    def hears(name: bytes, *frames: m.Message) -> list[tuple[str, str]]:
        nonlocal now
        now += 0.5
        router.heard.clear()
        router.coming.append((name, [codec.encode(each) for each in frames]))
        server.pump(0.0)
        return [(e["type"], e.get("code", "")) for e in router.heard if e["type"] != "ping"]

    if before:  # something is held back already
        hears(b"one", m.Hello(1, "experiment"))
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", Mock(side_effect=OSError(28, "No space left")))
        full.setattr(os, "posix_fallocate", Mock(side_effect=OSError(28, "No space left")))
        full.setattr(MappedFile, "LARGE", 0)
        if not durable:
            server.core.broker.records.append(StateRecord("a", "td", b""))
        if before:
            assert hears(b"one", m.Catalogue(1)) == [("error", "journal")]
        assert hears(b"two", m.Hello(1, "agent", "late")) == [("error", "journal")]
        assert hears(b"two", m.Hello(1, "agent", "late")) == []
        assert "No space left; the broker waits" in router_text(router, hears, b"three")
    after = [each for _ in range(3) for each in hears(b"two", m.Ping(1))]
    assert ("welcome", "") in after
    assert ("error", "journal") not in after
    assert hears(b"four", m.Hello(1, "agent", "later")) == [("welcome", "")]
    server.close()


def router_text(router: Strangers, hears: Callable[..., Any], name: bytes) -> str:
    hears(name, m.Hello(1, "observer"))
    return " ".join(each.get("message", "") for each in router.heard)


def test_a_state_belongs_to_the_code_of_every_room() -> None:
    """Another version of any rule would replay what was taken in to another state."""
    broker = Path(str(snapshot.__file__)).parents[1]
    files = {path.relative_to(broker.parent) for path in live_module.sources()}
    assert files >= {path.relative_to(broker.parent) for path in broker.rglob("*.py")}
    assert Path("protocol/states.py") in files


def test_the_work_of_another_journal_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "games"
    journal = Journal(path)
    log = Live(journal)
    log.begin(Core(Settings(), b"secret"), b"secret", 1.0)
    log.close(discard=False)
    journal.close()
    path.replace(tmp_path / "moved")
    other = Journal(path)
    assert Live(other).restore(Settings()) is None
    assert "they belong to another journal" in caplog.text
    assert not place(path).exists()
    other.close()
    (tmp_path / "moved").replace(path)
    place(path).with_name("games.live.old").replace(place(path))
    journal = Journal(path)
    found = Live(journal).restore(Settings())
    assert found is not None
    assert found[1] == b"secret"
    journal.close()
