"""Clients of OpenEnv in seats of Dovetail's games, over real WebSockets."""

from __future__ import annotations

import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from dovetail.peer.agents.agent import Decision
from dovetail.peer.agents.random_agent import Random
from dovetail_bridges.openenv import wire
from dovetail_bridges.openenv.server import OpenEnvServer, Seats
from dovetail_bridges.openenv.session import Rules
from dovetail_bridges.table import OpenTable

SMALL = {"rows": 4, "columns": 4, "connect": 3}
SECRET = 0x1234_5678_9ABC_DEF0
"""The master seed of tables whose clients name none."""


@contextmanager
def served(seats: list[int], **options: Any) -> Iterator[str]:
    """Serve Connect Four's seats at a free port; give the WebSocket's address without its path."""
    rules = options.pop("rules", Rules())
    games = options.pop("games", 1 << 40)

    def make() -> OpenTable:
        return OpenTable(
            "connect_four",
            seats,
            ["random"],
            configuration=SMALL,
            seed=SECRET,
            games=games,
            together=True,
        )

    places = Seats(make, seats, rules=rules, **options)
    with make() as table:
        spaces = table.spaces()
    app = OpenEnvServer(places, "connect_four", "", spaces).application()
    config = uvicorn.Config(app, port=0, log_level="error", ws_ping_interval=None)
    server = uvicorn.Server(config)
    ready = threading.Event()
    startup = server.startup

    async def told(*more: Any, **most: Any) -> None:
        await startup(*more, **most)
        ready.set()

    server.startup = told  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    thread.start()
    assert ready.wait(30)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"ws://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
        places.close()


def ask(client: ClientConnection, kind: str, **data: Any) -> Any:
    client.send(json.dumps({"type": kind, "data": data}))
    return json.loads(client.recv(30))


def play(client: ClientConnection, seed: int | None = None) -> Any:
    """Play an episode at random; return its last answer's data."""
    rng = random.Random(seed)
    said = ask(client, "reset") if seed is None else ask(client, "reset", seed=seed)
    while not said["data"]["done"]:
        seen = said["data"]["observation"]
        action = rng.choice(seen["legal_actions"]) if seen["your_turn"] else None
        said = ask(client, "step", action=action)
    return said["data"]


def test_the_same_seed_gives_the_same_episode_and_the_end_says_why() -> None:
    with served([0]) as at, connect(f"{at}/ws") as client:
        first, again = play(client, 7), play(client, 7)
        assert first == again
        assert first["metadata"]["reason"] == "terminated"
        assert first["reward"] == {1.0: 1.0, 0.5: 0.0, 0.0: -1.0}[first["metadata"]["outcome"][0]]
        assert first["observation"]["metadata"] == first["metadata"]
        state = ask(client, "state")["data"]
        assert state["step_count"] > 0
        assert state["episode_id"]


def test_an_illegal_action_is_refused_in_the_observation_and_costs_the_game_in_the_end() -> None:
    with served([0], rules=Rules(tries=2)) as at, connect(f"{at}/ws") as client:
        seen = ask(client, "reset", seed=1)["data"]["observation"]
        for _ in range(2):
            refused = ask(client, "step", action=99)["data"]
            assert refused["observation"]["error"].startswith("'99' is not legal; legal: 0, 1")
            assert refused["observation"]["text"] == seen["text"]
            assert (refused["reward"], refused["done"]) == (0.0, False)
        lost = ask(client, "step", action=99)["data"]
        assert (lost["done"], lost["metadata"]["reason"]) == (True, "illegal-action")
        assert lost["metadata"]["outcome"] == [0.0, 1.0]


def test_an_illegal_action_may_be_an_error_that_leaves_the_decision_open() -> None:
    with served([0], rules=Rules(illegal="error")) as at, connect(f"{at}/ws") as client:
        ask(client, "reset")
        wrong = ask(client, "step", action=99)
        assert (wrong["type"], wrong["data"]["code"]) == ("error", "EXECUTION_ERROR")
        assert ask(client, "step", action=0)["type"] == "observation"


def test_two_clients_share_games_and_their_outcomes_mirror() -> None:
    with served([0, 1]) as at:
        ends: dict[int, list[Any]] = {0: [], 1: []}

        def sit(seat: int) -> None:
            with connect(f"{at}/seat-{seat}/ws") as client:
                for _ in range(5):
                    ends[seat].append(play(client))

        threads = [threading.Thread(target=sit, args=(seat,)) for seat in (0, 1)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        assert len(ends[0]) == len(ends[1]) == 5
        for one, other in zip(ends[0], ends[1], strict=True):
            assert one["reward"] == -other["reward"]
            assert one["metadata"]["outcome"] == other["metadata"]["outcome"]


def test_an_opponent_that_thinks_stops_no_other_session(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks, enough, step = threading.Event(), threading.Event(), Random.step

    def slow(self: Random, decision: Decision) -> Any:
        if not thinks.is_set():
            thinks.set()
            assert enough.wait(30)
        return step(self, decision)

    monkeypatch.setattr(Random, "step", slow)
    with served([0]) as at, connect(f"{at}/ws") as first, connect(f"{at}/ws") as second:
        ask(first, "reset")
        first.send(json.dumps({"type": "step", "data": {"action": 0}}))
        assert thinks.wait(30)
        assert play(second)["done"]
        health = json.load(urllib.request.urlopen(f"{at.replace('ws:', 'http:')}/health"))
        assert health == {"status": "healthy"}
        enough.set()
        assert json.loads(first.recv(30))["data"]["observation"]["your_turn"]


def test_who_waits_for_a_partner_is_told_that_it_is_not_its_turn() -> None:
    with (
        served([0, 1], rules=Rules(longest=0.2)) as at,
        connect(f"{at}/table-0/seat-0/ws") as first,
    ):
        waiting = ask(first, "reset")["data"]
        assert (waiting["observation"]["your_turn"], waiting["done"]) == (False, False)
        assert waiting["observation"]["legal_actions"] == []
        with connect(f"{at}/table-0/seat-1/ws") as second:
            assert ask(second, "reset")["data"]["observation"]["your_turn"] is False
            mine = ask(first, "step", action=None)["data"]["observation"]
            assert (mine["your_turn"], mine["legal_actions"]) == (True, [0, 1, 2, 3])
            second.send(json.dumps({"type": "close", "data": {}}))
            with pytest.raises(ConnectionClosed):
                second.recv(10)
        end = ask(first, "step", action=0)["data"]
        while not end["done"]:
            end = ask(first, "step", action=None)["data"]
        assert end["metadata"]["outcome"] == [1.0, 0.0]


def test_a_client_that_gives_up_waiting_is_not_an_answer_behind() -> None:
    """As of 0.3, whose client keeps its socket after ``message_timeout_s``."""
    with (
        served([0, 1]) as at,
        connect(f"{at}/table-0/seat-0/ws") as first,
        connect(f"{at}/table-0/seat-1/ws") as second,
    ):
        for _ in range(3):
            second.send(json.dumps({"type": "reset", "data": {}}))
            with pytest.raises(TimeoutError):
                second.recv(0.2)
        assert ask(first, "reset")["data"]["observation"]["your_turn"]
        second.send(json.dumps({"type": "reset", "data": {}}))
        with pytest.raises(TimeoutError):  # the game has begun, with the other's decision
            second.recv(0.2)
        second.send(json.dumps({"type": "reset", "data": {}}))
        first.send(json.dumps({"type": "step", "data": {"action": 2}}))
        seen = json.loads(second.recv(30))["data"]
        assert (seen["reward"], seen["observation"]["your_turn"]) == (None, True)
        second.send(json.dumps({"type": "step", "data": {"action": 1}}))
        assert json.loads(first.recv(30))["data"]["observation"]["your_turn"]
        with pytest.raises(TimeoutError):
            second.recv(0.2)
        first.send(json.dumps({"type": "step", "data": {"action": 1}}))
        again = ask(second, "step", action=None)["data"]["observation"]
        assert (again["turn"], again["your_turn"]) == (3, True)


def test_a_reset_in_the_middle_resigns_and_a_fresh_session_hears_no_old_end() -> None:
    with served([0, 1]) as at:
        for _ in range(2):  # the second pair of clients finds a table whose game is over
            with connect(f"{at}/seat-0/ws") as first, connect(f"{at}/seat-1/ws") as second:
                for each in (first, second):
                    each.send(json.dumps({"type": "reset", "data": {}}))
                begun = json.loads(first.recv(30))["data"]
                assert (begun["observation"]["turn"], begun["done"]) == (0, False)
                first.send(json.dumps({"type": "step", "data": {"action": 0}}))
                assert json.loads(second.recv(30))["data"]["observation"]["your_turn"]
                second.send(json.dumps({"type": "reset", "data": {}}))
                won = json.loads(first.recv(30))["data"]
                assert (won["done"], won["reward"]) == (True, 1.0)
                assert won["metadata"]["outcome"] == [1.0, 0.0]
                again = ask(first, "reset")["data"]["observation"]
                assert (again["turn"], again["your_turn"]) == (0, True)
                for each in (first, second):
                    each.send(json.dumps({"type": "close", "data": {}}))


def test_a_lost_client_may_come_back_to_its_game() -> None:
    with served([0, 1], back=30.0) as at, connect(f"{at}/seat-1/ws") as second:
        with connect(f"{at}/seat-0/ws", close_timeout=0.1) as first:
            first.send(json.dumps({"type": "reset", "data": {}}))
            second.send(json.dumps({"type": "reset", "data": {}}))
            before = json.loads(first.recv(30))["data"]["observation"]
            first.socket.shutdown(2)  # as if its program were killed

        def again() -> Any:
            with connect(f"{at}/seat-0/ws") as client:
                said = ask(client, "reset")
                return said["data"]["observation"] if said["type"] == "observation" else None

        assert _until(again, bool) == before


def test_lost_clients_leave_no_threads_behind() -> None:
    with served([0, 1], back=30.0) as at:
        for _ in range(20):

            def lost() -> bool:
                with (
                    connect(f"{at}/seat-0/ws", close_timeout=0.1) as client,
                    suppress(ConnectionClosed),
                ):
                    if ask(client, "state")["type"] == "state":
                        client.socket.shutdown(2)
                        return True
                return False  # the one before holds the seat still

            assert _until(lost, bool)
        assert not [each for each in threading.enumerate() if isinstance(each, threading.Timer)]


@pytest.mark.parametrize("action", [1 << 70, "\ud800"])
def test_an_action_that_cannot_be_encoded_costs_the_game_and_not_the_table(action: Any) -> None:
    """A number above 64 bits ended the table's thread, and with it the seats of all clients; half
    a surrogate pair, a game that was being lost without a result."""
    with (
        served([0, 1], rules=Rules(illegal="forfeit")) as at,
        connect(f"{at}/seat-0/ws") as first,
        connect(f"{at}/seat-1/ws") as second,
    ):
        for _ in range(2):
            for each in (first, second):
                each.send(json.dumps({"type": "reset", "data": {}}))
            begun = json.loads(first.recv(30))["data"]["observation"]
            mover, other = (first, second) if begun["your_turn"] else (second, first)
            assert begun["your_turn"]
            lost = ask(mover, "step", action=action)["data"]
            assert (lost["done"], lost["metadata"]["outcome"]) == (True, [0.0, 1.0])
            assert json.loads(other.recv(30))["data"]["done"]


def test_a_table_that_has_failed_is_replaced() -> None:
    made: list[OpenTable] = []

    def make() -> OpenTable:
        table = OpenTable("connect_four", [0, 1], configuration=SMALL, seed=1, together=True)
        made.append(table)
        return table

    places = Seats(make, [0, 1])
    with places.take(0, None):
        pass
    made[0].close()  # as when the broker has left
    with places.take(0, None) as session, places.take(1, None) as other:
        assert session.table is other.table is made[1]
        assert not made[1].failed
    places.close()


def test_a_session_too_many_is_told_so_unasked_and_a_seat_becomes_free() -> None:
    with served([0], sessions=1) as at:
        with connect(f"{at}/ws") as first:
            ask(first, "reset")
            with connect(f"{at}/ws") as second:
                full = json.loads(second.recv(10))
                assert full["data"]["code"] == "CAPACITY_REACHED"
                with pytest.raises(ConnectionClosed):
                    second.recv(10)

        def free() -> bool:
            with suppress(ConnectionClosed), connect(f"{at}/ws") as third:  # full, and gone
                return bool(ask(third, "reset")["type"] == "observation")
            return False

        assert _until(free, bool)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("{", "INVALID_JSON"),
        ('{"type": "dance"}', "UNKNOWN_TYPE"),
        ('{"type": "step", "data": {"action": true}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"column": 3}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"seed": -1}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"level": 2}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {}, "x": 1}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"action": 0}}', "EXECUTION_ERROR"),
    ],
)
def test_a_wrong_request_gets_one_line_and_the_session_goes_on(said: str, code: str) -> None:
    with served([0]) as at, connect(f"{at}/ws") as client:
        client.send(said)
        answer = json.loads(client.recv(10))["data"]
        assert answer["code"] == code
        assert "\n" not in answer["message"]
        assert ask(client, "reset")["type"] == "observation"


@pytest.mark.parametrize("said", ["[1]", b"\x00"])
def test_what_is_not_an_object_ends_the_session(said: str | bytes) -> None:
    with served([0]) as at, connect(f"{at}/ws") as client:
        client.send(said)
        assert json.loads(client.recv(10))["data"]["code"] == "SESSION_ERROR"
        with pytest.raises(ConnectionClosed):
            client.recv(10)


def test_pages_and_other_hosts_are_refused() -> None:
    with served([0]) as at:
        for header in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            with pytest.raises(InvalidStatus), connect(f"{at}/ws", additional_headers=header):
                pass
        http = at.replace("ws:", "http:")
        unnamed = urllib.request.Request(f"{http}/health", headers={"Host": "["})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(unnamed)
        answers = {
            path: json.load(urllib.request.urlopen(http + path))
            for path in ("/health", "/metadata", "/schema", "/openapi.json")
        }
        assert answers["/health"] == {"status": "healthy"}
        assert answers["/openapi.json"]["info"]["version"].startswith("1.")
        assert answers["/schema"]["action"]["required"] == ["action"]
        with pytest.raises(urllib.error.HTTPError, match="409"):
            urllib.request.urlopen(urllib.request.Request(f"{http}/step", b"{}"))


def test_schemas_bound_the_actions_of_a_discrete_space() -> None:
    with served([0]) as at:
        schema = json.load(urllib.request.urlopen(f"{at.replace('ws:', 'http:')}/schema"))
        number = schema["action"]["properties"]["action"]["anyOf"][0]
        assert number == {"type": "integer", "minimum": 0, "maximum": 3}


def test_text_that_is_not_a_request_is_refused_before_anything_is_done() -> None:
    for text in ("", "null", '"reset"', "[" * 100_000, "9" * 5000):
        with pytest.raises(wire.WireError):
            wire.read(text)


def _until(look: Callable[[], Any], enough: Callable[[Any], Any], seconds: float = 30.0) -> Any:
    end = time.monotonic() + seconds
    while not enough(found := look()):
        assert time.monotonic() < end, found
    return found
