"""A peer that starts where the broker cannot yet welcome it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from dovetail import transport
from dovetail.peer.link import Link
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError

pytestmark = pytest.mark.processes

FULL = "cannot write the journal games: No space left on device; make room"


class Full(threading.Thread):
    """A broker whose disk is full until it has ``room``."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.router = transport.listen("tcp://127.0.0.1:*", 1 << 20)
        self.room, self.ended = threading.Event(), threading.Event()

    def run(self) -> None:
        greeted: dict[bytes, bool] = {}
        while not self.ended.is_set():
            for connection, _ in self.router.receive(0.02):
                if connection not in greeted:
                    greeted[connection] = False
                    answer = m.Error("journal", FULL + "\n\x1b[31mred")
                    self.router.send(connection, [codec.encode(answer)])
            for connection, welcomed in greeted.items():
                if self.room.is_set() and not welcomed:
                    greeted[connection] = True
                    welcome = m.Welcome("token", "late")
                    self.router.send(connection, [codec.encode(welcome)])


@pytest.fixture
def full() -> Iterator[Full]:
    broker = Full()
    broker.start()
    yield broker
    broker.ended.set()
    broker.join()
    broker.router.close()


def test_a_full_disk_is_said_and_waited_for(full: Full) -> None:
    said: list[str] = []

    def warn(line: str) -> None:
        said.append(line)
        full.room.set()

    link = Link(full.router.address, m.Hello(m.VERSION, "observer"), wait=30.0, warn=warn)
    assert link.session.welcome is not None
    assert len(said) == 1
    assert f"answers: {FULL}" in said[0]
    assert "\n" not in said[0]
    assert "\x1b" not in said[0]
    link.close()


def test_who_waits_no_longer_hears_that_the_disk_is_full(full: Full) -> None:
    with pytest.raises(DovetailError, match="answers: cannot write the journal games: No space"):
        Link(full.router.address, m.Hello(m.VERSION, "observer"), wait=0.5, warn=lambda _: None)
