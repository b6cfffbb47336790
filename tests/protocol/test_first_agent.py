"""The agent of twenty lines at the beginning of SPEC.md plays."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq

from dovetail.broker.core.core import Settings
from dovetail.broker.shell.server import Server
from dovetail.client.client import Experiment
from dovetail.peer.environments.environment import Environment
from dovetail.peer.environments.serve import serve
from dovetail.protocol.messages import Spec, Turn, View
from dovetail.protocol.spaces import Discrete

pytestmark = pytest.mark.processes

SPEC = Path(__file__).resolve().parents[2] / "protocol" / "SPEC.md"


class Nim(Environment):
    """One heap; seats take one or two in turn."""

    name = "nim"

    def init(self) -> Spec:
        return Spec(seats=2, observation_spaces=[Discrete(8)], action_spaces=[Discrete(2, 1)])

    def start(self, seed: int) -> Turn:
        self.heap, self.turn = 7, 0
        return self._turn()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        [(seat, taken)] = actions.items()
        self.heap -= taken
        self.turn += 1
        if self.heap:
            return self._turn()
        views = [View(each, 0, reward=1.0 if each == seat else -1.0) for each in (0, 1)]
        return Turn(seats=views, terminated=True, outcome=[float(seat == 0), float(seat == 1)])

    def _turn(self) -> Turn:
        seat = self.turn % 2
        return Turn(to_act=[seat], seats=[View(seat, self.heap, [1, 2][: self.heap])])


@contextmanager
def running(target: Callable[..., None], *arguments: Any) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=target, args=(*arguments, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)


def pump(server: Server, stop: threading.Event) -> None:
    while not stop.is_set():
        server.pump(0.05)
    server.close()


def code() -> str:
    [found] = re.findall(r"```python\n(.*?)```", SPEC.read_text(encoding="utf-8"), re.DOTALL)
    return str(found)


def test_it_has_about_twenty_lines() -> None:
    assert len([line for line in code().splitlines() if line.strip()]) <= 21


def test_it_plays_and_hears_the_broker_leave() -> None:
    server = Server("tcp://127.0.0.1:*", Settings(heartbeat=0.1, peer_timeout=20.0))
    assert server.address is not None
    text = code().replace("tcp://127.0.0.1:5757", server.address)
    assert server.address in text
    agent = None
    try:
        with running(pump, server):
            environment = running(lambda stop: serve([Nim], server.address, stop=stop))
            with environment, Experiment.connect(server.address) as experiment:
                agent = subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE)
                experiment.expect(["nim"], ["taker"])
                results = experiment.run("nim", ["taker", "taker"], episodes=50, seed=1).wait()
                assert [each.reason for each in results] == ["terminated"] * 50
                assert len({each.turns for each in results}) > 1
        assert agent.wait(10) == 0  # the broker has said goodbye
    finally:
        if agent is not None:
            agent.kill()
            agent.communicate()


def test_only_final_errors_end_it() -> None:
    context = zmq.Context()
    socket = context.socket(zmq.ROUTER)
    socket.linger = 0
    socket.rcvtimeo = 30_000
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    text = code().replace("tcp://127.0.0.1:5757", f"tcp://127.0.0.1:{port}")
    agent = subprocess.Popen(
        [sys.executable, "-u", "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def say(*messages: dict[str, Any]) -> None:
        socket.send_multipart([who, *map(msgpack.packb, messages)])

    def hear() -> Any:
        _, frame = socket.recv_multipart()
        return msgpack.unpackb(frame)

    try:
        who, _ = socket.recv_multipart()
        say(
            {"type": "error", "code": "unavailable", "message": "not now"},
            {"type": "error", "code": "dance", "message": "what is this?"},
            {"type": "ping", "number": 1},
        )
        assert hear() == {"type": "pong", "number": 1, "seen": 0}
        say({"type": "error", "code": "access", "message": "your key was revoked"})
        out, err = agent.communicate(timeout=30)
        assert (agent.returncode, out) == (1, "not now\nwhat is this?\n")
        assert err == "your key was revoked\n"
    finally:
        agent.kill()
        agent.wait()
        socket.close()
        context.term()
