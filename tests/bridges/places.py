"""Shared by the tests of the bridges: a broker, and small forms of the games."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail import InProcess
from dovetail.broker.core.core import Settings

GAMES: dict[str, dict[str, Any]] = {
    "connect_four": {"rows": 4, "columns": 5, "connect": 3},
    "amazons": {"rows": 4, "columns": 4},
    "2048": {"rows": 2, "columns": 3},
    "dominion": {},
    "dots": {"rows": 2, "columns": 2},
    "rlgame": {"size": 5, "base": 1, "pawns": 3, "max_moves": 200},
    "tetris": {"height": 8, "width": 6},
}
"""Every game, in a form that is soon over."""
QUICK = ("connect_four", "dominion", "2048")
"""Those that need no compilation; `make test` plays them, `make test-slow` the rest."""


@contextmanager
def broker(environments: Sequence[type[Any]], agents: Sequence[Any]) -> Iterator[str]:
    """A broker in a thread of this program; yields its address."""
    # A dead program is missed at once, as its connection ends; a slow one has these seconds.
    settings = Settings(heartbeat=0.2, peer_timeout=20.0, grace=0.2)
    place = InProcess(environments, agents, bind="tcp://127.0.0.1:*", settings=settings)
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            place.server.pump(0.05)
        place.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert place.server.address is not None
    try:
        yield place.server.address
    finally:
        stop.set()
        thread.join()
