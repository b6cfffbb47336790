"""Every client library: built, held to the kit, its own tests run, and its players at one table.

A language whose compiler or packages are not here is skipped, and says what it lacks; with CI set
it fails instead. What passed is skipped until the client, the contract or the kit changes; with CI
set it is tested all the same. DOVETAIL_CLIENT=go tests one language only (`make test-clients
LANG=go`).
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import zmq.asyncio
from tests.clients.building import (
    CLIENTS,
    DOVETAIL,
    KIT,
    LONGEST,
    ROOT,
    TOOLS,
    build,
    make,
    program,
    run,
)
from tests.clients.stamps import PASSED, Stamps, digest
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_pages
from zmq.utils.monitor import recv_monitor_message

from dovetail.broker.core.core import Settings
from dovetail.broker.durable.journal import Journal
from dovetail.broker.peers.access_file import AccessFile
from dovetail.broker.shell.serve import in_thread
from dovetail.client.client import Experiment
from dovetail.peer.agents.agent import Decision
from dovetail.peer.agents.serve import serve as serve_agents
from dovetail.peer.agents.vector import Rows, VectorAgent
from dovetail.peer.environments.serve import serve as serve_environments
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.legal import unmask
from dovetail.transport import keys, zmtp
from dovetail.transport.curve import Server
from dovetail.transport.endpoint import NEEDS_KEY
from dovetail.transport.keys import Guard
from dovetail_games.connect_four import ConnectFour

MOST = 1 << 24
LARGEST = 1_500_000
"""KiB of memory that a hostile broker may have a client take."""
ONLY = os.environ.get("DOVETAIL_CLIENT", "")
CHOSEN = [ONLY] if ONLY else list(TOOLS)

pytestmark = [pytest.mark.clients, pytest.mark.timeout(LONGEST)]
if ONLY and ONLY not in TOOLS:
    raise pytest.UsageError(f"no client {ONLY!r}; LANG is one of {', '.join(TOOLS)}")
STAMPS = Stamps(ROOT, Path(sys.prefix) / "passed")


each_language = pytest.mark.parametrize(
    "language", [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in CHOSEN]
)


@pytest.fixture(autouse=True)
def _stamped(request: pytest.FixtureRequest) -> Iterator[None]:
    """Skip what passed with the files as they are; build the others, and note what passes."""
    if "language" in request.fixturenames:
        languages = [request.getfixturevalue("language")]
    else:
        languages = request.getfixturevalue("languages")
        if ONLY:
            pytest.skip(f"only the {ONLY} client is asked for")
    check = request.node.name
    if STAMPS.passed(check, languages):
        pytest.skip("passed already, and nothing that it rests on has changed")
    before = digest(ROOT, languages)
    for each in languages:
        build(each)
    yield
    if request.node.stash.get(PASSED, False):
        STAMPS.write(check, before, languages)


@each_language
def test_its_own_tests_pass(language: str) -> None:
    done = make("test", language)
    assert done.returncode == 0, done.stdout[-4000:]


@each_language
def test_it_is_formatted_and_linted(language: str) -> None:
    done = make("lint", language)
    assert done.returncode == 0, done.stdout[-4000:]


@each_language
@pytest.mark.parametrize("role", ["agent", "environment", "experiment"])
def test_it_keeps_the_contract(language: str, role: str) -> None:
    command = [*program(language, "conformer"), role]
    kit = [str(DOVETAIL), "conform", role, "--jobs", "4", "--patience", "60", "--", *command]
    done = run(kit, CLIENTS / language)
    assert done.returncode == 0, done.stdout[-6000:]
    if role == "agent":  # what the kit leaves to the library
        done = run([*kit[:3], "--only", "thoughts", "--show", "--", *command], CLIENTS / language)
        assert '"thoughts"' in done.stdout, done.stdout[-6000:]


async def relay(page: ServerConnection) -> None:
    """Join a page to the ZeroMQ address that its path names, until either connection breaks."""
    assert page.request is not None
    with zmq.asyncio.Context.instance().socket(zmq.DEALER) as dealer:
        dealer.linger = 0
        events = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_CLOSED | zmq.EVENT_DISCONNECTED
        monitor = dealer.get_monitor_socket(events)
        dealer.connect(page.request.path[1:])
        if (await recv_monitor_message(monitor))["event"] != zmq.EVENT_HANDSHAKE_SUCCEEDED:
            dealer.disable_monitor()
            return  # or what the page says would arrive after its next attempt
        dealer.linger = 2000

        async def there() -> None:
            async for message in page:
                await dealer.send(message)

        async def back() -> None:
            while True:
                for frame in await dealer.recv_multipart():
                    await page.send(frame)

        ways = [
            asyncio.ensure_future(way) for way in (there(), back(), recv_monitor_message(monitor))
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for each in ways:
            each.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        dealer.disable_monitor()


@pytest.mark.parametrize("language", [each for each in CHOSEN if each == "typescript"])
@pytest.mark.parametrize(
    "role",
    [
        "agent",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("environment", "experiment")),
    ],
)
def test_its_client_for_pages_keeps_the_contract(language: str, role: str) -> None:
    """The kit speaks ZeroMQ, so a relay is between the two."""

    async def conform() -> tuple[int | None, bytes]:
        async with serve_pages(
            *(relay, "127.0.0.1", 0),
            subprotocols=["dovetail.1"],  # type: ignore[list-item]
            compression=None,
            max_size=None,
            ping_interval=None,
        ) as server:
            port = server.sockets[0].getsockname()[1]
            broker = f"DOVETAIL_BROKER=ws://127.0.0.1:{port}/{{broker}}"
            node, *rest = program(language, "conformer")
            options = ("--experimental-websocket", "--no-warnings")
            kit = await asyncio.create_subprocess_exec(
                *(str(DOVETAIL), "conform", role, "--jobs", "4", "--patience", "60", "--"),
                *("env", broker, node, *options, *rest, role),
                cwd=CLIENTS / language,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            said, _ = await kit.communicate()
            return kit.returncode, said

    status, said = asyncio.run(asyncio.wait_for(conform(), KIT))
    assert status == 0, said.decode()[-6000:]


def start(
    language: str, address: str, name: str = "random", *arguments: str, **variables: str
) -> subprocess.Popen[str]:
    """Start a client's program, its random agent by default, with these environment variables."""
    return subprocess.Popen(
        [*program(language, name), *arguments],
        cwd=CLIENTS / language,
        env={**keys.without(os.environ), "DOVETAIL_BROKER": address, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(
    serve: Callable[..., None], kind: type, address: str, key: Path | None = None
) -> Iterator[None]:
    """Serve an environment or agent of Python in a thread."""
    stop = threading.Event()
    thread = threading.Thread(target=serve, args=(kind, address), kwargs={"key": key, "stop": stop})
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def python_line(address: str, key: Path | None) -> str:
    """Return what Python's client says when it is refused."""
    with pytest.raises(DovetailError) as error:
        Experiment.connect(address, key=key or keys.WITHOUT)
    return str(error.value)


@each_language
def test_its_key_lets_it_in(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a good key it plays until it is revoked; without one it says the line of Python's
    client, and ends."""
    for name in (keys.FILE, keys.SERVER):
        monkeypatch.delenv(name, raising=False)
    server = keys.make()
    keys.write(tmp_path / "access.key", server, "of the broker")
    entries = []

    def key(name: str, server: str, entry: str | None = None) -> Path:
        """Write a key file, and a line into the access file unless the broker shall not know it."""
        made, path = keys.make(server), tmp_path / f"{name}.key"
        keys.write(path, made, name)
        if entry is not None:
            entries.append(f'[keys.{name}]\npublic = "{made.public}"\n{entry}\n')
        return path

    good = key("good", server.public, "")
    refused = {
        "unknown": key("unknown", server.public),
        "revoked": key("revoked", server.public, "revoked = true"),
        "of another broker": key("foreign", keys.make().public, ""),
        "without the broker's": key("lonely", "", ""),
        "open to others": key("open", server.public, ""),
        "none": None,
    }
    (tmp_path / "open.key").chmod(0o640)
    found = keys.read(good)
    # As a person may write it; TOML has two kinds of quotes.
    good.write_text(
        f"# mine\n\nsecret='{found.secret}'# none of yours\n"
        f'  server = "{found.server}"\npublic\t= "{found.public}"  # anyone\'s\nnote = "x = y"\n'
    )
    (tmp_path / "access.toml").write_text("".join(entries))
    settings, anywhere = Settings(), "tcp://127.0.0.1:*"
    with (
        in_thread(
            anywhere,
            settings=settings,
            journal=Journal(tmp_path / "guarded"),
            access=AccessFile(tmp_path / "access.toml"),
        ) as guarded,
        in_thread(anywhere, settings=settings, journal=Journal(tmp_path / "open")) as unguarded,
    ):
        agent = start(language, guarded, DOVETAIL_KEY=str(good))
        try:
            with (
                serving(serve_environments, ConnectFour, guarded, good),
                Experiment.connect(guarded, key=good) as experiment,
            ):
                name = f"random-{language}"
                experiment.expect(["connect_four"], [name], timeout=KIT)
                agents = [experiment.create(name, seed=seed) for seed in (1, 2)]
                (episode,) = experiment.run("connect_four", agents, seed=3).wait()
                assert (episode.reason, episode.blame) == ("terminated", None)
            assert agent.poll() is None
            entries[0] += "revoked = true\n"
            (tmp_path / "access.toml").write_text("".join(entries))
            lines = agent.communicate(timeout=KIT)[1].splitlines()
        finally:
            agent.kill()
        assert agent.returncode == 1
        assert lines[-1].removeprefix("Error: ") == "the broker refuses: the key 'good' was revoked"
        cases = [(guarded, each) for each in refused.values()]
        for address, path in [*cases, (unguarded, good)]:
            variables = {} if path is None else {keys.FILE: str(path)}
            client = start(language, address, **variables)
            lines = client.communicate(timeout=KIT)[1].splitlines()
            assert client.returncode == 1
            # On a busy machine a client may say first that it waits for the broker.
            assert lines[-1].removeprefix("Error: ") == python_line(address, path)


def breaks_off(listener: socket.socket) -> None:
    """Greet as a broker on libzmq that lets in only keys does: it names its mechanism only if the
    version of a greeting comes before the rest, and breaks off in any case."""
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)
    with suppress(OSError):  # until the listener is closed
        while True:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                heard = connection.recv(64)
                connection.sendall(greeting[:11])
                if 10 < len(heard) < 64:
                    connection.sendall(greeting[11:])
                connection.recv(64)


@each_language
def test_a_broker_that_breaks_off_early_asks_for_a_key_all_the_same(language: str) -> None:
    """On a busy machine a client on libzmq never heard of the mechanism, and said that no broker
    answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=breaks_off, args=(listener,))
        thread.start()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        client = start(language, address)
        lines = client.communicate(timeout=KIT)[1].splitlines()
        listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        thread.join()
    assert client.returncode == 1
    assert lines[-1].removeprefix("Error: ") == NEEDS_KEY.format(address)


def deaf(there: socket.socket, wire: zmtp.Wire) -> None:
    """Send what must be answered, and read none of it."""
    while True:
        there.sendall(b"".join(wire.parts([b"\xc1" * 20] * 2500)))
        time.sleep(0.002)  # as a network would; libzmq takes in gigabytes a second over loopback


def forging(there: socket.socket, wire: zmtp.Wire) -> None:
    """Say past the encryption, as someone in between could, that the key is refused."""
    there.sendall(zmtp.error(zmtp.REFUSED))
    there.recv(1)


@each_language
@pytest.mark.parametrize("hostile", [deaf, forging])
def test_a_hostile_broker_only_costs_it_the_connection(
    language: str, hostile: Callable[[socket.socket, zmtp.Wire], None], tmp_path: Path
) -> None:
    """It comes back over another one, and has not taken much memory."""
    guard = Guard(keys.make(), lambda key: True)
    keys.write(tmp_path / "own.key", keys.make(guard.key.public), "of the client")
    guarded = hostile is forging
    variables = {keys.FILE: str(tmp_path / "own.key")} if guarded else {}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(KIT)
        client = start(language, f"tcp://127.0.0.1:{listener.getsockname()[1]}", **variables)
        try:
            there, _ = listener.accept()
            with there, suppress(OSError):
                there.settimeout(KIT)
                wire = Server(MOST, guard) if guarded else zmtp.Wire(b"ROUTER", MOST)
                heard: list[bytes] = []
                while not heard:
                    there.sendall(bytes(wire.out))
                    wire.out.clear()
                    heard = wire.feed(there.recv(MOST))
                there.sendall(b"".join(wire.parts([codec.encode(m.Welcome("token", "north"))])))
                hostile(there, wire)
            listener.accept()[0].close()
            assert client.poll() is None
            status = Path(f"/proc/{client.pid}/status").read_text()
            assert int(status.split("VmRSS:")[1].split()[0]) < LARGEST
        finally:
            client.kill()
            client.communicate()


class Seeing(VectorAgent):
    """Chooses by what it sees, so that every observation and mask counts."""

    name = "seeing"
    capacity = 0
    batches: ClassVar[int] = 0

    def open_group(self, seats: Any, slots: int) -> Any:
        return {}

    def step_rows(self, rows: Rows, memory: Any) -> Any:
        assert rows.legal is not None
        Seeing.batches += 1
        masks = [unmask(each.tobytes()) for each in rows.legal]
        return [self._choice(*each) for each in zip(rows.observations, masks, strict=True)]

    def step(self, decision: Decision) -> int:
        return self._choice(decision.observation, decision.legal)

    @staticmethod
    def _choice(observation: Any, legal: Any) -> int:
        assert (observation.dtype, observation.shape) == (np.uint8, (2, 6, 7))
        number: int = legal[zlib.crc32(observation.tobytes()) % len(legal)]
        return number


@pytest.mark.parametrize("language", [each for each in ("cpp", "rust") if each in CHOSEN])
def test_its_groups_play_the_episodes_of_single_matches(language: str, tmp_path: Path) -> None:
    """Connect Four of a client as arrays, one game at a time, and Python's: the same, bit for
    bit."""
    own, agent = f"connect-four-{language}", f"random-rows-{language}"
    with ExitStack() as stack:
        address = stack.enter_context(
            in_thread("tcp://127.0.0.1:*", settings=Settings(), journal=Journal(tmp_path / "j"))
        )
        for role in ("environment", "agent"):
            process = start(language, address, "stacked", role)
            stack.callback(process.communicate, timeout=KIT)
            stack.callback(process.terminate)
        stack.enter_context(serving(serve_environments, ConnectFour, address))
        stack.enter_context(serving(serve_agents, Seeing, address))
        experiment = stack.enter_context(Experiment.connect(address))
        experiment.expect([own, "connect_four"], [agent, "seeing"], timeout=KIT)
        players = [experiment.create(agent, seed=1), experiment.create("seeing", seed=2)]
        found = []
        for environment, stacked in ((own, True), (own, False), ("connect_four", False)):
            before = Seeing.batches
            run = experiment.run(
                environment,
                players,
                episodes=100,
                concurrency=16,
                seed=3,
                rotate=True,
                stacked=stacked,
            )
            results = sorted(run.wait(), key=lambda each: each.index)
            assert (Seeing.batches > before) is stacked
            found.append(
                [
                    (
                        *(each.index, each.turns, each.reason, each.message, each.outcome),
                        [(seat.instance, seat.total, seat.decisions) for seat in each.seats],
                    )
                    for each in results
                ]
            )
        assert len(found[0]) == 100
        assert found[0] == found[1] == found[2]


def table(tmp_path: Path, file: str, *settings: str) -> Any:
    """Play an experiment file with players of several languages; return its results."""
    command = [
        str(DOVETAIL),
        "run",
        f"experiments/dovetail_experiments/examples/{file}",
        "--out",
        str(tmp_path),
    ]
    for setting in settings:
        command += ["--set", setting]
    done = run(command, ROOT)
    assert done.returncode == 0, done.stdout[-4000:]
    return json.loads((tmp_path / file.removesuffix(".toml") / "results.json").read_text())


@pytest.mark.parametrize("languages", [list(TOOLS)], ids=["all"])
def test_six_languages_meet(tmp_path: Path, languages: list[str]) -> None:
    found = table(
        tmp_path, "six_languages.toml", "phases.0.episodes=20", "tournaments.0.episodes=2"
    )
    (tournament,) = found["tournaments"]
    games = {
        each["player"]: each["wins"] + each["draws"] + each["losses"]
        for each in tournament["players"]
    }
    assert games == dict.fromkeys((*languages, "python"), 10), found


@pytest.mark.parametrize("languages", [["typescript", "go", "rust"]], ids=["three"])
def test_an_environment_in_typescript_serves_the_others(
    tmp_path: Path, languages: list[str]
) -> None:
    found = table(tmp_path, "othello.toml", "tournaments.0.episodes=2")
    (tournament,) = found["tournaments"]
    assert "python" in [each["player"] for each in tournament["players"]], found
