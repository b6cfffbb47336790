"""Seats a person for ``dovetail play``, in this process or at a running broker."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail.cli.common import agent as find_agent
from dovetail.cli.common import environment as find_environment
from dovetail.cli.common import log_to_stderr, refusing, warn
from dovetail.client.client import Experiment
from dovetail.peer import options
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.broker_watchdog import GIVE_UP
from dovetail.peer.link import Link
from dovetail.peer.presets import declared
from dovetail.peer.session import hello
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files.checking import offered_name


def seats(env: str, configuration: dict[str, Any], *, local: bool) -> int:
    """Return the number of seats of a game; two if only the broker has it."""
    try:
        kind = find_environment(env, configuration if local else None)
    except DovetailError:
        if local:
            raise
        return 2
    with refusing():
        read = options.read(kind.Configuration, configuration, f"environment {env}")
        return declared(kind(read)).seats


Place = tuple["Experiment", str, str, str | None]
"""The experiment, its names for environment and opponent, and the program that creates humans."""


@contextmanager
def here(
    env: str, against: str, configuration: dict[str, Any], parameters: dict[str, Any]
) -> Iterator[Place]:
    """Play in this process."""
    from dovetail.client.inprocess import InProcess
    from dovetail.peer.registry import type_name

    kind = find_environment(env, configuration)
    opponent, human = find_agent(against, parameters), find_agent("human")
    types = [human] if opponent is human else [human, opponent]
    with InProcess([kind], types) as experiment:
        yield experiment, type_name(kind), type_name(opponent), None


@contextmanager
def there(env: str, against: str, address: str, token: str | None) -> Iterator[Place]:
    """Play at a running broker."""
    log_to_stderr()
    host = AgentHost([find_agent("human")])
    connected = False

    def say(text: str) -> None:
        if not connected:  # later the experiment's connection warns
            warn(text)

    seat = Link(address, hello("agent", offers=host.offers(), token=token), warn=say)
    connected = True
    try:
        assert seat.session.welcome is not None
        name = seat.session.welcome.name
        link = Link(address, hello("experiment", token=token), give_up=GIVE_UP)
        with Experiment(_Both(link, seat, host)) as experiment:
            yield experiment, offered_name(env, "environment"), offered_name(against), name
    finally:
        seat.close()


class _Both:
    """The experiment's connection, which also serves the person's seat while it waits.

    A single thread does both, so that Ctrl-C reaches the person's prompt.
    """

    def __init__(self, link: Link, seat: Link, host: AgentHost) -> None:
        self._link, self._seat, self._host = link, seat, host
        self._ended = 0
        """Number of episodes that ended for the person, minus the results the experiment has
        received."""

    @property
    def departed(self) -> bool:
        return self._link.departed

    def send(self, messages: Sequence[m.Message]) -> None:
        self._link.send(messages)

    def receive(self, timeout: float | None) -> list[m.Message]:
        """Let the person play; return the experiment's messages.

        A result is delayed until the person has seen the end of the game, by at most a second.
        """
        came = self._link.receive(0.02)
        results = sum(isinstance(each, m.Episode) for each in came)
        end = time.monotonic() + 1.0
        while True:
            asked = self._seat.receive(0.02)
            if asked:
                self._seat.send(self._host.handle(asked))
            self._ended += sum(isinstance(each, m.End) for each in asked)
            if self._ended >= results or time.monotonic() > end:
                self._ended = max(0, self._ended - results)
                return came

    def join(self, hello: m.Hello) -> Link:
        return self._link.join(hello)

    def close(self) -> None:
        self._link.close()
