"""``InProcess``: broker, environments, agents and experiment in one program, without sockets.

The counterpart of RL-Glue's internal mode; with ``bind``, other programs may join.

>>> from dovetail import InProcess
>>> with InProcess(["connect_four"], ["random"]) as experiment:
...     random = experiment.create("random")
...     for episode in experiment.run("connect_four", [random, random], episodes=10):
...         print(episode.outcome)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail.broker.core.core import Settings
from dovetail.broker.core.intake import Local
from dovetail.broker.durable.journal import Journal
from dovetail.broker.durable.write_ahead_log import live
from dovetail.broker.shell.server import Server
from dovetail.client.client import Experiment
from dovetail.peer import plugins
from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.environments.environment import Environment
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.link import CLOSED, THEIRS, within
from dovetail.peer.one_line_exit import in_one_line
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.transport.process_owner import Owner


class LocalLink:
    """The connection of an experiment, or of another peer, to a broker in the same program."""

    departed = False

    def __init__(self, server: Server, hello: m.Hello) -> None:
        self._owner = Owner()
        self._server = server
        self._local = Local()
        accepted = codec.AT_PEER[hello.role]
        self._reader: codec.Decoder[m.Message] = codec.Decoder(accepted, codec.UNLIMITED)
        hello.token = server.settings.token
        server.post(self._local, [hello])
        server.pump(0.0)

    def send(self, messages: Sequence[m.Message]) -> None:
        """Send messages to the broker, which checks them as if they came over a socket.

        Raises:
            TypeError: a value in them cannot be encoded (or another of ``codec.UNSENDABLE``).
            DovetailError: this connection is closed, or a message is larger than the broker
                accepts.
        """
        self._owner.check(*THEIRS)
        self._check()
        frames = [codec.own(message) for message in messages]
        self._server.post(self._local, within(frames, self._server.settings.limits.frame))

    def receive(self, timeout: float | None) -> list[m.Message]:
        """Run the broker until messages for this peer arrive, for at most ``timeout`` seconds.

        Raises:
            DovetailError: this connection is closed.
        """
        self._owner.check(*THEIRS)
        self._check()
        server, inbox = self._server, self._local.inbox
        end = time.monotonic() + (0.5 if timeout is None else timeout)
        while not inbox:
            server.pump(max(0.0, min(0.1, end - time.monotonic())))
            if not inbox and time.monotonic() >= end:
                break
        frames = [codec.encode(message) for message in inbox]
        inbox.clear()
        return [self._reader.decode(frame) for frame in frames]

    def _check(self) -> None:
        known = self._server.core.broker.connections
        if self._local not in known and not self._local.inbox:  # read the rest before the error
            raise DovetailError(CLOSED)

    def join(self, hello: m.Hello) -> LocalLink:
        """Return another connection to this broker."""
        return LocalLink(self._server, hello)

    def close(self) -> None:
        """Disconnect; do nothing in a forked child."""
        if not self._owner.here:
            return
        self._server.post(self._local, [m.Bye()])
        self._server.pump(0.0)


class InProcess:
    """A broker in this program, with environments and agents; a context manager that yields an
    ``Experiment``.

    Args:
        environments: the environments to offer: classes, or names as on the command line.
        agents: the agents to offer: classes, names, or ``Agent`` objects, each a single agent.
        bind: an address at which other programs may join.
        settings: the broker's settings.
        journal: the file that records episodes; None for no journal.

    Raises:
        DovetailError: a name is unknown, the address cannot be bound, or the journal cannot be
            written.
    """

    def __init__(
        self,
        environments: Sequence[type[Environment] | str] = (),
        agents: Sequence[type[Agent] | Agent | str] = (),
        bind: str | None = None,
        settings: Settings | None = None,
        journal: Path | None = None,
    ) -> None:
        in_one_line()
        self._owner = Owner()
        games = [_class("environment", each) for each in _listed("environments", environments)]
        players = [_class("agent", each) for each in _listed("agents", agents)]
        opened = None if journal is None else Journal(journal)
        kept = None if opened is None else live(opened, durable=False)
        self.server = Server(bind, settings, opened, kept)
        if games:
            self.server.attach(EnvironmentHost(games))
        types = [each for each in players if isinstance(each, type)]
        if types:
            self.server.attach(AgentHost(types))
        for each in players:
            if isinstance(each, Agent):
                self.server.attach(AgentHost(single=each))
        self.server.pump(0.0)

    def experiment(self, name: str = "") -> Experiment:
        """Return another experiment connected to this broker."""
        return Experiment(LocalLink(self.server, m.Hello(m.VERSION, "experiment", name)))

    def close(self) -> None:
        """Close the broker and its experiments; do nothing in a forked child."""
        if self._owner.here:
            self.server.close()

    def __enter__(self) -> Experiment:
        return self.experiment()

    def __exit__(self, *_: object) -> None:
        self.close()


def _class(kind: plugins.Kind, given: Any) -> Any:
    return plugins.find(kind, given) if isinstance(given, str) else given


def _listed(what: str, given: Sequence[Any]) -> Sequence[Any]:
    """Return the items to offer as a list; refuse a single name."""
    if isinstance(given, str):
        raise DovetailError(f"{what} is {given!r}; it is a list, as in [{given!r}]")
    return given
