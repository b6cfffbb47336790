"""A subject that many browsers watch is rendered and packed once, and sent at a shared pace."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import Any, cast

import pytest
from tests import loops
from tests.web.test_load import hear, hub

from dovetail_web import browser, channel
from dovetail_web.browser import Browser
from dovetail_web.channel import PACKED, Channels, Message


class Socket:
    """A browser's WebSocket, which keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[str | bytes] = []
        self.asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.heard = asyncio.Event()

    def say(self, **fields: Any) -> None:
        self.asked.put_nowait({"type": "websocket.receive", "text": json.dumps(fields)})

    async def receive(self) -> dict[str, Any]:
        return await self.asked.get()

    async def send_text(self, text: str) -> None:
        self.sent.append(text)
        self.heard.set()

    async def send_bytes(self, data: bytes) -> None:
        self.sent.append(data)
        self.heard.set()

    async def close(self, code: int) -> None:
        self.sent.append(f"closed {code}")
        self.asked.put_nowait({"type": "websocket.disconnect"})

    async def next(self) -> Any:
        await asyncio.wait_for(self.heard.wait(), 10)
        self.heard.clear()
        frame = self.sent[-1]
        return json.loads(frame if isinstance(frame, str) else zlib.decompress(frame))


def test_what_a_thousand_browsers_watch_is_rendered_and_packed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel, "CROWD_PAUSE", 0.0)
    packed: list[bytes] = []

    class Zlib:
        @staticmethod
        def compress(text: bytes) -> bytes:
            packed.append(text)
            return zlib.compress(text)

    monkeypatch.setattr(channel, "zlib", Zlib)

    async def watch() -> None:
        playing, sockets = hub(0), [Socket() for _ in range(1000)]
        channels = Channels(playing)
        browsers = [Browser(playing, channels, cast(Any, each)) for each in sockets]
        tasks = [asyncio.create_task(each.serve()) for each in browsers]
        for each in sockets:
            each.say(about="game:7", unpacks=True)
        for each in sockets:
            assert (await each.next())["position"]["turn"] == 0
            each.say(got=True)
        await asyncio.sleep(0)
        packed.clear()
        hear(playing, 1, text="x" * PACKED)
        for each in sockets:
            assert (await each.next())["position"]["turn"] == 1
        assert len(packed) == 1
        assert len({id(each.sent[-1]) for each in sockets}) == 1
        for task, watching in zip(tasks, browsers, strict=True):
            task.cancel()
            watching.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
        assert (channels.browsers, channels._open, playing._wanted) == (0, {}, {})

    loops.run(watch())


def test_a_wall_sends_changes_and_all_of_it_to_who_missed_one() -> None:
    async def watch() -> None:
        playing = hub(0)
        channels = Channels(playing)
        wall = channels.enter("wall:four")

        async def after(version: int) -> tuple[int, list[Any]]:
            version, message = await asyncio.wait_for(wall.next(version), 10)
            return version, [
                each.get("position") for each in json.loads(message.text)["now"]["games"]
            ]

        first, positions = await after(-1)
        assert [each["turn"] for each in positions] == [0]
        playing.problem = "The broker is gone."
        playing.changed()
        second, positions = await after(first)
        assert positions == [None]  # known
        hear(playing, 1)
        third, positions = await after(second)
        assert [each["turn"] for each in positions] == [1]
        playing.problem = ""
        playing.changed()
        await after(third)
        assert [each["turn"] for each in (await after(second))[1]] == [1]
        channels.leave("wall:four")

    loops.run(watch())


@pytest.mark.parametrize("about", ["wall:four", "game:7"])
def test_browsers_that_are_behind_get_one_message(about: str) -> None:
    async def watch() -> None:
        playing = hub(0)
        channels = Channels(playing)
        watched = channels.enter(about)
        first, _ = await watched.next(-1)
        second = first
        for turn in range(1, 3):
            hear(playing, turn)
            second, _ = await watched.next(second)
        behind = [await watched.next(first) for _ in range(100)]
        assert {version for version, _ in behind} == {second}
        assert len({id(message) for _, message in behind}) == 1
        shown = json.loads(behind[0][1].text)
        position = shown["now"]["games"][0]["position"] if "now" in shown else shown["position"]
        assert position["turn"] == 2
        channels.leave(about)

    loops.run(watch())


def test_a_crowd_answers_one_message_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer costs the page as much as the message."""
    monkeypatch.setattr(channel, "CROWD_PAUSE", 0.01)

    async def watch(browsers: int) -> list[bool]:
        playing, socket = hub(0), Socket()
        channels = Channels(playing)
        watching = Browser(playing, channels, cast(Any, socket))
        channels.browsers = browsers
        task = asyncio.create_task(watching.serve())
        socket.say(about="game:7")
        asked = ["calm" not in await socket.next()]
        for turn in range(1, 9):
            if asked[-1]:
                socket.say(got=True)
            hear(playing, turn)
            news = await socket.next()
            assert news["position"]["turn"] == turn
            asked.append("calm" not in news)
        task.cancel()
        watching.close()
        return asked

    monkeypatch.setattr(channel, "CALM", 0.2)
    assert all(loops.run(watch(2)))
    assert loops.run(watch(20))[1:] == [False, False, True, False, False, False, True, False]


@pytest.mark.parametrize(
    ("size", "unpacks", "form"), [(PACKED, True, bytes), (PACKED, False, str), (10, True, str)]
)
def test_long_messages_are_packed_for_who_can_unpack(size: int, unpacks: bool, form: type) -> None:
    message = Message({"text": "x" * size})
    frame = message.frame(packed=unpacks)
    assert type(frame) is form
    text = zlib.decompress(frame) if isinstance(frame, bytes) else frame
    assert json.loads(text) == {"text": "x" * size}


def test_a_heartbeat_comes_only_after_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "BEAT", 0.2)

    async def watch() -> None:
        playing, socket = hub(0), Socket()
        watching = Browser(playing, Channels(playing), cast(Any, socket))
        task = asyncio.create_task(watching.serve())
        socket.say(about="game:7")
        for turn in range(1, 8):  # a message each tenth of a second
            await socket.next()
            socket.say(got=True)
            hear(playing, turn)
        assert "{}" not in socket.sent
        while await socket.next():
            socket.say(got=True)
        assert socket.sent[-1] == "{}"
        task.cancel()
        watching.close()

    loops.run(watch())


def test_a_browser_that_says_nothing_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "BEAT", 0.02)
    monkeypatch.setattr(browser, "SILENT", 0.1)

    async def watch() -> list[str | bytes]:
        playing, socket = hub(0), Socket()
        watching = Browser(playing, Channels(playing), cast(Any, socket))
        await asyncio.wait_for(watching.serve(), 10)
        watching.close()
        return socket.sent

    assert loops.run(watch())[-1] == "closed 4408"


@pytest.mark.parametrize(("browsers", "pause"), [(1, 0.25), (100, 0.25), (1000, 1.5)])
def test_watchers_are_told_less_often_if_they_are_many(browsers: int, pause: float) -> None:
    async def watch() -> float:
        channels = Channels(hub())
        channels.browsers = browsers
        found = channels.enter("wall:connect_four")._pause()
        channels.leave("wall:connect_four")
        return found

    assert loops.run(watch()) == pytest.approx(pause)


def test_what_cannot_be_shown_does_not_end_a_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    async def watch() -> None:
        playing = hub(0)
        channels = Channels(playing)
        game, shown, failed = channels.enter("game:7"), channel.shown, asyncio.Event()

        def fail(*_: Any) -> Any:
            failed.set()
            raise RuntimeError("a fault")

        version, _ = await game.next(-1)
        monkeypatch.setattr(channel, "shown", fail)
        hear(playing, 1)
        await asyncio.wait_for(failed.wait(), 10)
        monkeypatch.setattr(channel, "shown", shown)
        hear(playing, 2)
        _, message = await asyncio.wait_for(game.next(version), 10)
        assert json.loads(message.text)["position"]["turn"] == 2
        channels.leave("game:7")

    loops.run(watch())


def test_a_browser_that_keeps_asking_is_rendered_no_more_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendered: list[str] = []
    render = channel.Channel._render

    def counted(self: channel.Channel, known: dict[int, int]) -> dict[str, Any]:
        rendered.append(self._what)
        return render(self, known)

    monkeypatch.setattr(channel.Channel, "_render", counted)

    async def ask() -> None:
        playing, socket = hub(0), Socket()
        asking = Browser(playing, Channels(playing), cast(Any, socket))
        task = asyncio.create_task(asking.serve())
        for number in range(200):
            socket.say(about=f"game:{number}")
            socket.say(got=True)
            await asyncio.sleep(0.0005)
        socket.say(about="game:7")
        while (await socket.next())["position"] is None:
            socket.say(got=True)
        task.cancel()
        asking.close()

    loops.run(ask())
    assert rendered[-1] == "7"
    assert len(rendered) < 40
