"""Faults over real sockets: each costs the peer concerned one clear line, and nobody else
anything."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq

from dovetail import Agent, Environment, Experiment, InProcess, Spec, Turn, View
from dovetail.broker.core.core import Settings
from dovetail.broker.durable.journal import Journal
from dovetail.broker.durable.write_ahead_log import Live, place
from dovetail.broker.shell.serve import serve
from dovetail.broker.shell.server import Server
from dovetail.peer.agents.agent import Decision
from dovetail.peer.agents.agent import End as Ended
from dovetail.peer.agents.serve import serve as serve_agent
from dovetail.peer.environments.serve import serve as serve_environment
from dovetail.peer.serving import PROMPT
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord, StateRecord, entries, read
from dovetail.protocol.spaces import Discrete
from dovetail.transport import VARIABLE
from dovetail_agents.general.q_learning import QLearning

pytestmark = pytest.mark.processes


class Count(Environment):
    """Two seats count to ten in turns; each earns 1 a turn."""

    def init(self) -> Spec:
        return Spec(
            seats=2,
            observation_spaces=[Discrete(100)],
            action_spaces=[Discrete(3)],
            forfeit=(-5.0, 5.0),
        )

    def start(self, seed: int) -> Turn:
        self.time = 0
        return Turn(to_act=[0], seats=[View(0, 0, [0, 1, 2])])

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.time += 1
        mover = 1 - self.time % 2
        if self.time == 10:
            views = [View(s, self.time, None, float(s == mover)) for s in (0, 1)]
            return Turn(seats=views, terminated=True, outcome=[0.5, 0.5])
        nxt = self.time % 2
        views = [View(nxt, self.time, [0, 1, 2]), View(mover, self.time, None, 1.0)]
        return Turn(to_act=[nxt], seats=views)


class Player(Agent):
    """Plays at random."""

    capacity = 0

    def step(self, turn: Decision) -> Any:
        assert turn.legal is not None
        return turn.rng.choice(turn.legal)


class Recorder(Player):
    """Plays at random and remembers how its episodes ended."""

    ends: list[Any]

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.ends = []

    def end(self, end: Ended) -> None:
        self.ends.append((end.reason, end.blame, end.reward, end.total))

    def message(self, body: Any) -> Any:
        return self.ends


class Broker:
    """A broker in a thread."""

    def __init__(self, journal: Journal | None = None, **settings: Any) -> None:
        self.server = Server("tcp://127.0.0.1:*", Settings(**settings), journal)
        assert self.server.address is not None
        self.address = self.server.address
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.loop)
        self.thread.start()
        self.stops: list[tuple[threading.Event, threading.Thread]] = []

    def loop(self) -> None:
        while not self.over.is_set():
            self.server.pump(0.05)
        self.server.close()

    def serve(self, function: Callable[..., None], what: Any, **options: Any) -> None:
        stop = threading.Event()
        thread = threading.Thread(
            target=function, args=(what, self.address), kwargs={"stop": stop, **options}
        )
        thread.start()
        self.stops.append((stop, thread))

    def close(self) -> None:
        self.over.set()
        self.thread.join(10)
        for stop, thread in self.stops:
            stop.set()
            thread.join(10)


@pytest.fixture(autouse=True, params=["zmtp", "libzmq"])
def sockets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends over our own ZMTP, then over libzmq; the raw peers are libzmq's throughout."""
    monkeypatch.setenv(VARIABLE, request.param)


@pytest.fixture
def broker(sockets: None) -> Iterator[Broker]:
    broker = Broker(heartbeat=0.1, grace=1.0, peer_timeout=2.0)
    broker.serve(serve_environment, [Count])
    broker.serve(serve_agent, [Player, Recorder])
    yield broker
    broker.close()


@pytest.fixture
def experiment(broker: Broker) -> Iterator[Experiment]:
    with Experiment.connect(broker.address) as experiment:
        experiment.expect(["count"], ["player", "recorder"])
        yield experiment


class Raw:
    """A peer that says anything."""

    def __init__(self, address: str) -> None:
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.heard: deque[dict[str, Any]] = deque()
        self.socket.connect(address)

    def say(self, *messages: bytes | m.Message | dict[str, Any]) -> None:
        self.socket.send_multipart(
            [each if isinstance(each, bytes) else codec.encode(each) for each in messages]
        )

    def hear(self, kind: str | None = None) -> dict[str, Any]:
        """Return the next message (of a type) as a plain map."""
        while True:
            while self.heard:
                message = self.heard.popleft()
                if message["type"] == kind or (kind is None and message["type"] != "ping"):
                    return message
            assert self.socket.poll(5000), "the broker said nothing"
            self.heard.extend(map(msgspec.msgpack.decode, self.socket.recv_multipart()))

    def close(self) -> None:
        self.socket.close()
        self.context.term()


@pytest.fixture
def raw(broker: Broker) -> Iterator[Raw]:
    raw = Raw(broker.address)
    yield raw
    raw.close()


def hello(role: m.Role = "experiment", **fields: Any) -> m.Hello:
    return m.Hello(m.VERSION, role, **fields)


def plays_on(experiment: Experiment) -> None:
    """The rest of the world goes on."""
    a = experiment.create("player")
    results = experiment.run("count", [a, a], episodes=3, seed=1).wait()
    assert [e.reason for e in results] == ["terminated"] * 3


NESTED = b"\x91" * 100_000 + b"\x00"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\xc1rubbish", "malformed"),
        (NESTED, "limit"),
        (codec.encode({"type": "catalogue", "id": "one"}), "invalid"),
        (codec.encode({"type": "nonsense"}), "unknown-type"),
        (codec.encode(m.Cancel(3, 12345)), "unknown"),
    ],
)
def test_a_bad_frame_gets_an_error_and_harms_nobody(
    broker: Broker, experiment: Experiment, raw: Raw, frame: bytes, code: str
) -> None:
    raw.say(hello())
    assert raw.hear()["type"] == "welcome"
    raw.say(frame)
    error = raw.hear("error")
    assert error["code"] == code
    assert "\n" not in error["message"]
    raw.say(m.Catalogue(7))
    assert raw.hear("reply")["id"] == 7
    plays_on(experiment)


def test_a_frame_beyond_the_limit_closes_only_that_connection(
    broker: Broker, experiment: Experiment, raw: Raw
) -> None:
    raw.say(hello())
    raw.hear("welcome")
    raw.say(b"\xc6" + (20 << 20).to_bytes(4, "big") + bytes(20 << 20))
    plays_on(experiment)


@pytest.mark.parametrize("size", [2_000_000, 16_500_000])
def test_a_mask_as_large_as_a_frame_ends_its_episode_and_harms_nobody(
    broker: Broker, experiment: Experiment, raw: Raw, size: int
) -> None:
    """2 MB and an illegal action took 650 MB; 16.5 MB silenced everybody for 44 s."""
    raw.say(hello("environment", offers=[m.Offer("masked")]))
    raw.hear("welcome")
    a = experiment.create("player")
    run = experiment.run("masked", [a, a], retries=0)
    match = raw.hear("open")["match"]
    spaces: list[Any] = [Discrete(2**27)]
    raw.say(m.Spec(match, "masked", 2, spaces, spaces))
    episode = raw.hear("start")["episode"]
    raw.say(m.Turn(episode, 0, [0], [m.View(0, 0, b"\xff" * size)]))
    plays_on(experiment)
    [ended] = run.wait()
    assert ended.reason == "environment-failed"
    assert f"the mask of seat 0 is {size:,} bytes long" in ended.message


def test_what_belongs_to_another_experiment_is_refused(
    broker: Broker, experiment: Experiment
) -> None:
    """Any experiment could read, overwrite, train and delete it, and replace its stored state."""
    mine = experiment.create("recorder")
    run = experiment.run("count", [mine, mine], episodes=10**6)
    with Experiment.connect(broker.address) as other:
        theirs = other.create("recorder")
        for use in (
            lambda: other.save(mine),
            lambda: other.load(mine, b"worse"),
            lambda: other.message(mine, "forget"),
            lambda: other.cleanup(mine),
            lambda: other.run("count", [theirs, mine]),
            lambda: other.request(m.Cancel(0, run.number)),
            lambda: other.request(m.Pause(0, run.number)),
        ):
            with pytest.raises(DovetailError, match=r"another experiment's|you have no run"):
                use()
    run.cancel()


def test_names_of_modules_and_files_are_not_imported(broker: Broker, tmp_path: Path) -> None:
    """`cProfile:run` ran an observation that was Python's source; a file ran when it was named."""
    file, marker = tmp_path / "x.py", tmp_path / "ran"
    file.write_text(f"open({str(marker)!r}, 'w').close()\ndef f(*a): return 0\n")
    broker.serve(serve_agent, [QLearning])
    with Experiment.connect(broker.address) as experiment:
        experiment.expect(["count"], ["q-learning"])
        for name in ("cProfile:run", f"{file}:f", str(file)):
            with pytest.raises(DovetailError, match="encoder"):
                experiment.create("q-learning", parameters={"encoder": name})
    assert not marker.exists()


def test_the_matches_of_an_experiment_are_limited(broker: Broker, experiment: Experiment) -> None:
    """Three runs of 4,096 matches silenced everybody for 22 s."""
    a = experiment.create("player")
    many: dict[str, Any] = {"episodes": 10**6, "concurrency": 4096, "stacked": False}
    first = experiment.run("count", [a, a], **many)
    with pytest.raises(DovetailError, match="matches"):
        experiment.run("count", [a, a], **many)
    first.cancel()
    plays_on(experiment)


def test_a_second_program_of_the_same_game_serves_no_run_that_names_its_peer(
    broker: Broker, experiment: Experiment, raw: Raw
) -> None:
    """It got another's match, and made up its results."""
    with Experiment.connect(broker.address) as other:
        environment = other.catalogue()["environments"][0]["peer"]
    raw.say(hello("environment", name="impostor", offers=[m.Offer("count")]))
    raw.hear("welcome")
    a = experiment.create("player")
    options: dict[str, Any] = {"episodes": 20, "concurrency": 10, "peer": environment}
    results = experiment.run("count", [a, a], **options).wait()
    assert [each.reason for each in results] == ["terminated"] * 20
    raw.say(m.Ping(1))
    assert raw.hear()["type"] == "pong"


def test_a_name_that_a_terminal_would_obey_is_refused(broker: Broker, raw: Raw) -> None:
    raw.say(hello(name="\x1b[2Jme"))
    assert "control characters" in raw.hear("error")["message"]


def test_two_peers_cannot_have_one_name(broker: Broker, raw: Raw) -> None:
    raw.say(hello(name="me"))
    raw.hear("welcome")
    with pytest.raises(DovetailError, match="another peer is called 'me'"):
        Experiment.connect(broker.address, name="me")


def test_the_access_token_is_asked_for() -> None:
    broker = Broker(token="open sesame")
    try:
        with pytest.raises(DovetailError, match="access token"):
            Experiment.connect(broker.address)
        Experiment.connect(broker.address, token="open sesame").close()
    finally:
        broker.close()


def test_a_program_that_waits_for_a_broker_can_be_stopped() -> None:
    stop = threading.Event()
    thread = threading.Thread(
        target=serve_agent, args=(Player, "tcp://127.0.0.1:1"), kwargs={"stop": stop, "wait": None}
    )
    thread.start()
    stop.set()
    thread.join(10)
    assert not thread.is_alive()


def test_no_broker_is_one_clear_line() -> None:
    with pytest.raises(DovetailError, match="no broker answers at"):
        Experiment.connect("tcp://127.0.0.1:1", wait=0.3)
    with pytest.raises(DovetailError, match="is not a broker address"):
        Experiment.connect("nonsense", wait=0.3)


def test_the_address_in_use_is_one_clear_line(broker: Broker) -> None:
    with pytest.raises(DovetailError, match="cannot listen"):
        Server(broker.address)


def test_a_slow_joiner_waits_for_the_broker(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/broker"
    joined = []
    thread = threading.Thread(target=lambda: joined.append(Experiment.connect(address)))
    thread.start()
    thread.join(0.3)
    assert not joined
    server = Server(address)
    while not joined:
        server.pump(0.05)
    thread.join()
    server.close()
    joined[0].close()


def test_an_answer_leaves_before_the_agent_has_thought_about_all_that_came_with_its_question(
    broker: Broker, experiment: Experiment
) -> None:
    """Two episodes at once: the agent decides in one only when the other has gone on."""
    gone_on = threading.Event()

    class Told(Count):
        """Count, and say when a game goes on."""

        def step(self, actions: Mapping[int, Any]) -> Turn:
            gone_on.set()
            return super().step(actions)

    class Waiting(Player):
        """Takes its time over its first decision, and waits in the second for the other game to go
        on."""

        heard: list[bool] = []  # noqa: RUF012

        def step(self, turn: Decision) -> int:
            if len(self.heard) < 2:
                time.sleep(2 * PROMPT if not self.heard else 0)
                self.heard.append(not self.heard or gone_on.wait(10))
            return 0

    broker.serve(serve_environment, [Told])
    broker.serve(serve_agent, [Waiting])
    experiment.expect(["told"], ["waiting"])
    waiting = experiment.create("waiting")
    results = experiment.run("told", [waiting, waiting], episodes=2, concurrency=2).wait()
    assert [each.reason for each in results] == ["terminated"] * 2
    assert Waiting.heard == [True, True]


PEER = """
import sys, time
sys.path.insert(0, {folder!r})
from dovetail_agents.general.q_learning import QLearning
from dovetail.peer.agents.serve import serve as serve_agent
from dovetail.peer.environments.serve import serve as serve_environment
import test_faults
class Doomed(test_faults.Count):
    def step(self, actions):
        if self.time == 4:
            print("held", flush=True)
            time.sleep(60)
        return super().step(actions)
class Mute(test_faults.Player):
    def step(self, turn):
        if turn.turn >= 4:
            print("held", flush=True)
            time.sleep(60)
        return 0
print("up", flush=True)
{what}
"""


@pytest.mark.parametrize(
    ("what", "environment", "agent", "reason"),
    [
        ("serve_agent([Mute], {address!r})", "count", "mute", "disconnected"),
        ("serve_environment([Doomed], {address!r})", "doomed", "player", "environment-failed"),
    ],
)
def test_a_peer_killed_while_it_owes_an_answer(
    broker: Broker, experiment: Experiment, what: str, environment: str, agent: str, reason: str
) -> None:
    code = PEER.format(folder=os.path.dirname(__file__), what=what.format(address=broker.address))
    peer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert peer.stdout is not None
    try:
        assert peer.stdout.readline() == "up\n"
        experiment.expect([environment], [agent])
        doomed = experiment.create(agent)
        recorder = experiment.create("recorder")
        run = experiment.run(environment, [doomed, recorder], episodes=5, seed=1)
        assert peer.stdout.readline() == "held\n"
        peer.send_signal(signal.SIGKILL)
        with pytest.raises(DovetailError, match="the run failed"):
            list(run)
        assert run.done is not None
        assert run.done.reason == "failed"
        heard = experiment.message(recorder, None)
        assert [end[0] for end in heard] == [reason]
        if agent == "mute":
            assert heard[0][1] == 0
    finally:
        peer.kill()
        peer.wait()
        peer.stdout.close()
    plays_on(experiment)


def test_an_environment_that_dies_is_replaced_by_another(
    broker: Broker, experiment: Experiment
) -> None:
    code = PEER.format(
        folder=os.path.dirname(__file__),
        what=f"Doomed.name = 'count'; serve_environment([Doomed], {broker.address!r})",
    )
    peer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert peer.stdout is not None
    try:
        while len(experiment.catalogue()["environments"]) < 2:
            time.sleep(0.02)
        player = experiment.create("player")
        run = experiment.run("count", [player, player], episodes=6, seed=1, concurrency=2)
        assert peer.stdout.readline() == "up\n"
        assert peer.stdout.readline() == "held\n"
        peer.send_signal(signal.SIGKILL)
        results = run.wait()
        assert sorted(e.index for e in results) == list(range(6))
        assert {e.reason for e in results} == {"terminated"}  # the other took its episode over
    finally:
        peer.kill()
        peer.wait()
        peer.stdout.close()


def test_a_peer_that_returns_with_its_token_goes_on_where_it_was(
    broker: Broker, experiment: Experiment, raw: Raw
) -> None:
    raw.say(hello("agent", offers=[m.Offer("raw")]))
    session = raw.hear("welcome")["session"]
    made = threading.Thread(target=lambda: raw.say(m.Reply(raw.hear("create")["id"])))
    made.start()
    own = experiment.create("raw")
    made.join()
    other = experiment.create("player")
    run = experiment.run("count", [own, other], episodes=1, seed=1)
    message = raw.hear("start")
    again = Raw(broker.address)
    again.say(hello("agent", resume=session))
    assert again.hear("welcome")["resumed"]
    repeated = again.hear("start")
    assert repeated == message
    episode = message["episode"]
    for turn in (0, 2, 4, 6, 8):
        again.say(m.Action(episode, turn, 0, 0))
        again.hear("step" if turn < 8 else "end")
    (result,) = run.wait()
    assert result.reason == "terminated"
    again.close()


def test_a_substitute_plays_for_an_agent_whose_program_leaves(
    experiment: Experiment, raw: Raw
) -> None:
    player, spare = experiment.create("player"), experiment.create("recorder")
    raw.say(hello("agent", name="fleeting", offers=[m.Offer("fleeting", instance=True)]))
    raw.hear("welcome")  # it answers no ping, and has to owe a decision soon
    run = experiment.run("count", ["fleeting", player], episodes=3, seed=1, substitutes=[spare])
    episode = raw.hear("start")["episode"]
    raw.say(m.Action(episode, 0, 0, 0))
    raw.hear("step")
    raw.say(m.Bye())
    results = run.wait()
    assert "until then recorder plays in its place" in run.problems[0]
    assert [(each.reason, each.scored) for each in results] == [("terminated", False)] * 3
    first = [each.seats[0] for each in results]
    assert [(each.instance, each.since, each.total) for each in first] == [
        (spare, 2, 4.0),
        (spare, 0, 5.0),
        (spare, 0, 5.0),
    ]
    assert len({each.stands_for for each in first}) == 1
    assert all(each.seats[1].stands_for is None for each in results)
    ends = experiment.message(spare, None)
    assert [total for *_, total in ends] == [4.0, 5.0, 5.0]


def test_a_full_disk_holds_everything_back_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "episodes.journal"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    broker = Broker(Journal(path))
    broker.serve(serve_environment, [Count])
    broker.serve(serve_agent, [Player])
    try:
        with Experiment.connect(broker.address) as experiment:
            experiment.expect(["count"], ["player"])
            player = experiment.create("player")
            first = experiment.run("count", [player, player], episodes=5, seed=1).wait()
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, hard))
            run = experiment.run("count", [player, player], episodes=5, seed=2)
            while not run.problems:
                experiment.wait(0.1)
            assert "cannot write the journal" in run.problems[0]
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            second = run.wait()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        broker.close()
    told = [(e.run, e.index, e.seed) for e in itertools.chain(first, second)]
    played = [each.result for each in read(path) if isinstance(each, EpisodeRecord)]
    written = [(each.run, each.index, each.seed) for each in played]
    assert told == written
    assert len(told) == 10


def test_in_one_program_a_full_disk_holds_the_run_back(tmp_path: Path) -> None:
    path = tmp_path / "episodes.journal"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with InProcess([Count], [Player], journal=path) as experiment:
        player = experiment.create("player")
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
            run = experiment.run("count", [player, player], episodes=5, seed=2)
            while not run.problems:
                run.poll(0.05)
            assert "cannot write the journal" in run.problems[0]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        told = [(each.run, each.index) for each in run.wait()]
    assert told == [
        (each.result.run, each.result.index)
        for each in read(path)
        if isinstance(each, EpisodeRecord)
    ]
    assert len(told) == 5


def test_a_broker_that_starts_on_a_full_disk_says_which_file(tmp_path: Path) -> None:
    path = tmp_path / "episodes.journal"
    Journal(path).close()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
        with pytest.raises(
            DovetailError, match=r"cannot write .*episodes\.journal\.live: File too"
        ):
            serve("tcp://127.0.0.1:*", journal=lambda: Journal(path), durable=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_journal_cut_short_is_read_up_to_the_cut_and_written_on(tmp_path: Path) -> None:
    path = tmp_path / "episodes.journal"
    for _ in range(2):
        with InProcess([Count], [Player], journal=path) as experiment:
            player = experiment.create("player")
            experiment.run("count", [player, player], episodes=2).wait()
            experiment.save(player, state_name="best")
    whole = list(read(path))
    assert len(whole) == 6
    last = [
        each.end for each in entries(path) if isinstance(getattr(each, "record", 0), StateRecord)
    ]
    path.write_bytes(path.read_bytes()[: last[-1] - 3])
    assert len(list(read(path))) == 5
    Journal(path).close()
    assert len(list(read(path))) == 5
    (tmp_path / "other").write_text("This is not a Dovetail journal at all.")
    with pytest.raises(DovetailError, match="is not a Dovetail journal"):
        Journal(tmp_path / "other")


def test_goodbye_of_the_broker_reaches_everybody(broker: Broker, experiment: Experiment) -> None:
    player = experiment.create("player")
    run = experiment.run("count", [player, player], episodes=10**6)
    while not run.poll():
        pass
    broker.over.set()
    with pytest.raises(DovetailError, match=r"the broker has left|the broker is shutting down"):
        for _ in run:
            pass
    for _, thread in broker.stops:
        thread.join(10)
        assert not thread.is_alive()


def test_a_mistake_of_the_broker_ends_nothing_that_is_in_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "games")

    def fail(server: Server, timeout: float) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Server, "pump", fail)
    with pytest.raises(ZeroDivisionError):
        serve("tcp://127.0.0.1:*", journal=journal, durable=True)
    live = place(journal.path)
    assert live.exists()
    again = Journal(journal.path)  # neither file is in use any more
    assert again.number == 0
    server = Server(None, Settings(), again, Live(again))
    server.close()
    assert not live.exists()
