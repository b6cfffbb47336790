"""The broker's state machine alone, 64 matches at once.

Only its own calls are timed, not those that make its peers' answers.  Seconds are those of the
processor, so that other work on the machine counts little.
"""

from __future__ import annotations

import time
from typing import Any

from msgspec import Raw

from bench import peers
from bench.measure import WARM_UP, BenchError
from dovetail.broker.core.core import Core, Settings
from dovetail.peer.gc_tuning import patient
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Discrete

MATCHES = 64
OBSERVATION = Raw(codec.encode(peers.OBSERVATION))


@patient()
def core_alone(seconds: float) -> float:
    """Return the core's turns per second of its own time."""
    core = Core(Settings(), b"")
    said: list[tuple[Any, Any]] = [
        (0, m.Hello(1, "environment", "rules", [m.Offer("trivial")])),
        (1, m.Hello(1, "agent", "first", [m.Offer("first", capacity=MATCHES, instance=True)])),
        (2, m.Hello(1, "experiment", "bench")),
    ]
    run = m.Run(1, "trivial", agents=["first", "first"], episodes=10**9, concurrency=MATCHES)
    said.append((2, run))
    begun, spent, turns, now = time.process_time(), 0.0, 0, 0.0
    while spent < seconds:
        now += 0.001
        before = time.process_time()
        for address, message in said:
            core.receive(address, message, now)
        _, out = core.take()
        after = time.process_time()
        if after - begun > WARM_UP:
            spent += after - before
            turns += sum(type(message) is m.Turn for _, message in said)
        said = [(address, answer) for address, each in out for answer in _answers(each)]
        if not said:
            raise BenchError("the core waits for nothing")
    return turns / spent


def _answers(message: Any) -> list[m.Message]:
    """Return what the bench's peers answer."""
    match message:
        case m.Open():
            space: list[Any] = [Discrete(len(peers.LEGAL))]
            return [m.Spec(message.match, "trivial", 2, space, space, max_turns=peers.TURNS)]
        case m.EnvironmentStart():
            return [_turn(message.episode, 0)]
        case m.EnvironmentStep():
            return [_turn(message.episode, message.turn + 1)]
        case m.AgentStart() | m.AgentStep():
            return [m.Action(message.episode, message.turn, message.seat, 0)]
        case _:
            return []


def _turn(episode: int, number: int) -> m.Turn:
    if number == peers.TURNS:
        ended = [m.View(seat, OBSERVATION) for seat in (0, 1)]
        return m.Turn(episode, number, [], ended, terminated=True, outcome=[0.5, 0.5])
    seat = number % 2
    return m.Turn(episode, number, [seat], [m.View(seat, OBSERVATION, peers.LEGAL)])
