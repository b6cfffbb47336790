"""Keys over real sockets: who is let in, who is told why not, and what a revoked key costs."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import zmq

from dovetail import transport
from dovetail.broker.peers import access_file
from dovetail.broker.peers.access_file import AccessFile
from dovetail.broker.shell.serve import serve
from dovetail.broker.shell.server import Server
from dovetail.client.client import Experiment
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.agents.serve import serve as serve_agent
from dovetail.peer.environments.serve import serve as serve_environment
from dovetail.peer.link import Link
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.transport import dealer as dealer_module
from dovetail.transport import keys, libzmq, lines
from dovetail.transport import router as router_module
from dovetail.transport.keys import Key
from dovetail.transport.libzmq import Dealer
from dovetail.transport.router import Router
from dovetail_games.connect_four import ConnectFour

SOON = 30.0
"""Seconds for what must happen, on a busy machine."""
TOLD = 1.0
"""Seconds of the clock within which a program must hear that it is refused; its own work is on
top."""
TRIES = 5
"""How often in a row a busy machine may let it wait longer."""


class Guarded:
    """A broker with an access file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "access.toml"
        self.server = keys.make()
        keys.write(folder / "access.key", self.server, "of the broker")
        self.entries: dict[str, str] = {}
        self.address = ""

    def key(self, name: str, more: str = "") -> Key:
        """Make a key that may do what ``more`` says."""
        made = keys.make(self.server.public)
        self.entries[name] = f'public = "{made.public}"\n{more}\n'
        self.write()
        return made

    def write(self) -> None:
        text = "".join(f"[keys.{name}]\n{entry}" for name, entry in self.entries.items())
        new = self.folder / "new"
        new.write_text(text)
        new.replace(self.path)

    @contextmanager
    def running(self, bind: str = "tcp://127.0.0.1:*") -> Iterator[None]:
        stop, up = threading.Event(), threading.Event()

        def ready(server: Server) -> None:
            self.address = str(server.address)
            up.set()

        file = AccessFile(self.path)
        thread = threading.Thread(
            target=serve, args=(bind,), kwargs={"stop": stop, "ready": ready, "access": file}
        )
        thread.start()
        try:
            assert up.wait(SOON)
            yield
        finally:
            stop.set()
            thread.join()


@pytest.fixture(params=["zmtp", "libzmq"])
def guarded(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Guarded:
    """Both ends over our own ZMTP, then over libzmq, but for those that a test makes itself."""
    monkeypatch.setenv(transport.VARIABLE, request.param)
    monkeypatch.setattr(access_file, "LOOK", 0.05)
    return Guarded(tmp_path)


def observe(address: str, key: Key | None = None, **fields: Any) -> Link:
    return Link(address, m.Hello(m.VERSION, "observer", **fields), SOON, key=key or keys.WITHOUT)


def listen(link: Link | Dealer) -> None:
    """Take what the broker says, for a while."""
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        link.receive(0.1)


def refused(call: Callable[[], Any]) -> str:
    """Return the line with which a program is refused, within a second of waiting."""
    over: list[float] = []
    while not over or over[-1] > 0:
        assert len(over) < TRIES, f"{over} s too late"
        began, worked = time.monotonic(), time.process_time()
        with pytest.raises(DovetailError) as error:
            call()
        spent = time.monotonic() - began
        over.append(spent - TOLD - 5 * (time.process_time() - worked))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.rule("S13.2")
def test_a_game_is_played_with_keys(guarded: Guarded) -> None:
    game = guarded.key("lab", 'roles = ["environment"]\noffers = ["connect_four"]')
    player = guarded.key("ada", 'roles = ["agent"]')
    mine = guarded.key("bob", 'roles = ["experiment"]')
    path = guarded.folder / "bob.key"
    keys.write(path, mine, "bob")
    stop = threading.Event()
    with guarded.running():
        threads = [
            threading.Thread(
                target=each, args=(kind, guarded.address), kwargs={"key": key, "stop": stop}
            )
            for each, kind, key in (
                (serve_environment, ConnectFour, game),
                (serve_agent, Random, player),
            )
        ]
        for thread in threads:
            thread.start()
        try:
            with Experiment.connect(guarded.address, key=path) as experiment:
                experiment.expect(["connect_four"], ["random"])
                agents = [experiment.create("random", seed=seed) for seed in (1, 2)]
                run = experiment.run("connect_four", agents, episodes=4, seed=3)
                assert len(run.wait()) == 4
        finally:
            stop.set()
            for thread in threads:
                thread.join()


@pytest.mark.rule("S13.2")
def test_those_without_the_right_key_are_told_so_within_a_second(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = guarded.key("ada")
    foreign = keys.make(guarded.server.public)
    with guarded.running():
        observe(guarded.address, good).close()
        text = refused(lambda: observe(guarded.address, foreign))
        assert (
            text
            == f"the broker at {guarded.address} does not accept this program's key; ask the person who runs it"
        )
        wrong = Key(good.public, good.secret, keys.make().public)
        text = refused(lambda: observe(guarded.address, wrong))
        assert "breaks off each handshake; check the broker's public key" in text
        monkeypatch.setenv(transport.VARIABLE, "zmtp")  # libzmq's end does not say this
        text = refused(lambda: observe(guarded.address))
        assert (
            text
            == f"the broker at {guarded.address} lets in only programs with a key; give the option key, or set DOVETAIL_KEY"
        )


def test_a_key_at_a_broker_without_keys_is_told_so() -> None:
    stop, up = threading.Event(), threading.Event()
    address = ""

    def ready(server: Server) -> None:
        nonlocal address
        address = str(server.address)
        up.set()

    thread = threading.Thread(
        target=serve, args=("tcp://127.0.0.1:*",), kwargs={"stop": stop, "ready": ready}
    )
    thread.start()
    try:
        assert up.wait(SOON)
        text = refused(lambda: observe(address, keys.make(keys.make().public)))
        assert (
            text
            == f"the broker at {address} uses no keys; connect without the option key and DOVETAIL_KEY"
        )
    finally:
        stop.set()
        thread.join()


def test_a_handshake_that_fails_before_anything_is_said() -> None:
    """libzmq has then given the connection up, and would wait forever to send."""
    router = transport.listen("tcp://127.0.0.1:*", 1 << 20)
    failed = threading.Event()

    def listen_until_it_fails() -> None:
        while not failed.is_set():
            router.receive(0.05)

    def greet() -> bytes:
        monitor = dealers[0]._monitor
        assert monitor is not None
        assert monitor.poll(int(SOON * 1000))
        return b"hello"

    dealers: list[Dealer] = []

    class Slow(Dealer):
        def reset(self) -> None:
            dealers.append(self)
            super().reset()

    thread = threading.Thread(target=listen_until_it_fails)
    thread.start()
    try:
        slow = Slow(router.address, greet, keys.make(keys.make().public))
        with pytest.raises(DovetailError, match="uses no keys"):
            listen(slow)
        slow.close(0)
    finally:
        failed.set()
        thread.join()
        router.close()


@pytest.mark.rule("S13.3")
def test_roles_and_names_that_are_not_allowed_are_refused(guarded: Guarded) -> None:
    key = guarded.key("ada", 'roles = ["agent"]\noffers = ["td*"]')
    with guarded.running(f"ipc://{guarded.folder}/b"):
        text = refused(lambda: observe(guarded.address, key))
        assert text == "the broker refuses: the key 'ada' may not be an observer; it may be agent"
        text = refused(lambda: serve_agent(Random, guarded.address, key=key))
        assert text == "the broker refuses: the key 'ada' may not offer 'random'; it may offer td*"


@pytest.mark.rule("S13.6")
def test_a_key_that_is_revoked_while_its_program_is_connected(guarded: Guarded) -> None:
    ada, bob = guarded.key("ada"), guarded.key("bob")
    with guarded.running():
        mine = observe(guarded.address, ada)
        with Experiment.connect(guarded.address, key=bob) as other:
            assert len(other.catalogue()["peers"]) == 2
            guarded.entries["ada"] += "revoked = true\n"
            guarded.write()
            with pytest.raises(DovetailError, match=r"refuses: the key 'ada' was revoked"):
                listen(mine)
            assert [peer["role"] for peer in other.catalogue()["peers"]] == ["experiment"]
            mine.close(goodbye=False)
            assert "does not accept" in refused(lambda: observe(guarded.address, ada))


def test_the_connection_of_a_revoked_key_is_closed_when_it_is_used(guarded: Guarded) -> None:
    ada = guarded.key("ada")
    with guarded.running():
        hello = codec.encode(m.Hello(m.VERSION, "observer"))
        dealer = Dealer(guarded.address, lambda: hello, ada)

        def until(kind: type) -> None:
            for _ in range(int(SOON * 10)):
                frames = map(codec.Decoder[Any](m.ToExperiment).decode, dealer.receive(0.1))
                if any(isinstance(each, kind) for each in frames):
                    return
            raise AssertionError(kind)

        try:
            until(m.Welcome)
            guarded.entries["ada"] += "revoked = true\n"
            guarded.write()
            until(m.Error)
            dealer.send([codec.encode(m.Ping(1))])
            with pytest.raises(DovetailError, match="does not accept this program's key"):
                until(type(None))  # libzmq connects again by itself
        finally:
            dealer.close(0)


def test_a_session_token_is_of_no_use_to_another_key(guarded: Guarded) -> None:
    ada, bob = guarded.key("ada"), guarded.key("bob")
    with guarded.running():
        mine = observe(guarded.address, ada, name="mine")
        assert mine.session.welcome is not None
        session = mine.session.welcome.session
        thief = Raw(guarded.address, bob)
        try:
            thief.socket.send(codec.encode(m.Hello(m.VERSION, "observer", resume=session)))
            welcome = codec.Decoder[Any](m.Welcome).decode(thief.socket.recv())
            assert (welcome.resumed, welcome.name) == (False, "observer-2")
            assert welcome.session != session
        finally:
            thief.close()
        mine.send([m.Catalogue(1)])
        answer: list[m.Message] = []
        while not any(isinstance(each, m.Reply) for each in answer):
            answer += mine.receive(SOON)
        mine.close()


def test_a_key_that_is_added_is_let_in_by_the_running_broker(guarded: Guarded) -> None:
    guarded.key("ada")
    with guarded.running():
        late = guarded.key("late")
        end = time.monotonic() + SOON
        while True:
            try:
                observe(guarded.address, late).close()
                break
            except DovetailError:
                assert time.monotonic() < end


class Raw:
    """A DEALER that libzmq names as it wishes."""

    def __init__(
        self,
        address: str,
        key: Key,
        name: bytes = b"",
        options: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.context: zmq.Context[Any] = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.rcvtimeo = int(SOON * 1000)
        if name:
            self.socket.routing_id = name
        for option, value in options.items():
            self.socket.setsockopt(option, value)
        self.socket.curve_publickey = key.public.encode()
        self.socket.curve_secretkey = key.secret.encode()
        self.socket.curve_serverkey = key.server.encode()
        self.socket.connect(address)

    def close(self) -> None:
        self.socket.close()
        self.context.term()


def test_a_connections_name_says_whose_it_is_whatever_a_peer_calls_itself(guarded: Guarded) -> None:
    """A peer that takes the name of a connection that has ended does not become its peer."""
    ada, bob = guarded.key("ada"), guarded.key("bob")
    router = transport.listen(
        "tcp://127.0.0.1:*", 1 << 20, keys.Guard(guarded.server, lambda key: True)
    )
    names = []
    try:
        for key in (ada, bob):
            peer = Raw(router.address, key, b"chosen")
            peer.socket.send(b"hello")
            end = time.monotonic() + SOON
            # Our own router also says that the other connection has ended.
            while not (events := [each for each in router.receive(0.1) if each[1] is not None]):
                assert time.monotonic() < end
            ((name, frames),) = events
            assert frames == [b"hello"]
            names.append(name)
            router.send(name, [b"welcome"])
            assert peer.socket.recv() == b"welcome"
            peer.close()
    finally:
        router.close()
    assert [name[: keys.LENGTH] for name in names] == [each.public.encode() for each in (ada, bob)]
    if os.environ[transport.VARIABLE] == "libzmq":
        assert names == [each.public.encode() + b"chosen" for each in (ada, bob)]


# -- ours and libzmq's -----------------------------------------------------------------------------

MESSAGES = [
    [b""],
    [b"a"],
    [bytes(254), bytes(255), bytes(256)],
    [b"", bytes(8192), b"b"],
    [bytes(1 << 20)],
]
HEARTBEAT = 2000
"""Milliseconds without an answer after which libzmq gives a connection up; a busy machine takes
less."""


@contextmanager
def echoing(router: transport.AnyRouter) -> Iterator[list[bytes]]:
    """Send back what comes; gives the names of connections that said something."""
    over, names = threading.Event(), []

    def work() -> None:
        while not over.is_set():
            for name, frames in router.receive(0.02):
                if frames is not None:
                    names.append(name)
                    router.send(name, frames)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield names
    finally:
        over.set()
        thread.join()
        router.close(0.1)


def pair() -> tuple[keys.Guard, Key]:
    """Return a lock, and a key that opens it."""
    server = keys.make()
    key = keys.make(server.public)
    return keys.Guard(server, lambda public: public == key.public), key


def hear(dealer: transport.AnyDealer, count: int) -> list[bytes]:
    heard: list[bytes] = []
    end = time.monotonic() + SOON
    while len(heard) < count:
        assert time.monotonic() < end
        heard += dealer.receive(0.1)
    return heard


@pytest.mark.rule("S13.2")
def test_our_router_and_libzmqs_dealer_with_its_heartbeats() -> None:
    guard, key = pair()
    router = Router("tcp://127.0.0.1:*", 1 << 20, guard=guard)
    peer = Raw(
        router.address, key, options={zmq.HEARTBEAT_IVL: 20, zmq.HEARTBEAT_TIMEOUT: HEARTBEAT}
    )
    try:
        with echoing(router) as names:
            for message in MESSAGES:
                peer.socket.send_multipart(message)
                heard: list[bytes] = []
                while len(heard) < len(message):  # frames may come back in several messages
                    heard += peer.socket.recv_multipart()
                assert heard == message
            time.sleep(
                1.3 * HEARTBEAT / 1000
            )  # libzmq would close a connection that does not answer
            peer.socket.send(b"still here")
            assert peer.socket.recv() == b"still here"
            assert len(set(names)) == 1
            assert names[0].startswith(key.public.encode())
    finally:
        peer.close()


@pytest.mark.rule("S13.2")
def test_libzmqs_router_with_its_heartbeats_and_our_dealer(tmp_path: Path) -> None:
    guard, key = pair()

    class Beating(libzmq.Guarded):
        def _prepare(self) -> None:
            super()._prepare()
            self._socket.setsockopt(zmq.HEARTBEAT_IVL, 20)
            self._socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, HEARTBEAT)

    router = Beating(f"ipc://{tmp_path}/b", 1 << 21, guard)
    with echoing(router) as names:
        dealer = dealer_module.Dealer(router.address, lambda: b"hello", key)
        assert hear(dealer, 1) == [b"hello"]
        for message in MESSAGES:
            dealer.send(message)
            assert hear(dealer, len(message)) == message
        end = time.monotonic() + 1.3 * HEARTBEAT / 1000
        while time.monotonic() < end:
            assert dealer.receive(0.05) == []
        dealer.send([b"still here"])
        assert hear(dealer, 1) == [b"still here"]
        assert len(set(names)) == 1
        dealer.close(0.5)


Connect = Callable[[str, Callable[[], bytes], Key | None], transport.AnyDealer]
ENDS: dict[str, tuple[Callable[..., transport.AnyRouter], Connect]] = {
    "libzmq's dealer": (lambda guard: Router("tcp://127.0.0.1:*", 1 << 20, guard=guard), Dealer),
    "libzmq's router": (
        lambda guard: (
            libzmq.Guarded("tcp://127.0.0.1:*", 1 << 20, guard)
            if guard
            else libzmq.Router("tcp://127.0.0.1:*", 1 << 20)
        ),
        dealer_module.Dealer,
    ),
}


@pytest.mark.parametrize("ends", ENDS)
def test_the_lines_are_the_same_with_the_other_at_one_end(ends: str) -> None:
    listening, connecting = ENDS[ends]
    guard, key = pair()
    others = keys.make(guard.key.public)
    wrong = Key(key.public, key.secret, others.public)
    cases: list[tuple[keys.Guard | None, Key | None, str]] = [
        (guard, others, "does not accept this program's key"),
        (guard, wrong, "breaks off each"),
        (None, key, "uses no keys"),
    ]
    if connecting is dealer_module.Dealer:  # libzmq's does not say it
        cases.append((guard, None, "lets in only programs with a key"))
    for lock, mine, text in cases:
        router = listening(lock)
        with echoing(router) as names:
            dealer = connecting(router.address, lambda: b"hello", mine)
            try:
                with pytest.raises(DovetailError, match=text):
                    hear(dealer, 1)
            finally:
                dealer.close(0)
            assert names == []


def test_a_greeting_that_arrives_in_pieces() -> None:
    """Byte by byte, as over a slow line: both sides wait for what they need."""
    guard, key = pair()
    router = Router("tcp://127.0.0.1:*", 1 << 20, guard=guard)
    with echoing(router), socket.create_server(("127.0.0.1", 0)) as relay:
        port = int(router.address.rpartition(":")[2])

        def carry(source: socket.socket, target: socket.socket) -> None:
            while data := source.recv(1):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

        def relayed() -> None:
            near, _ = relay.accept()
            far = socket.create_connection(("127.0.0.1", port))
            for each in (near, far):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=carry, args=(far, near))
            back.start()
            carry(near, far)
            back.join()
            near.close()
            far.close()

        thread = threading.Thread(target=relayed)
        thread.start()
        dealer = dealer_module.Dealer(
            f"tcp://127.0.0.1:{relay.getsockname()[1]}", lambda: b"hello", key
        )
        assert hear(dealer, 1) == [b"hello"]
        dealer.close(SOON)
        thread.join()


def test_handshakes_come_out_of_the_budget_of_unauthenticated_connections() -> None:
    guard, key = pair()
    router = Router("tcp://127.0.0.1:*", 1 << 20, guard=guard)
    router.charge(router_module.BUDGET + 1000.0)
    dealer = dealer_module.Dealer(router.address, lambda: b"hello", key)
    try:
        for _ in range(20):
            assert router.receive(0.01) == []
            assert dealer.receive(0.01) == []
        router.charge(-2000.0)
        with echoing(router):
            assert hear(dealer, 1) == [b"hello"]
    finally:
        dealer.close(0)


def test_keys_that_are_refused_cannot_fill_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    guard, _ = pair()
    router = Router("tcp://127.0.0.1:*", 1 << 20, guard=guard)
    router.relax(True)
    foreign = keys.make(guard.key.public)

    def knock() -> None:
        dealer = dealer_module.Dealer(router.address, lambda: b"hello", foreign)
        end = time.monotonic() + SOON

        def wait() -> None:
            while time.monotonic() < end:
                router.receive(0.01)
                dealer.receive(0.01)

        with pytest.raises(DovetailError, match="does not accept this program's key"):
            wait()

    monkeypatch.setattr(lines, "PERIOD", 1e9)
    try:
        for _ in range(lines.MAX_LINES + 5):
            knock()
        said = [each.getMessage() for each in caplog.records]
        assert len(said) == lines.MAX_LINES
        assert all(f"its key {foreign.public} is not let in" in each for each in said)
        monkeypatch.setattr(lines, "PERIOD", 0.0)
        knock()
        assert caplog.records[-1].getMessage().endswith("(5 lines like this one were left out)")
    finally:
        router.close(0)


def test_what_a_guarded_router_drops_hears_why_and_its_end_is_known() -> None:
    guard, key = pair()
    router = Router("tcp://127.0.0.1:*", 1 << 20, guard=guard)
    dealer = dealer_module.Dealer(router.address, lambda: b"hello", key)
    events: list[Any] = []

    def until(true: Callable[[], Any]) -> None:
        end = time.monotonic() + SOON
        while not true():
            assert time.monotonic() < end
            events.extend(router.receive(0.01))
            heard.extend(dealer.receive(0.01))

    heard: list[bytes] = []
    try:
        until(lambda: events)
        name = events[0][0]
        router.send(name, [b"last words"])
        router.drop(name, "it asked for too much")
        until(lambda: (name, None) in events and dealer.trouble)
        assert heard == [b"last words"]
        assert dealer.trouble == "the other side says: it asked for too much"
    finally:
        dealer.close(0)
        router.close(0)


def test_programs_started_for_an_experiment_use_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.FILE, "/nowhere/my.key")
    with pytest.raises(DovetailError, match=r"cannot read the key /nowhere/my\.key"):
        keys.chosen(None)
    assert keys.chosen(keys.WITHOUT) is None
    assert keys.without({keys.FILE: "x", keys.SERVER: "y", "HOME": "z"}) == {"HOME": "z"}


def test_a_key_file_that_does_not_name_the_broker_needs_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ada.key"
    keys.write(path, keys.make(), "ada")
    monkeypatch.delenv(keys.SERVER, raising=False)
    with pytest.raises(DovetailError, match="does not name the broker's public key"):
        keys.chosen(path)
    server = keys.make().public
    monkeypatch.setenv(keys.SERVER, server)
    found = keys.chosen(path)
    assert found is not None
    assert found.server == server


def test_halves_that_do_not_belong_together_are_told_as_such(tmp_path: Path) -> None:
    one, other = keys.make(), keys.make()
    path = tmp_path / "mixed"
    keys.write(path, Key(one.public, other.secret, one.public), "mixed")
    with pytest.raises(DovetailError, match="its public and its secret key do not belong together"):
        Experiment.connect("tcp://127.0.0.1:9", key=path, wait=0.1)
