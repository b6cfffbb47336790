"""Faults over real sockets: each costs the peer concerned one clear line, and nobody else anything."""

from __future__ import annotations

import itertools
import math
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import deque

import msgspec
import numpy as np
import pytest
import zmq

from dovetail import Agent, Environment, Experiment, InProcess, Spec, Turn, View
from dovetail.agent_servers.serve import serve as serve_agent
from dovetail.broker.core import Settings
from dovetail.broker.journal import Journal
from dovetail.broker.server import Server
from dovetail.env_servers.serve import serve as serve_environment
from dovetail.peer.serving import PROMPT
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import read
from dovetail.protocol.spaces import Box, Discrete


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

    def step(self, actions) -> Turn:
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

    def step(self, turn):
        return turn.rng.choice(turn.legal)


class Recorder(Player):
    """Plays at random and remembers how its episodes ended."""

    ends: list

    def __init__(self, parameters=None, seed=0):
        super().__init__(parameters, seed)
        self.ends = []

    def end(self, end):
        self.ends.append((end.reason, end.blame, end.reward, end.total))

    def message(self, body):
        return self.ends


class Hanging(Player):
    """Never answers its third decision."""

    held = threading.Event()

    def step(self, turn):
        if turn.turn >= 4:
            self.held.wait(20)
        return turn.legal[0]


class Cheat(Player):
    """Plays an action that does not exist in its second decision."""

    def step(self, turn):
        return 99 if turn.turn >= 2 else 0


class Crashing(Player):
    """Raises in its second decision."""

    def step(self, turn):
        if turn.turn >= 2:
            raise RuntimeError("no more ideas")
        return 0


class Unsendable(Player):
    """Answers with what cannot travel."""

    def step(self, turn):
        return object()


class Broker:
    """A broker in a thread."""

    def __init__(self, journal=None, **settings):
        self.server = Server("tcp://127.0.0.1:*", Settings(**settings), journal)
        self.address = self.server.address
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.loop)
        self.thread.start()
        self.stops: list[tuple[threading.Event, threading.Thread]] = []

    def loop(self):
        while not self.over.is_set():
            self.server.pump(0.05)
        self.server.close()

    def serve(self, function, what, **options):
        stop = threading.Event()
        thread = threading.Thread(
            target=function, args=(what, self.address), kwargs={"stop": stop, **options}
        )
        thread.start()
        self.stops.append((stop, thread))

    def close(self):
        Hanging.held.set()
        self.over.set()
        self.thread.join(10)
        for stop, thread in self.stops:
            stop.set()
            thread.join(10)


@pytest.fixture
def broker():
    broker = Broker(heartbeat=0.1, grace=1.0, peer_timeout=2.0)
    Hanging.held.clear()
    broker.serve(serve_environment, [Count])
    broker.serve(serve_agent, [Player, Recorder, Hanging, Cheat, Crashing, Unsendable])
    yield broker
    broker.close()


@pytest.fixture
def experiment(broker):
    with Experiment.connect(broker.address) as experiment:
        experiment.expect(["count"], ["player", "recorder"])
        yield experiment


class Raw:
    """A peer that says anything."""

    def __init__(self, address):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.heard: deque[dict] = deque()
        self.socket.connect(address)

    def say(self, *messages):
        self.socket.send_multipart(
            [each if isinstance(each, bytes) else codec.encode(each) for each in messages]
        )

    def hear(self, kind=None):
        """Return the next message (of a type) as a plain map."""
        while True:
            while self.heard:
                message = self.heard.popleft()
                if message["type"] == kind or (kind is None and message["type"] != "ping"):
                    return message
            assert self.socket.poll(5000), "the broker said nothing"
            self.heard.extend(map(msgspec.msgpack.decode, self.socket.recv_multipart()))

    def close(self):
        self.socket.close()
        self.context.term()


@pytest.fixture
def raw(broker):
    raw = Raw(broker.address)
    yield raw
    raw.close()


def hello(role="experiment", **fields):
    return m.Hello(m.VERSION, role, **fields)


def plays_on(experiment):
    """The rest of the world goes on."""
    a = experiment.create("player")
    results = experiment.run("count", [a, a], episodes=3, seed=1).wait()
    assert [e.reason for e in results] == ["terminated"] * 3


NESTED = b"\x91" * 100_000 + b"\x00"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\xc1rubbish", "malformed"),
        (b"", "malformed"),
        (codec.encode(m.Catalogue(1))[:-2], "malformed"),
        (b"\xdd\xff\xff\xff\xff", "invalid"),
        (b"\xdf\xff\xff\xff\xff", "malformed"),
        (b"\xc6\xff\xff\xff\xffabc", "malformed"),
        (NESTED, "limit"),
        (codec.encode({"type": "nonsense"}), "unknown-type"),
        (codec.encode({"no": "type"}), "unknown-type"),
        (codec.encode([1, 2]), "invalid"),
        (codec.encode({"type": "catalogue", "id": "one"}), "invalid"),
        (codec.encode({"type": "action", "episode": 1, "turn": 0, "seat": 0}), "unknown-type"),
        (codec.encode(m.Hello(m.VERSION, "experiment", "other")), "wrong-state"),
        (codec.encode(m.Cancel(3, 12345)), "unknown"),
    ],
)
def test_a_bad_frame_gets_an_error_and_harms_nobody(broker, experiment, raw, frame, code):
    raw.say(hello())
    assert raw.hear()["type"] == "welcome"
    raw.say(frame)
    error = raw.hear("error")
    assert error["code"] == code
    assert "\n" not in error["message"]
    raw.say(m.Catalogue(7))
    assert raw.hear("reply")["id"] == 7
    plays_on(experiment)


def test_a_frame_beyond_the_limit_closes_only_that_connection(broker, experiment, raw):
    raw.say(hello())
    raw.hear("welcome")
    raw.say(b"\xc6" + (20 << 20).to_bytes(4, "big") + bytes(20 << 20))
    plays_on(experiment)


def test_nothing_is_accepted_before_hello(raw):
    for message in (m.Catalogue(1), m.Action(1, 0, 0, 0), m.Bye()):
        raw.say(message)
        assert raw.hear("error")["code"] == "hello-first"


def test_another_protocol_version_is_refused(raw):
    raw.say(m.Hello(99, "agent"))
    error = raw.hear("error")
    assert error["code"] == "version"
    assert "99" in error["message"]


def test_two_peers_cannot_have_one_name(broker, raw):
    raw.say(hello(name="me"))
    raw.hear("welcome")
    with pytest.raises(DovetailError, match="another peer is called 'me'"):
        Experiment.connect(broker.address, name="me")


def test_two_programs_cannot_be_one_agent(broker, raw):
    raw.say(hello("agent", offers=[m.Offer("deep", instance=True)]))
    raw.hear("welcome")
    other = Raw(broker.address)
    other.say(hello("agent", offers=[m.Offer("deep", instance=True)]))
    assert other.hear("error")["code"] == "name-taken"
    other.close()


def test_the_access_token_is_asked_for():
    broker = Broker(token="open sesame")
    try:
        with pytest.raises(DovetailError, match="access token"):
            Experiment.connect(broker.address)
        Experiment.connect(broker.address, token="open sesame").close()
    finally:
        broker.close()


def test_a_program_that_waits_for_a_broker_can_be_stopped():
    stop = threading.Event()
    thread = threading.Thread(
        target=serve_agent, args=(Player, "tcp://127.0.0.1:1"), kwargs={"stop": stop, "wait": None}
    )
    thread.start()
    stop.set()
    thread.join(10)
    assert not thread.is_alive()


def test_no_broker_is_one_clear_line():
    with pytest.raises(DovetailError, match="no broker answers at"):
        Experiment.connect("tcp://127.0.0.1:1", wait=0.3)
    with pytest.raises(DovetailError, match="is not a broker address"):
        Experiment.connect("nonsense", wait=0.3)


def test_the_address_in_use_is_one_clear_line(broker):
    with pytest.raises(DovetailError, match="cannot listen"):
        Server(broker.address)


def test_a_slow_joiner_waits_for_the_broker(tmp_path):
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


def test_an_answer_leaves_before_the_agent_has_thought_about_all_that_came_with_its_question(
    broker, experiment
):
    """Two episodes at once: the agent decides in one only when the other has gone on."""
    gone_on = threading.Event()

    class Told(Count):
        """Count, and say when a game goes on."""

        def step(self, actions):
            gone_on.set()
            return super().step(actions)

    class Waiting(Player):
        """Takes its time over its first decision, and waits in the second for the other game to go on."""

        heard: list[bool] = []  # noqa: RUF012

        def step(self, turn):
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


def test_an_action_for_anothers_seat_is_refused_and_changes_nothing(broker, experiment, raw):
    raw.say(hello("agent", offers=[m.Offer("raw")]))
    raw.hear("welcome")
    made = threading.Thread(target=lambda: raw.say(m.Reply(raw.hear("create")["id"])))
    made.start()
    own = experiment.create("raw")
    made.join()
    other = experiment.create("player")
    run = experiment.run("count", [own, other], episodes=1, seed=1)
    turn = 0
    message = raw.hear("start")
    while message["type"] != "end":
        episode = message.get("episode", 0)
        raw.say(m.Action(episode, turn, 1, 0))
        error = raw.hear("error")
        assert "seat 1" in error["message"]
        raw.say(m.Action(episode, turn + 7, 0, 0))  # late or early: ignored
        raw.say(m.Action(episode, turn, 0, 0), m.Action(episode, turn, 0, 1))  # doubled
        turn += 2
        message = raw.hear("step") if turn < 10 else raw.hear("end")
    (result,) = run.wait()
    assert result.reason == "terminated"
    assert result.seats[0].decisions == 5
    assert result.seats[0].ignored == 10
    assert [seat.total for seat in result.seats] == [5.0, 5.0]


def blame(experiment, agent, **options):
    """Play the agent in seat 0 against a recorder; return the result and what the recorder heard."""
    bad = experiment.create(agent)
    recorder = experiment.create("recorder")
    (result,) = [
        e
        for e in experiment.run("count", [bad, recorder], episodes=1, seed=1, retries=0, **options)
        if not e.will_retry
    ]
    heard = experiment.message(recorder, None)
    assert len(heard) == 1
    return result, heard[0]


@pytest.mark.parametrize(
    ("agent", "options", "reason", "blamed"),
    [
        ("cheat", {}, "illegal-action", 0),
        ("cheat", {"on_illegal": "truncate"}, "truncated", 0),
        ("cheat", {"on_illegal": "random"}, "terminated", None),
        ("crashing", {}, "crashed", 0),
        ("unsendable", {}, "crashed", 0),
        ("player", {"max_turns": 3}, "truncated", None),
        ("player", {}, "terminated", None),
    ],
)
def test_every_ending_is_told_apart_and_every_seat_told(experiment, agent, options, reason, blamed):
    result, heard = blame(experiment, agent, **options)
    assert (result.reason, result.blame) == (reason, blamed)
    assert heard[:2] == [reason, blamed]
    assert heard[3] == result.seats[1].total
    if reason == "illegal-action":
        assert result.outcome == [0.0, 1.0]
        assert result.seats[0].total == 1.0 - 5.0
    assert result.scored is (reason != "crashed")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"clock": {"decision": 0.2}}, "timeout"),
        ({"clock": {"episode": 0.2, "increment": 0.01, "margin": 0.05}}, "timeout"),
        ({"answer_timeout": 0.2}, "stalled"),
        ({"clock": {"decision": 0.2}, "on_timeout": "truncate"}, "truncated"),
    ],
)
def test_a_hung_agent_costs_its_seat_the_episode(broker, options, reason):
    broker.serve(serve_agent, [type("Stuck", (Hanging,), {})])
    with Experiment.connect(broker.address) as experiment:
        experiment.expect(["count"], ["stuck", "recorder"])
        result, heard = blame(experiment, "stuck", **options)
    assert (result.reason, result.blame) == (reason, 0)
    assert heard[:2] == [reason, 0]


def test_clocks_are_told_and_a_timeout_can_cost_a_random_action(broker, experiment):
    class Slow(Player):
        clocks: list = []  # noqa: RUF012

        def step(self, turn):
            self.clocks.append(turn.clock)
            time.sleep(1.1 if turn.turn == 2 else 0)
            return 0

    broker.serve(serve_agent, [Slow])
    experiment.expect(agents=["slow"])
    result, _ = blame(
        experiment, "slow", clock={"decision": 1.0, "episode": 60.0}, on_timeout="random"
    )
    assert result.reason == "terminated"
    assert result.seats[0].breaches == 1
    first, second, third, *_ = Slow.clocks
    assert (first.decision, first.left, first.last) == (1.0, 60.0, None)
    assert second.last is not None
    assert third.left < 60.0 - 0.1


class Faulty(Environment):
    """Does what its configuration says in its second turn."""

    class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
        fault: str = ""

    def init(self) -> Spec:
        if self.configuration.fault == "init":
            raise DovetailError("option 'fault' makes no game")
        spaces = [Box([2], 0, 1, "float64")]
        return Spec(seats=1, observation_spaces=spaces, action_spaces=[Discrete(2)])

    def start(self, seed):
        return Turn(to_act=[0], seats=[View(0, np.zeros(2), [0, 1])])

    def step(self, actions):
        view = View(0, np.zeros(2), [0, 1])
        turn = Turn(to_act=[0], seats=[view])
        match self.configuration.fault:
            case "raise":
                raise KeyError("gone")
            case "nan":
                view.reward = math.nan
            case "infinite":
                view.reward = -math.inf
            case "seat":
                turn.to_act = [3]
            case "over":
                turn.terminated = True
            case "nobody":
                turn.to_act = []
            case "observation":
                view.observation = np.ones(3)
            case "dtype":
                view.observation = np.ones(2, np.float32)
            case "unsendable":
                view.observation = object()
            case "outcome":
                turn = Turn(seats=[view], terminated=True, outcome=[1.0, 0.0])
            case "hang":
                Hanging.held.wait(20)
        return turn


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("raise", "KeyError"),
        ("nan", "nan"),
        ("infinite", "inf"),
        ("seat", "seat 3"),
        ("over", "to_act"),
        ("nobody", "to_act"),
        ("observation", "observation"),
        ("dtype", "observation"),
        ("unsendable", "cannot travel"),
        ("outcome", "outcome"),
    ],
)
def test_a_faulty_environment_fails_its_episode_only(broker, experiment, fault, text):
    broker.serve(serve_environment, [Faulty])
    experiment.expect(["faulty"])
    recorder = experiment.create("recorder")
    run = experiment.run(
        "faulty", [recorder], configuration={"fault": fault}, check=True, retries=1
    )
    first, second = run.wait()
    assert (first.reason, first.will_retry, first.scored) == ("environment-failed", True, False)
    assert (second.reason, second.will_retry, second.index) == ("environment-failed", False, 0)
    assert text in second.message
    assert "\n" not in second.message
    assert [end[0] for end in experiment.message(recorder, None)] == ["environment-failed"] * 2
    plays_on(experiment)


def test_a_configuration_that_makes_no_game_fails_the_run(broker, experiment):
    broker.serve(serve_environment, [Faulty])
    experiment.expect(["faulty"])
    player = experiment.create("player")
    for configuration, text in (
        ({"fault": "init"}, "option 'fault' makes no game"),
        ({"fault": 3}, "option 'fault'"),
        ({"size": 3}, "no option 'size'"),
    ):
        with pytest.raises(DovetailError, match=text):
            experiment.run("faulty", [player], configuration=configuration).wait()
    with pytest.raises(DovetailError, match="2 seats"):
        experiment.run("count", [player]).wait()
    with pytest.raises(DovetailError, match="no environment 'chess'"):
        experiment.run("chess", [player])
    with pytest.raises(DovetailError, match="no agent type 'kasparov'"):
        experiment.create("kasparov")
    with pytest.raises(DovetailError, match="no option 'depth'"):
        experiment.create("player", parameters={"depth": 3})


def test_a_silent_environment_fails_its_run(broker, experiment):
    broker.serve(serve_environment, [Faulty])
    experiment.expect(["faulty"])
    player = experiment.create("player")
    run = experiment.run("faulty", [player], configuration={"fault": "hang"}, answer_timeout=0.3)
    with pytest.raises(DovetailError, match=r"did not open|silent|did not come back"):
        run.wait()
    plays_on(experiment)


PEER = """
import sys, time
sys.path.insert(0, {folder!r})
from dovetail.agent_servers.serve import serve as serve_agent
from dovetail.env_servers.serve import serve as serve_environment
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
    broker, experiment, what, environment, agent, reason
):
    code = PEER.format(folder=os.path.dirname(__file__), what=what.format(address=broker.address))
    peer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert peer.stdout.readline() == "up\n"
        experiment.expect([environment], [agent])
        doomed = experiment.create(agent)
        recorder = experiment.create("recorder")
        run = experiment.run(environment, [doomed, recorder], episodes=5, seed=1)
        assert peer.stdout.readline() == "held\n"
        peer.send_signal(signal.SIGKILL)
        results = []
        with pytest.raises(DovetailError, match="the run failed"):
            results += run
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


def test_an_environment_that_dies_is_replaced_by_another(broker, experiment):
    code = PEER.format(
        folder=os.path.dirname(__file__),
        what=f"Doomed.name = 'count'; serve_environment([Doomed], {broker.address!r})",
    )
    peer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        while len(experiment.catalogue()["environments"]) < 2:
            time.sleep(0.02)
        player = experiment.create("player")
        run = experiment.run("count", [player, player], episodes=6, seed=1, concurrency=2)
        assert peer.stdout.readline() == "up\n"
        assert peer.stdout.readline() == "held\n"
        peer.send_signal(signal.SIGKILL)
        results = run.wait()
        assert sorted(e.index for e in results if e.scored) == list(range(6))
        assert [e.reason for e in results if not e.scored] == ["environment-failed"]
    finally:
        peer.kill()
        peer.wait()
        peer.stdout.close()


def test_a_peer_that_returns_with_its_token_goes_on_where_it_was(broker, experiment, raw):
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


def test_a_full_disk_holds_everything_back_and_loses_nothing(tmp_path):
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
    written = [(r.result.run, r.result.index, r.result.seed) for r in read(path)]
    assert told == written
    assert len(told) == 10


def test_a_journal_cut_short_is_read_up_to_the_cut_and_written_on(tmp_path):
    path = tmp_path / "episodes.journal"
    for _ in range(2):
        with InProcess([Count], [Player], journal=path) as experiment:
            player = experiment.create("player")
            experiment.run("count", [player, player], episodes=2).wait()
            experiment.save(player, state_name="best")
    whole = list(read(path))
    assert len(whole) == 6
    path.write_bytes(path.read_bytes()[:-3])
    assert len(list(read(path))) == 5
    Journal(path).close()
    assert len(list(read(path))) == 5
    (tmp_path / "other").write_text("This is not a Dovetail journal at all.")
    with pytest.raises(DovetailError, match="is not a Dovetail journal"):
        Journal(tmp_path / "other")


def test_goodbye_of_the_broker_reaches_everybody(broker, experiment):
    player = experiment.create("player")
    run = experiment.run("count", [player, player], episodes=10**6)
    next(iter(run))
    broker.over.set()
    with pytest.raises(DovetailError, match=r"the broker has left|the broker is shutting down"):
        for _ in run:
            pass
    for _, thread in broker.stops:
        thread.join(10)
        assert not thread.is_alive()
