"""Serving of agents: what came at once is answered in halves, so that both sides work at the
same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest

from dovetail import Agent, DovetailError, Environment
from dovetail.broker.core.intake import LARGE, halves
from dovetail.peer import cores, serving
from dovetail.peer.agents.serve import serve as serve_agents
from dovetail.peer.cores import Cores
from dovetail.peer.environments.serve import serve as serve_environments
from dovetail.peer.host import Between, Host
from dovetail.peer.link import Link
from dovetail.protocol import messages as m


class Echo:
    """Answers each message by itself, or all of them at the end."""

    role: m.Role = "agent"

    def __init__(self, *, together: bool = False) -> None:
        self.together = together

    def offers(self) -> list[m.Offer]:
        return []

    def handle(
        self, incoming: Sequence[m.Message], between: Between | None = None
    ) -> list[m.Message]:
        if self.together:
            return list(incoming)
        out: list[m.Message] = []
        for message in incoming:
            if between is not None and out:
                between(out)
            out.append(message)
        return out

    def unsendable(self, answer: m.Message, text: str) -> m.Message:
        return answer


class Sends:
    """A link that keeps what it sends."""

    def __init__(self) -> None:
        self.sent: list[list[m.Message]] = []

    def send(self, messages: Sequence[m.Message]) -> None:
        self.sent.append(list(messages))


class Given(Cores):
    """A machine with this many cores."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def several(self, now: float) -> bool:
        return self._count > 1


def sends(host: Echo, count: int, among: int = 2) -> list[list[int]]:
    link, messages = Sends(), [m.Action(number, 0, 0) for number in range(count)]
    serving._answer(cast(Link, link), cast(Host, host), [*messages], Given(among))
    return [[cast(m.Action, each).episode for each in sent] for sent in link.sent]


interpreted = pytest.mark.skipif(
    not serving.__file__.endswith(".py"), reason="patches what is compiled"
)


@interpreted
def test_a_peer_sends_the_first_half_of_its_answers_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "PROMPT", 1e9)
    assert sends(Echo(), 1) == [[0]]
    assert sends(Echo(), 2) == [[0, 1]]
    assert sends(Echo(), 5) == [[0, 1, 2], [3, 4]]
    assert sends(Echo(together=True), 5) == [[0, 1, 2, 3, 4]]
    assert sends(Echo(), 5, among=1) == [[0, 1, 2, 3, 4]]


@interpreted
def test_a_peer_sends_the_answer_to_each_of_two_batches_at_once() -> None:
    batches = [m.AgentSteps(1, 0, number, slots=None, seats=None, turns=None) for number in (0, 1)]
    link = Sends()
    serving._answer(cast(Link, link), cast(Host, Echo()), [*batches], Given(2))
    assert link.sent == [[batches[0]], [batches[1]]]
    link = Sends()
    serving._answer(cast(Link, link), cast(Host, Echo()), [*batches], Given(1))
    assert link.sent == [batches]


def test_the_broker_takes_in_what_came_at_once_in_halves() -> None:
    frames = [bytes([number]) for number in range(5)]
    assert halves(frames, True) == [frames[:3], frames[3:]]
    assert halves(frames[:2], True) == [frames[:2]]
    assert halves([], True) == [[]]
    large = [bytes(LARGE + 1), b"1"]
    assert halves(large, True) == [large[:1], large[1:]]
    assert halves(frames, False) == [frames]


def test_the_cores_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Cores()
    monkeypatch.setattr(cores, "available", lambda: 1)
    assert not found.several(10.0)
    monkeypatch.setattr(cores, "available", lambda: 2)
    assert not found.several(10.0 + cores.LOOK / 2)
    assert found.several(10.0 + cores.LOOK)


def test_every_program_has_a_core() -> None:
    assert cores.available() >= 1


@pytest.mark.parametrize(
    ("serve", "kind", "lacking"),
    [
        (serve_agents, Agent, "'Half' cannot be served: the class must define step$"),
        (
            serve_environments,
            Environment,
            "'Half' cannot be served: the class must define init, start, step$",
        ),
    ],
)
def test_a_class_that_lacks_a_method_is_refused_before_there_is_a_broker(
    serve: Callable[[type], None], kind: type, lacking: str
) -> None:
    with pytest.raises(DovetailError, match=lacking):
        serve(type("Half", (kind,), {}))
