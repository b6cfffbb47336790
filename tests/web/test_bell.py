"""Many browsers are told of news together, and share a tenth of a core."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest
from tests import loops

from dovetail_web.bell import Bell
from dovetail_web.browser import Browser
from dovetail_web.hub import Hub


def test_a_loop_is_woken_once_for_all_its_browsers_and_all_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def listen() -> tuple[int, int]:
        bell, woken = Bell(), list[Any]()
        events = [asyncio.Event() for _ in range(1000)]
        for each in events:
            bell.add(each)
        loop = asyncio.get_running_loop()
        soon = loop.call_soon_threadsafe

        def wake(*call: Any) -> Any:
            woken.append(call)
            return soon(*call)

        monkeypatch.setattr(loop, "call_soon_threadsafe", wake)
        for _ in range(50):
            bell.ring()
        await asyncio.gather(*(each.wait() for each in events))
        once = len(woken)
        for each in events:
            each.clear()
            bell.remove(each)
        bell.ring()
        await asyncio.sleep(0)
        assert not any(each.is_set() for each in events)
        return once, len(woken)

    assert loops.run(listen()) == (1, 1)


def test_it_rings_from_any_thread() -> None:
    async def listen() -> None:
        bell, event = Bell(), asyncio.Event()
        bell.add(event)
        for _ in range(3):
            event.clear()
            threading.Thread(target=bell.ring).start()
            await asyncio.wait_for(event.wait(), 10)

    loops.run(listen())


@pytest.mark.parametrize(("browsers", "pause"), [(1, 0.25), (100, 0.25), (1000, 1.5)])
def test_watchers_are_told_less_often_if_they_are_many(browsers: int, pause: float) -> None:
    async def watch() -> float:
        hub = Hub("tcp://127.0.0.1:1")
        for _ in range(browsers - 1):
            hub.bell.add(asyncio.Event())
        browser = Browser(hub, cast(Any, None))
        browser._about = "wall:connect_four"
        return browser._pause()

    assert loops.run(watch()) == pytest.approx(pause)
