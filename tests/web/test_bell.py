"""A loop learns of news once, whoever waits for them there."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from tests import loops

from dovetail_web.bell import Bell


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
