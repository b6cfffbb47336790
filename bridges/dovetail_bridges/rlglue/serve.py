"""Offering legacy programs to a broker and running legacy experiments, until stopped."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Collection, Mapping
from types import FrameType

from dovetail.peer.agents.host import AgentHost
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.host import Host
from dovetail.peer.serving import serve_host
from dovetail.peer.stop_event import StopEvent
from dovetail.protocol.errors import DovetailError
from dovetail.transport.lines import Lines
from dovetail_bridges.rlglue.agent import Joined, JoinOptions
from dovetail_bridges.rlglue.core import Glue, Pair
from dovetail_bridges.rlglue.environment import HostOptions, hosted
from dovetail_bridges.rlglue.listener import ROLES, Port
from dovetail_bridges.rlglue.peer import LegacyAgent, LegacyEnvironment, Lost, Peer
from dovetail_bridges.rlglue.wire import Code, WireError

log = logging.getLogger("dovetail.rlglue")

LOOK = 0.25
"""Seconds between two checks that a legacy program is still connected."""


class Bridge:
    """The threads of a bridge.

    Args:
        address: the broker's address.
        token: the broker's access token.
        say: receives lines for the user.
    """

    def __init__(
        self,
        address: str | None = None,
        token: str | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.stop = StopEvent()
        self._address = address
        self._token = token
        self._say = say
        self._threads: list[threading.Thread] = []
        self._ports: list[Port] = []
        self._failed: list[Exception] = []

    def agent(self, name: str, port: Port, options: JoinOptions | None = None) -> None:
        """Offer the legacy agent at a port as ``name``, while one is connected."""
        agent = Joined(port, options)
        self._say(f"agent {name}: RLGLUE_PORT={port.number}")
        self._offer(
            "agent", name, port, lambda: AgentHost(single=agent, name=name), agent.options.grace
        )

    def environment(self, name: str, port: Port, options: HostOptions | None = None) -> None:
        """Offer the legacy environment at a port as ``name``, while one is connected."""
        options = options or HostOptions()
        kind = hosted(name, port, options)
        self._say(f"environment {name}: RLGLUE_PORT={port.number}")
        self._offer("environment", name, port, lambda: EnvironmentHost([kind]), options.grace)

    def run(self, port: Port, target: Callable[[], None]) -> None:
        """Run ``target`` in a thread; the bridge ends when ``target`` returns."""
        self._start(port, lambda: self._until_done(target))

    def wait(self) -> None:
        """Wait until the program is told to stop or something fails; then end everything.

        Raises:
            DovetailError: there is no broker, or it refuses a program.
        """

        def leave(number: int, frame: FrameType | None) -> None:
            self.stop.set()

        before = {each: signal.signal(each, leave) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            while not self.stop.wait(0.5):
                pass
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
            self.close()
        if self._failed:
            raise self._failed[0]

    def close(self) -> None:
        """End everything: disconnect native sides from the broker, and send legacy programs
        ``RLTerm``."""
        self.stop.set()
        for thread in self._threads:
            thread.join(2.0)
        for port in self._ports:
            port.close()
        for thread in self._threads:
            thread.join(5.0)

    # -- inside ----------------------------------------------------------------------------------

    def _start(self, port: Port, target: Callable[[], None]) -> None:
        if port not in self._ports:
            self._ports.append(port)
        thread = threading.Thread(target=self._guarded, args=[target], daemon=True)
        self._threads.append(thread)
        thread.start()

    def _guarded(self, target: Callable[[], None]) -> None:
        try:
            target()
        except Exception as error:
            self._failed.append(error)
            self.stop.set()

    def _until_done(self, target: Callable[[], None]) -> None:
        target()
        self.stop.set()

    def _offer(
        self, role: str, name: str, port: Port, make: Callable[[], Host], grace: float
    ) -> None:
        def ready(_: object) -> None:
            self._say(f"{role} {name} ready")

        def serve() -> None:
            while not self.stop.is_set():
                if not port.wait(role, LOOK):
                    continue
                withdraw = threading.Event()
                watch = threading.Thread(
                    target=self._watch, args=[role, port, grace, withdraw], daemon=True
                )
                watch.start()
                try:
                    serve_host(make(), self._address, name, self._token, ready=ready, stop=withdraw)
                    if not withdraw.is_set():
                        raise DovetailError("the broker has left")
                finally:
                    withdraw.set()
                    watch.join()
                if not self.stop.is_set():
                    log.warning("%s %s is withdrawn: no legacy program is connected", role, name)

        self._start(port, serve)

    def _watch(self, role: str, port: Port, grace: float, withdraw: threading.Event) -> None:
        """Withdraw an offer when its program is gone for too long."""
        missing = 0.0
        while not withdraw.wait(LOOK):
            missing = 0.0 if port.peer(role) is not None else missing + LOOK
            if missing > grace or self.stop.is_set():
                withdraw.set()


lines = Lines(logging.getLogger("dovetail.rlglue"))

TERM = Code.TERM
Make = Callable[[Mapping[str, Peer]], Pair]
"""A function that makes an experiment's world from its legacy programs."""


def pair(peers: Mapping[str, Peer]) -> Pair:
    """Return the world of a legacy agent and a legacy environment."""
    return Pair(LegacyAgent(peers["agent"]), LegacyEnvironment(peers["environment"]))


def relay(
    port: Port, make: Make = pair, roles: Collection[str] = ROLES, *, once: bool = False
) -> None:
    """Serve one legacy experiment after another until the port is closed.

    Args:
        port: the port at which legacy programs announce themselves.
        make: makes the world of an experiment.
        roles: the legacy roles, including the experiment's.
        once: if true, return after the first experiment, as the original core does.
    """
    while not port.closed:
        peers = port.claim(roles)
        if peers is None:
            continue
        _serve(port, peers, make)
        for peer in peers.values():
            port.release(peer)
        if once:
            return


def _serve(port: Port, peers: Mapping[str, Peer], make: Make) -> None:
    """Answer an experiment until it disconnects or something fails; log the failure."""
    experiment = peers["experiment"]

    def stop() -> None:
        if port.closed:
            raise DovetailError("this program is stopping")

    def look() -> None:
        stop()
        if not experiment.alive:
            raise experiment.lose("left")

    for peer in peers.values():
        peer.watch = stop if peer is experiment else look
    world: Pair | None = None
    try:
        world = make(peers)
        _drive(experiment, world)
    except Lost as error:
        if str(error) != experiment.gone:
            lines.warn(f"{error}; the experiment is ended")
    except WireError as error:
        lines.warn(f"{experiment.drop(str(error))}; the experiment is ended")
    except DovetailError as error:
        lines.warn(f"the experiment is ended: {error}")
    finally:
        if world is not None:
            world.close()


def _drive(experiment: Peer, world: Pair) -> None:
    glue = Glue(world, left=lambda: not experiment.alive)
    while True:
        code, payload = experiment.receive(patient=True)
        if code == TERM:
            experiment.send(TERM)
            experiment.lose("left")
            return
        experiment.send(code, glue.handle(code, payload))
