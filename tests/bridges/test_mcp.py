"""Seats as tools of the Model Context Protocol, driven by the official client."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests import loops

from dovetail import DovetailError
from dovetail_bridges.table import CallRefused, OpenTable

DOVETAIL = [sys.executable, "-m", "dovetail"]


async def call(client: Any, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Call a tool; return whether it is fine, and its answer or the text of its error."""
    found = await client.call_tool(tool, arguments)
    text = "".join(each.text for each in found.content)
    return not found.is_error, text if found.is_error else json.loads(text)


async def fine(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    good, answer = await call(client, tool, **arguments)
    assert good, answer
    assert isinstance(answer, dict)
    return answer


Choose = Callable[[dict[str, Any]], Any]


async def play(client: Any, choose: Choose, games: int = 1) -> list[dict[str, Any]]:
    """Play games; return how they ended."""
    ends: list[dict[str, Any]] = []
    while True:
        seen = await fine(client, "observe", wait_seconds=20)
        if seen["over"]:
            ends.append(seen)
            if len(ends) == games:
                return ends
            await fine(client, "new_game")
        elif seen["your_turn"]:
            await fine(client, "act", action=choose(seen), turn=seen["turn"])


def randomly(seed: int) -> Choose:
    rng = random.Random(seed)
    return lambda seen: rng.choice(seen["legal_actions"])["action"]


def by_name(seen: dict[str, Any]) -> str:
    name: str = seen["legal_actions"][0]["name"]
    return name


def with_client(table: OpenTable, body: Callable[[Any], Awaitable[Any]], seat: int = 0) -> Any:
    from mcp import Client

    from dovetail_bridges.mcp.server import server

    async def main() -> Any:
        async with Client(server(table, seat)) as client:
            return await body(client)

    return loops.run(main())


@pytest.mark.parametrize("game", ["connect_four", "dots", "dominion", "2048"])
def test_a_scripted_client_plays_any_game(game: str) -> None:
    small = {
        "dots": {"rows": 2, "columns": 2},
        "2048": {"rows": 2, "columns": 2},
        "dominion": {"max_rounds": 2},
    }.get(game, {})
    with OpenTable(game, [0], ["random"], configuration=small, seed=3, games=2) as table:
        (first, second) = with_client(table, lambda client: play(client, randomly(1), 2))
    assert (first["game"], second["game"]) == (1, 2)
    assert {first["reason"], second["reason"]} <= {"terminated", "truncated"}
    assert first["position"]


def test_twenty_games_against_random_without_a_fault() -> None:
    with OpenTable("connect_four", [1], ["random"], seed=5, games=20) as table:
        ends = with_client(table, lambda client: play(client, by_name, 20), 1)
        with pytest.raises(CallRefused, match="all games are played"):
            table.again(1)
    assert len(ends) == 20
    assert {each["reason"] for each in ends} == {"terminated"}
    assert {each["result"] for each in ends} >= {"won", "lost"}


def test_what_is_refused_and_what_the_model_is_told() -> None:
    async def body(client: Any) -> None:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert set(tools) == {"rules", "observe", "act", "resign", "new_game"}
        assert tools["act"].input_schema["required"] == ["action", "turn"]
        rules = await fine(client, "rules")
        assert rules["game"] == "connect_four"
        assert "you are player 1" in rules["about"][1]
        assert "the disc falls to its lowest" in rules["rules"]
        seen = await fine(client, "observe")
        assert seen["your_turn"]
        assert seen["legal_actions"][2] == {"action": 2, "name": "column c"}
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"action": 9, "turn": 0}, r"'9' is not legal; legal actions: 0 \(column a\), "),
            ({"action": "left", "turn": 0}, "'left' is not legal"),
            ({"action": True, "turn": 0}, "'True' is not legal"),
            ({"action": 3, "turn": 7}, "turn 7 is not in progress; turn 0 is"),
            ({"turn": 0}, "action"),
        ]
        for arguments, problem in wrong:
            good, text = await call(client, "act", **arguments)
            assert not good
            assert re.search(problem, text), text
        good, text = await call(client, "new_game")
        assert (good, "not over" in text) == (False, True)
        await fine(client, "act", action="3", turn=0)
        seen = await fine(client, "observe")
        assert seen["turn"] == 2
        good, text = await call(client, "act", action=3, turn=0)
        assert "turn 0 is not in progress; turn 2 is" in text
        await fine(client, "resign")
        end = await fine(client, "observe")
        assert (end["over"], end["reason"], end["result"]) == (True, "resigned", "lost")
        assert end["return"] == -1.0
        good, text = await call(client, "act", action=3, turn=2)
        assert (good, "the game is over" in text) == (False, True)

    with OpenTable("connect_four", [0], ["random"], seed=1) as table:
        with_client(table, body)


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("act", {"action": 3}, "act: turn: Field required; "),
        ("act", {"action": 3, "turn": "x\u2028"}, "act: turn: Input should be a valid integer"),
        ("act", {}, "act: action: Field required; turn: Field required; "),
        ("observe", {"wait_seconds": 51}, "observe: wait_seconds: Input should be less than"),
    ],
)
def test_wrong_arguments_are_one_line(tool: str, arguments: Any, problem: str) -> None:
    async def body(client: Any) -> None:
        good, text = await call(client, tool, **arguments)
        assert not good
        assert text.startswith(problem)
        assert len(text.splitlines()) == 1
        assert "pydantic" not in text

    with OpenTable("connect_four", [0], ["random"], seed=1) as table:
        with_client(table, body)


def test_calls_that_wait_keep_no_other_call_waiting() -> None:
    """40 of them had every thread, and the other seat could not act."""
    from mcp import Client

    from dovetail_bridges.mcp.server import server

    async def main(table: OpenTable) -> float:
        async with Client(server(table, 0)) as mover, Client(server(table, 1)) as waits:
            waiting = [
                asyncio.ensure_future(fine(waits, "observe", wait_seconds=20)) for _ in range(50)
            ]
            await asyncio.sleep(1.0)
            began = time.monotonic()
            await fine(mover, "act", action=0, turn=(await fine(mover, "observe"))["turn"])
            took = time.monotonic() - began
            await asyncio.gather(*waiting)
            return took

    with OpenTable("connect_four", [0, 1], seed=1) as table:
        assert loops.run(main(table)) < 10


def test_who_waits_for_the_other_seat_is_told_so_at_once_or_later() -> None:
    with OpenTable("connect_four", [0, 1], seed=1) as table:
        before = time.monotonic()
        assert table.observe(1, 0.2) == {
            "seat": 1, "game": 1, "games": 1, "over": False, "your_turn": False,
        }  # fmt: skip
        assert time.monotonic() - before >= 0.2
        with pytest.raises(CallRefused, match="not your turn"):
            table.act(1, 0, 0)
        with pytest.raises(CallRefused, match="seat 5 is not open"):
            table.observe(5)
        waiting = threading.Thread(target=table.observe, args=(1, 30))
        waiting.start()
        table.act(0, 0, table.observe(0, 10)["turn"])
        waiting.join(10)
        assert not waiting.is_alive()
        assert table.observe(1)["turn"] == 1


def test_a_seat_sees_no_cards_of_the_other() -> None:
    configuration = {"game": "kuhn_poker"}
    with OpenTable("gdl", [0, 1], configuration=configuration, seed=2) as table:
        mine, other = table.observe(0, 10), table.observe(1)
        assert re.search(r"saw \(card \w+\)", mine["position"])
        assert mine["position"].count("card") == 1
        assert "position" not in other
        table.act(0, "bet", mine["turn"])
        theirs = table.observe(1, 10)
        assert theirs["position"].count("card") == 1
        assert [each["name"] for each in theirs["legal_actions"]] == ["bet", "pass"]


def test_a_game_that_one_seat_begins_leaves_the_result_for_the_other() -> None:
    with OpenTable("connect_four", [0, 1], seed=1, games=2) as table:
        table.resign(1)
        table.act(0, 0, table.observe(0, 10)["turn"])
        assert table.observe(0, 10)["result"] == "won"
        table.again(0)
        seen = table.observe(1)
        assert seen["game"] == 2
        assert seen["previous_game"]["reason"] == "resigned"
        assert "previous_game" not in table.observe(1)


def test_an_opponent_may_look_ahead() -> None:
    configuration, parameters = {"game": "tic_tac_toe"}, {"simulations": 4}
    with OpenTable(
        "gdl", [0], ["mcts"], configuration=configuration, parameters=parameters, seed=1
    ) as table:
        (end,) = with_client(table, lambda client: play(client, by_name))
    assert end["reason"] == "terminated"


def test_a_clock_that_runs_out_loses_the_game() -> None:
    with OpenTable("connect_four", [0], ["random"], seed=1, clock=1.0) as table:
        assert table.rules(0)["seconds_for_a_decision"] == 1.0
        table.observe(0, 10)
        end = time.monotonic() + 20
        while not (seen := table.observe(0))["over"]:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert (seen["reason"], seen["result"]) == ("timeout", "lost")


def test_a_late_answer_may_cost_a_random_action_instead() -> None:
    with OpenTable("2048", [0], seed=1, clock=1.0, on_timeout="random") as table:
        turn = table.observe(0, 10)["turn"]
        end = time.monotonic() + 20
        while (seen := table.observe(0))["turn"] == turn:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert not seen["over"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nogame", [0]), "no environment 'nogame'"),
        (("connect_four", [0], ["noagent"]), "no agent 'noagent'"),
        (("connect_four", [2], ["random"]), "seat 2 does not exist; connect_four has 2 seats"),
        (("connect_four", [0, 0]), "each once"),
        (("connect_four", [0], []), "name 1 agents with --against, not 0"),
    ],
)
def test_a_table_that_cannot_be_laid_is_one_line(arguments: Any, problem: str) -> None:
    with pytest.raises(DovetailError, match=problem):
        OpenTable(*arguments)


def test_over_stdio() -> None:
    from mcp import Client, StdioServerParameters

    async def main() -> list[dict[str, Any]]:
        command = [*DOVETAIL, "mcp", "--game", "connect_four", "--against", "random", "--seed", "4"]
        there = StdioServerParameters(command=command[0], args=command[1:])
        async with Client(there) as client:
            return await play(client, randomly(2), 2)

    ends = loops.run(main())
    assert [each["reason"] for each in ends] == ["terminated"] * 2


@contextmanager
def running(*arguments: str) -> Iterator[dict[int, str]]:
    """Run ``dovetail mcp --http``; give the URL of each seat."""
    process = subprocess.Popen(
        [*DOVETAIL, "mcp", "--http", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        urls: dict[int, str] = {}
        for _ in range(arguments.count("--seat")):
            line = process.stdout.readline()
            found = re.search(r"seat (\d) is open at (\S+)", line)
            assert found is not None, line
            urls[int(found[1])] = found[2]
        yield urls
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def test_two_clients_over_http_play_each_other_and_a_native_agent() -> None:
    from mcp import Client

    async def main(urls: dict[int, str]) -> list[list[dict[str, Any]]]:
        async def one(seat: int) -> list[dict[str, Any]]:
            async with Client(urls[seat]) as client:
                return await play(client, randomly(seat))

        return list(await asyncio.gather(one(0), one(2)))

    three = ("--game", "dominion", "--set", "players=3", "--set", "max_rounds=2")
    with running(
        *three, "--seat", "0", "--seat", "2", "--against", "dominion-money", "--seed", "1"
    ) as urls:
        assert sorted(urls) == [0, 2]
        first, second = loops.run(main(urls))
    assert first[0]["reason"] == second[0]["reason"] == "truncated"
    assert {first[0]["seat"], second[0]["seat"]} == {0, 2}


def test_nothing_is_kept_of_clients_over_http() -> None:
    from starlette.testclient import TestClient

    from dovetail_bridges.mcp.server import application

    about = {"protocolVersion": "2025-03-26", "capabilities": {}}
    about |= {"clientInfo": {"name": "x", "version": "1"}}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    accept = {"Accept": "application/json, text/event-stream"}
    with (
        OpenTable("connect_four", [0], ["random"], seed=1) as table,
        TestClient(application(table, "127.0.0.1"), "http://127.0.0.1:1") as client,
    ):
        answer = client.post("/seat-0/mcp", json=first, headers=accept)
        assert answer.status_code == 200
        assert "mcp-session-id" not in answer.headers


def test_at_a_running_broker(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/broker"
    programs = [
        subprocess.Popen([*DOVETAIL, *arguments], env=os.environ | {"DOVETAIL_BROKER": address})
        for arguments in (["broker", "--bind", address], ["env", "dots"], ["agent", "random"])
    ]
    try:
        end = time.monotonic() + 60
        while True:
            try:
                table = OpenTable("dots", [1], ["random"], connect=address, seed=3)
                break
            except DovetailError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        with table:
            (result,) = with_client(table, lambda client: play(client, randomly(1)), 1)
        assert result["reason"] == "terminated"
    finally:
        for each in programs:
            each.terminate()
        for each in programs:
            each.wait(20)


def test_http_is_served_on_loopback_only() -> None:
    found = subprocess.run(
        [*DOVETAIL, "mcp", "--http", "--host", "0.0.0.0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 2
    assert "only loopback addresses are served" in found.stderr
    assert found.stderr.count("\n") == 1


def test_a_missing_package_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['anyio'] = None")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    found = subprocess.run(
        [*DOVETAIL, "mcp"], capture_output=True, text=True, timeout=60, env=environment
    )
    assert found.returncode == 1
    assert found.stderr.endswith("pip install 'dovetail[mcp]'\n")
    assert found.stderr.count("\n") == 1
