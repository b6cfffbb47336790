"""Servers that speak OpenEnv as environments: a small one of the tests, and our own."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from typing import Any, ClassVar

import pytest
from tests.bridges.test_openenv import SECRET, SMALL, served
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.sync.server import ServerConnection, serve

from dovetail import InProcess
from dovetail.broker.shell.serve import in_thread
from dovetail.client.client import Experiment
from dovetail.peer.agents.agent import Decision
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.agents.serve import serve as serve_agents
from dovetail.peer.environments.environment import IllegalAction
from dovetail.peer.environments.serve import serve as serve_environments
from dovetail.peer.presets import preset
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Discrete, Text
from dovetail.testing import CheckFailed, check_environment
from dovetail_bridges.openenv.client import OpenEnvClient, ServerFault, addresses, schema
from dovetail_bridges.openenv.environment import OpenEnv
from dovetail_games.connect_four import ConnectFour

ACTION: dict[str, Any] = {
    "type": "object",
    "properties": {"column": {"type": "integer"}, "metadata": {"type": "object"}},
    "required": ["column"],
}

DEEP: Any = None
for _ in range(700):
    DEEP = [DEEP]
LIES: dict[str, dict[str, Any]] = {
    "reward": {"reward": "much"},
    "nan": {"reward": float("nan")},
    "huge": {"reward": 10**400},
    "done": {"done": "no"},
    "deep": {"observation": {"legal_actions": [0], "seen": DEEP}},
    "bool": {"observation": {"legal_actions": [True]}},
    "nested": {"observation": {"legal_actions": [[0], {}]}},
    "mover": {"metadata": {"next_player": [1]}},
    "metadata": {"metadata": [1]},
    "kind": {"observation": 3},
    "numbers": {"observation": {"board": [10**400, 1]}},
    "board": {"observation": {"board": [float("nan"), 1]}},
}
"""Data of answers that say what cannot be."""


def drip() -> Iterator[str]:
    """Yield a message's fragments without end."""
    while True:
        yield " "
        time.sleep(0.02)


class Nim:
    """A server in the manner of ``connect4_env``: one client plays both sides.

    Args:
        fault: the fault at the third step.
        most: sessions at a time.
        action: the schema of an action.
        seeded: whether the seed of a reset decides the episode.
    """

    def __init__(
        self, fault: str = "", most: int = 100, action: Any = None, seeded: bool = True
    ) -> None:
        self.fault, self.most, self.seeded = fault, most, seeded
        self.action = ACTION if action is None else action
        self.sessions = 0
        self.seeds: list[int] = []
        self.lock = threading.Lock()
        self.released = threading.Event()

    def page(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.path != "/schema":
            return None
        body = json.dumps({"action": self.action}).encode()
        return Response(HTTPStatus.OK, "OK", Headers({"Content-Length": str(len(body))}), body)

    def session(self, connection: ServerConnection) -> None:
        with self.lock:
            if self.sessions >= self.most:
                error = {"message": "no room", "code": "CAPACITY_REACHED"}
                connection.send(json.dumps({"type": "error", "data": error}))
                return
            self.sessions += 1
        try:
            self.play(connection)
        finally:
            with self.lock:
                self.sessions -= 1

    def play(self, connection: ServerConnection) -> None:
        heap, player, steps = 0, 1, 0
        for text in connection:
            said = json.loads(text)
            if said["type"] == "close":
                return
            if said["type"] == "reset":
                self.seeds.append(said["data"]["seed"])
                drawn = random.Random(self.seeds[-1] if self.seeded else len(self.seeds))
                heap, player, steps = drawn.randint(8, 12), 1, 0
                reward: Any = None
            else:
                if said["data"].get("type") == "list_tools":
                    tools = {"observation": {"tools": [{"name": "take"}]}}
                    connection.send(json.dumps({"type": "observation", "data": tools}))
                    continue
                steps += 1
                column = said["data"].get("column")
                if steps == 3 and self.fault:
                    if self.fault == "hang":
                        connection.recv()
                    elif self.fault == "hold":
                        self.released.wait()
                        connection.socket.close()
                        return
                    elif self.fault == "gone":
                        connection.socket.close()
                        return
                    elif self.fault == "error":
                        error = {"message": "Unknown\nstate.", "code": "EXECUTION_ERROR"}
                        connection.send(json.dumps({"type": "error", "data": error}))
                        continue
                    elif self.fault == "noise":
                        connection.send("not JSON")
                        continue
                    elif self.fault == "bytes":
                        connection.send(b"{}")
                        continue
                    elif self.fault == "drip":
                        connection.send(drip())
                        return
                if type(column) is not int:
                    error = {"message": "column: not an int", "code": "VALIDATION_ERROR"}
                    connection.send(json.dumps({"type": "error", "data": error}))
                    continue
                heap -= column + 1
                reward = int(heap == 0)
                player = -player
            legal = list(range(min(3, heap)))
            if steps == 3 and self.fault == "legal":
                legal = [17]
            seen = {"heap": heap, "board": [heap, player], "legal_actions": legal}
            done = heap == 0
            data = {"observation": seen, "reward": reward, "done": done}
            if steps == 3 and self.fault in LIES:
                data |= LIES[self.fault]
            data.setdefault("metadata", {"next_player": player})
            if steps == 3 and self.fault == "large":
                data["metadata"]["much"] = "[]," * 33_333_333
            if steps == 3 and self.fault == "flood":
                with suppress(ConnectionClosed):
                    while True:
                        connection.send(json.dumps({"type": "observation", "data": data}))
                return
            connection.send(json.dumps({"type": "observation", "data": data}))


@contextmanager
def running(game: Nim) -> Iterator[str]:
    """Serve; yield the base URL."""
    with serve(game.session, "127.0.0.1", 0, process_request=game.page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()


BOTH: dict[str, Any] = {"player": "metadata.next_player", "players": [1, -1]}


def played(url: str, seats: int, episodes: int = 3, concurrency: int = 1, **options: Any) -> Any:
    """Return the results of random games, and the environment's spec by its class."""
    kind = preset(OpenEnv, {"url": url, **options}, "environment openenv")
    with InProcess([kind], [Random]) as experiment:
        agents = [experiment.create("random", seed=seed) for seed in range(seats)]
        run = experiment.run(
            "openenv",
            agents,
            episodes=episodes,
            concurrency=concurrency,
            seed=3,
            retries=0,
            check=True,
        )
        return sorted(run.wait(), key=lambda each: each.index)


def test_one_client_plays_all_seats_and_the_mover_earns() -> None:
    game = Nim()
    with running(game) as url:
        for episode in played(url, 2, **BOTH):
            assert episode.reason == "terminated"
            winner = (episode.turns - 1) % 2
            assert [seat.total for seat in episode.seats] == [1.0 - 2.0 * winner, 2.0 * winner - 1]
            assert episode.outcome == [1.0 - winner, float(winner)]
            assert episode.seed in game.seeds
        both = played(url, 2, reward_of="all", **BOTH)
        assert {tuple(seat.total for seat in each.seats) for each in both} == {(1.0, 1.0)}


def test_matches_wait_for_a_server_of_one_session() -> None:
    with running(Nim(most=1)) as url:
        episodes = played(url, 2, episodes=20, concurrency=4, **BOTH)
        assert [each.reason for each in episodes] == ["terminated"] * 20
        with pytest.raises(DovetailError, match="CAPACITY_REACHED: no room"):
            played(url, 2, episodes=6, concurrency=3, sessions=3, **BOTH)


def test_a_check_needs_one_session_and_says_that_the_seed_is_dropped() -> None:
    for seeded in (True, False):
        with running(Nim(most=1, seeded=seeded)) as url:
            kind = preset(OpenEnv, {"url": url, **BOTH}, "environment openenv")
            if seeded:
                check_environment(kind, episodes=3)
                continue
            with pytest.raises(CheckFailed, match="all chance to come from the seed"):
                check_environment(kind, episodes=3)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("hang", "no answer to step within 1 s"),
        ("gone", "the server is gone"),
        ("error", "the server fails at a legal action: Unknown state."),
        ("noise", "'not JSON' is not an answer of OpenEnv"),
        ("legal", "the legal action '17' is not among the actions, 0 to 2; give --set actions=N"),
        ("reward", "the reward 'much' is not a number"),
        ("nan", "the reward 'nan' is not a number"),
        ("huge", "is not a number"),
        ("done", "done is 'no', not true or false"),
        ("deep", "an observation is nested too deeply to be written"),
        ("flood", "an answer of type 'observation'; expected nothing"),
        ("bytes", "\"b'{}'\" is not an answer of OpenEnv"),
        ("drip", "no answer to step within 1 s"),
        ("large", "the server is gone: sent 1009 (message too big)"),
        ("bool", "the legal action 'True' is not among the actions, 0 to 2"),
        ("nested", "the legal action '[0]' is not among the actions, 0 to 2"),
        ("mover", "metadata.next_player is '[1]'; expected one of [1, -1]"),
        ("metadata", "metadata.next_player is 'None'; expected one of [1, -1]"),
    ],
)
def test_a_fault_of_the_server_is_no_seats_and_the_next_episode_plays(
    fault: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    game = Nim(fault)
    with running(game) as url:
        timeout = 1.0 if fault in ("hang", "drip") else 60.0
        kind = preset(OpenEnv, {"url": url, "timeout": timeout, **BOTH}, "environment openenv")
        with InProcess([kind], [Random]) as experiment:
            agents = [experiment.create("random"), experiment.create("random", seed=1)]
            run = experiment.run("openenv", agents, episodes=2, seed=3, retries=0)
            results = []
            for each in run:
                results.append(each)
                game.fault = ""
    ends = [(each.reason, each.message) for each in results]
    assert [reason for reason, _ in ends] == ["environment-failed", "terminated"], ends
    assert (results[0].blame, text in results[0].message) == (None, True), results[0].message
    ours = [each.getMessage() for each in caplog.records if each.name.startswith("dovetail")]
    assert "Traceback" not in "".join(ours)  # the fault is another program's


def test_while_a_server_hangs_other_games_are_played() -> None:
    stop = threading.Event()
    game = Nim("hold")
    with running(game) as url, in_thread("tcp://127.0.0.1:*") as address:
        kind = preset(OpenEnv, {"url": url, **BOTH}, "environment openenv")
        programs = [
            threading.Thread(target=each, args=(what, address), kwargs={"stop": stop})
            for each, what in (
                (serve_environments, kind),
                (serve_environments, ConnectFour),
                (serve_agents, [Random]),
            )
        ]
        for each in programs:
            each.start()
        try:
            with Experiment.connect(address) as experiment:
                experiment.expect(["openenv", "connect_four"], ["random"], timeout=60.0)
                agents = [experiment.create("random", seed=seed) for seed in range(2)]
                hung = experiment.run("openenv", agents, retries=0, check=False)
                beside = experiment.run("connect_four", agents, episodes=20).wait()
                assert [each.reason for each in beside] == ["terminated"] * 20
                assert hung.poll(0.0) == [], "the others waited"
                game.released.set()
                [lost] = hung.wait()
        finally:
            game.released.set()
            stop.set()
            for each in programs:
                each.join()
    assert (lost.reason, lost.blame) == ("environment-failed", None)
    assert lost.message.startswith("the server is gone")


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("kind", "board has the shape []; it began otherwise"),
        ("numbers", "board has the shape []; it began otherwise"),
        ("board", "board has NaN among its numbers"),
    ],
)
def test_numbers_that_are_none_are_the_servers_fault(
    fault: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with running(Nim(fault)) as url:
        [episode] = played(url, 2, episodes=1, observe="board", **BOTH)
    assert (episode.reason, episode.blame, episode.message) == ("environment-failed", None, text)
    assert not [each for each in caplog.records if each.exc_info]


@pytest.mark.parametrize(
    "schema_",
    [
        {"properties": [1], "required": ["a"]},
        {"properties": {"column": {}}, "required": 3},
        {"properties": {"column": {}}, "required": [{}]},
        {"properties": {"column": {"enum": 3}}, "required": ["column"]},
        {"properties": {"column": {"anyOf": [3]}}, "required": ["column"]},
        {"properties": {"column": [1]}, "required": ["column"]},
    ],
    ids=str,
)
def test_a_malformed_schema_is_one_line(schema_: Any) -> None:
    with (
        running(Nim(action=schema_)) as url,
        pytest.raises(DovetailError, match="the server's schema of an action is malformed: Expect"),
    ):
        preset(OpenEnv, {"url": url}, "environment openenv")().init()


def test_a_redirection_is_not_followed() -> None:
    """The user named the server, and its headers may have a secret."""
    asked: list[str] = []

    def elsewhere(connection: ServerConnection, request: Request) -> Response:
        asked.append(request.path)
        return Response(HTTPStatus.NOT_FOUND, "no", Headers({"Content-Length": "0"}), b"")

    with serve(lambda _: None, "127.0.0.1", 0, process_request=elsewhere) as other:
        away = f"ws://127.0.0.1:{other.socket.getsockname()[1]}/ws"
        thread = threading.Thread(target=other.serve_forever)
        thread.start()

        class Moved(Nim):
            def page(self, connection: ServerConnection, request: Request) -> Response | None:
                if request.path == "/schema":
                    return super().page(connection, request)
                given = {"Location": away, "Content-Length": "0"}
                return Response(HTTPStatus.TEMPORARY_REDIRECT, "away", Headers(given), b"")

        with running(Moved()) as url:
            kind = preset(OpenEnv, {"url": url}, "environment openenv")
            with pytest.raises(DovetailError, match=r"cannot be reached: .*HTTP 307$"):
                kind().init()
        other.shutdown()
        thread.join()
    assert asked == []


def test_a_server_that_does_not_read_is_not_waited_for() -> None:
    """A large action fills what the kernel buffers."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as kept:

        def accept() -> None:
            connection, _ = listener.accept()
            kept.enter_context(connection)
            server = ServerProtocol()
            while not server.handshake_exc and server.state is State.CONNECTING:
                server.receive_data(connection.recv(4096))
                for event in server.events_received():
                    assert isinstance(event, Request)
                    server.send_response(server.accept(event))
                for data in server.data_to_send():
                    connection.sendall(data)

        thread = threading.Thread(target=accept)
        thread.start()
        client = OpenEnvClient(f"ws://127.0.0.1:{listener.getsockname()[1]}", {}, 0.5)
        thread.join()
        noise = random.Random(1).randbytes(8 << 20).hex()
        begun = time.monotonic()
        with pytest.raises(ServerFault, match=r"no answer to step within 0\.5 s"):
            client.ask("step", {"action": noise})
        client.close()
        assert time.monotonic() - begun < 20.0


def test_a_schema_that_trickles_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                for _ in range(200):
                    connection.sendall(b"x")
                    time.sleep(0.05)

        thread = threading.Thread(target=trickle)
        thread.start()
        begun = time.monotonic()
        with pytest.raises(DovetailError, match="/schema cannot be read"):
            schema(f"http://127.0.0.1:{listener.getsockname()[1]}", {}, 0.5)
        assert time.monotonic() - begun < 5.0
        thread.join()


@pytest.mark.parametrize("bounds", [(5, 2), (0, 1 << 70), ("a", 3), (None, None), (0, 1e400)])
def test_bounds_that_number_nothing_are_one_line(bounds: tuple[Any, Any]) -> None:
    low, high = bounds
    number = {"type": "integer", "minimum": low, "maximum": high}
    action = {"properties": {"column": number}, "required": ["column"]}
    numberless = pytest.raises(DovetailError, match="cannot be numbered; give --set actions=N")
    with running(Nim(action=action)) as url, numberless:
        played(url, 2, **BOTH)


def test_the_schema_says_what_a_seat_chooses() -> None:
    names = {"type": "string", "enum": ["up", "down"]}
    cases: list[tuple[Any, dict[str, Any], Any]] = [
        (ACTION, {}, Discrete(3)),  # by the first position
        (ACTION, {"actions": 9}, Discrete(9)),
        ({"properties": {"move": names}, "required": ["move"]}, {}, Discrete(2)),
        ({"properties": {"say": {"type": "string"}}, "required": ["say"]}, {}, "text"),
        ({"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}, {}, "text"),
        (
            {"properties": {"a": {"type": "integer", "minimum": 1, "maximum": 4}, "b": {}}},
            {"action": "a", "fixed": {"b": 1}},
            Discrete(4, 1),
        ),
    ]
    for action, options, wanted in cases:
        with running(Nim(action=action)) as url:
            kind = preset(OpenEnv, {"url": url, "legal": "none", **options}, "environment openenv")
            if wanted == Discrete(3):
                kind = preset(OpenEnv, {"url": url, **options}, "environment openenv")
            made = kind()
            space = made.init().action_spaces[0]
            made.cleanup()
        assert space == wanted or (wanted == "text" and not isinstance(space, Discrete))
    with running(Nim()) as url:
        kind = preset(OpenEnv, {"url": url, "action": "row"}, "environment openenv")
        with pytest.raises(DovetailError, match="an action has no 'row'; it has column, metadata"):
            kind().init()


def test_where_actions_call_tools_they_are_json_and_the_tools_are_told() -> None:
    call = {
        "properties": {"type": {}, "tool_name": {"type": "string"}, "arguments": {}},
        "required": ["tool_name"],
    }
    with running(Nim(action=call)) as url:
        made = preset(OpenEnv, {"url": url}, "environment openenv")()
        assert made.init().action_spaces == [Text(1 << 20)]
        made.start(3)
        turn = made.step({0: '{"tool_name": "take", "arguments": {"n": 2}, "column": 1}'})
        heap = json.loads(turn.seats[0].observation)["heap"]
        with pytest.raises(IllegalAction, match="'take' is not a JSON object"):
            made.step({0: "take"})
        lines = made.text(0).splitlines()
        assert made.text() == ""
        made.cleanup()
    assert lines[:2] == ["Tools, by name, description and arguments:", '{"name": "take"}']
    assert json.loads(lines[2])["heap"] == heap


def test_an_observation_may_be_a_list_of_numbers() -> None:
    with running(Nim()) as url:
        (episode, *_) = played(url, 2, observe="board", **BOTH)
        assert episode.reason == "terminated"
        kind = preset(OpenEnv, {"url": url, "observe": "nothing"}, "environment openenv")
        with pytest.raises(DovetailError, match="which has heap, board, legal_actions"):
            kind().init()


def test_only_the_local_user_names_the_server() -> None:
    with pytest.raises(DovetailError, match="only the program that serves it names the server"):
        OpenEnv(OpenEnv.Configuration(url="http://127.0.0.1:1")).init()
    for url in ("ftp://a", "127.0.0.1:8000", "http://a?b=c"):
        with pytest.raises(DovetailError, match="is not the base URL of a server"):
            addresses(url)
    kind = preset(OpenEnv, {"url": "http://127.0.0.1:1"}, "environment openenv")
    with pytest.raises(DovetailError, match="schema cannot be read") as refused:
        kind().init()
    assert "\n" not in str(refused.value)


def test_no_room_is_heard_before_the_first_answer() -> None:
    with running(Nim(most=0)) as url:
        client = OpenEnvClient(url.replace("http", "ws"), {}, 5.0)
        with pytest.raises(ServerFault, match="CAPACITY_REACHED: no room"):
            client.ask("reset", {"seed": 1})
        client.close()


class Told(Random):
    """Plays what it is given, or at random, and keeps what it played."""

    name = "told"
    capacity = 1
    given: ClassVar[list[int]] = []
    kept: ClassVar[list[int]] = []

    def step(self, decision: Decision) -> Any:
        action = self.given.pop(0) if self.given else super().step(decision)
        self.kept.append(action)
        return action


def test_our_own_server_at_the_other_end_plays_the_same_games() -> None:
    """As a local run of the same seeds, actions and opponent."""
    with served([0]) as at:
        kind = preset(OpenEnv, {"url": at, "action": "action"}, "environment openenv")
        with InProcess([kind], [Told]) as experiment:
            run = experiment.run("openenv", [experiment.create("told", seed=1)], episodes=6)
            away = sorted(run.wait(), key=lambda each: each.index)
    Told.given = list(Told.kept)
    with InProcess([ConnectFour], [Told, Random]) as experiment:
        opponent = experiment.create("random", seed=derive(SECRET, "opponent", 1))
        agents = [experiment.create("told"), opponent]
        for each in away:
            run = experiment.run(
                "connect_four", agents, configuration=SMALL, seed=each.seed, mode="evaluate"
            )
            [home] = run.wait()
            assert home.seats[0].decisions == each.seats[0].decisions
            assert (home.reason, home.seats[0].total) == (each.reason, each.seats[0].total)
    assert not Told.given
    assert len({each.seats[0].total for each in away}) > 1
