"""Many browsers, or slow ones, are sent the newest position, and never a queue."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from tests import loops

from dovetail.protocol import messages as m
from dovetail_web.app import application
from dovetail_web.games import CLOSE, Game, pace
from dovetail_web.hub import Hub
from dovetail_web.showcase import GAMES, _Shown

HOST = "http://testserver"


def hub(*turns: int) -> Hub:
    """Return a hub that has heard some turns of a game, and never a broker."""
    made = Hub("tcp://127.0.0.1:9")
    for turn in turns:
        hear(made, turn)
    return made


def hear(hub: Hub, turn: int, **more: Any) -> None:
    fields = {
        "to_act": [turn % 2],
        "agents": ["a", "b"],
        "text": f"turn {turn}",
        "rewards": [0.0, 0.0],
        "environment": "four",
    }
    hub._heard(m.WatchedTurn(1, 1, 0, 7, turn, **{**fields, **more}))


def test_a_slow_browser_gets_the_newest_position_once_it_is_ready() -> None:
    playing = hub(0)
    client = TestClient(application(playing, hosts=("testserver",)))
    with client, client.websocket_connect("/live", headers={"origin": HOST}) as socket:
        socket.send_json({"about": "game:7"})
        assert socket.receive_json()["position"]["turn"] == 0
        for turn in range(1, 500):
            hear(playing, turn)
        socket.send_text('{"got":true}')
        assert socket.receive_json()["position"]["turn"] == 499


def test_a_wall_shows_boards_of_games_that_go_on_or_are_over() -> None:
    playing = hub()
    hear(playing, 3, scene={"cells": []})
    hear(playing, 3)  # sent again without its scene
    (game,) = playing.now({})["games"]
    assert json.loads(bytes(game["position"]))["scene"] is not None
    playing.catalogue = {"runs": []}
    assert playing.now({})["games"], "a run that has just begun"
    playing.games[7].heard -= 60
    assert playing.now({})["games"] == [], "its broker has lost it"
    playing.games[7].over = True
    assert len(playing.now({})["games"]) == 1


def test_a_showcase_has_boards_from_its_first_turn() -> None:
    """A stepwise run with texts has its first turn written, and not drawn."""
    asked: dict[str, Any] = {}
    client = SimpleNamespace(
        create=lambda *_, **__: 0,
        run=lambda *_, **given: asked.update(given) or SimpleNamespace(start=lambda: None),
    )
    _Shown(cast("Any", client), *GAMES[0], 0)._begin()
    assert asked["texts"] is False


def test_the_longest_games_lose_their_oldest_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """One game may have more positions than there is memory."""
    monkeypatch.setattr("dovetail_web.hub.MOST_BYTES", 50_000)
    playing = hub()
    for turn in range(50):
        hear(playing, turn, text="x" * 2000)
    game = playing.games.get(7)
    assert game is not None
    assert 40_000 < sum(map(len, game.positions)) == game.size <= 50_000
    # The others keep their places.
    assert game.position(0) is None
    assert json.loads(game.position(49) or b"")["turn"] == 49
    assert game.first + len(game.positions) == 50
    # A position that is too large by itself is kept as long as it is the newest.
    monkeypatch.setattr("dovetail_web.hub.MOST_BYTES", 1000)
    hear(playing, 50, text="x" * 2000)
    assert [json.loads(each)["turn"] for each in game.positions] == [50]


def test_older_games_go_before_positions_of_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail_web.hub.MOST_BYTES", 19_300)
    playing = hub(0)
    for turn in range(5):
        playing._heard(m.WatchedTurn(2, 2, 0, 8, turn, text="x" * 3000))
    assert playing.games.get(7) is not None
    playing._heard(m.WatchedTurn(2, 2, 0, 8, 5, text="x" * 3000))
    assert playing.games.get(7) is None
    game = playing.games.get(8)
    assert game is not None
    assert len(game.positions) == 6


def test_two_pictures_are_drawn_at_once_and_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing: list[int] = []
    most: list[int] = []
    third = threading.Event()

    def slow(position: Any, form: str) -> bytes:
        drawing.append(1)
        most.append(len(drawing))
        if len(drawing) > 2:
            third.set()
        third.wait(0.5)
        drawing.pop()
        return b"drawn"

    monkeypatch.setattr("dovetail_web.app.picture", slow)

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(application(hub(0), hosts=("testserver",)))
        async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
            return await asyncio.gather(*(client.get("/game/7/turn/0.png") for _ in range(4)))

    assert [each.content for each in loops.run(ask())] == [b"drawn"] * 4
    assert max(most) == 2


def test_a_position_is_sent_once_to_a_browser_that_looks_at_all_games() -> None:
    playing = hub(0, 1)
    known: dict[int, int] = {}
    (first,) = playing.now(known)["games"]
    assert json.loads(bytes(first["position"]))["turn"] == 1
    assert "position" not in playing.now(known)["games"][0]
    hear(playing, 2)
    assert "position" in playing.now(known)["games"][0]
    assert "position" in playing.now({})["games"][0]
    assert playing.now({})["games"][0]["environment"] == "four"
    assert [len(playing.now({}, name)["games"]) for name in ("four", "five")] == [1, 0]


def test_a_message_that_is_not_text_ends_its_connection_only() -> None:
    client = TestClient(application(hub(0), hosts=("testserver",)))
    with client, client.websocket_connect("/live", headers={"origin": HOST}) as other:
        with client.websocket_connect("/live", headers={"origin": HOST}) as socket:
            socket.send_bytes(b"\xff")
            with pytest.raises(WebSocketDisconnect) as caught:
                socket.receive_json()
            assert caught.value.code == 4400
        other.send_json({"about": "game:7"})
        assert other.receive_json()["position"]["turn"] == 0


def test_a_browser_that_comes_late_learns_how_old_the_clocks_are() -> None:
    playing = hub()
    hear(playing, 0, clocks=[m.Clock(3.0, 60.0), m.Clock(3.0, 50.0, 1.0)])
    client = TestClient(application(playing, hosts=("testserver",)))
    with client, client.websocket_connect("/live", headers={"origin": HOST}) as socket:
        socket.send_json({"about": "game:7"})
        first = socket.receive_json()
        assert first["position"]["clocks"] == [[3.0, 60.0], [3.0, 50.0]]
        assert first["time"] >= first["position"]["at"]
        hear(playing, 1)
        socket.send_text('{"got":true}')
        later = socket.receive_json()
    assert later["position"]["clocks"] == []
    assert later["position"]["at"] >= first["time"]
    assert "time" not in later  # it would be old for those who are sent the same


def test_a_game_that_was_seen_in_part_says_so() -> None:
    playing = hub(0, 1, 5, 5, 4, 9)
    game = playing.games.get(7)
    assert game is not None
    assert game.about() | {"run": 1} == game.about()
    assert (game.turns, game.whole, game.about()["count"]) == ([0, 1, 5, 9], False, 4)
    assert json.loads(game.position(2) or b"")["turn"] == 5
    assert game.position(4) is None
    assert Game(1, 1, "", []).whole


def test_a_turn_that_comes_again_does_not_count_its_thinking_time_twice() -> None:
    playing = hub(0)
    hear(playing, 1, actions=[(0, 3)])
    thought = playing.games[7].seconds[0]
    hear(playing, 1, actions=[(0, 3)], running=[1])
    assert playing.games[7].seconds == {0: thought}
    assert json.loads(playing.games[7].positions[-1])["running"] == [1]


def test_what_programs_say_of_a_game_is_shown_as_short_text_whatever_its_name() -> None:
    playing = hub()
    name = "ALE/Pong-v5"
    offer = {"name": name, "description": "<b>" + 10_000 * "a ", "parameters": {}, "seats": [2]}
    playing.catalogue = {"environments": [offer]}
    with TestClient(application(playing, hosts=("testserver",))) as client:
        hear(playing, 0, environment=name)
        for path in ("/", f"/play/{name}", "/game/7"):
            text = client.get(path).text
            assert (name in text, "&lt;b&gt;a a" in text, "<b>a" in text) == (True, True, False)
            assert text.count("a a") < 200


@pytest.mark.parametrize(
    ("matches", "every"), [(0, 0.1), (2, 0.1), (3, 0.2), (100, 6.4), (1000, 51.2)]
)
def test_the_more_games_the_fewer_turns_of_each(matches: int, every: float) -> None:
    assert pace(CLOSE, matches) == pytest.approx(every)
