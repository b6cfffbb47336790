"""A core between three legacy programs, in place of the original; or an experiment over any
world."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from dovetail.protocol.errors import DovetailError
from dovetail_bridges.rlglue.core import Glue, Pair, World
from dovetail_bridges.rlglue.listener import ROLES, Port
from dovetail_bridges.rlglue.peer import LegacyAgent, LegacyEnvironment, Lost, Peer
from dovetail_bridges.rlglue.wire import Code, WireError

log = logging.getLogger("dovetail.rlglue")

TERM = Code.TERM


def drive(experiment: Peer, world: World) -> None:
    """Answer an experiment until it leaves.

    Raises:
        Lost: the experiment or another legacy program is gone.
        WireError: the experiment sent what it must not.
        DovetailError: a native program failed.
    """
    glue = Glue(world, left=lambda: not experiment.alive)
    while True:
        code, payload = experiment.receive(patient=True)
        if code == TERM:
            experiment.send(TERM)
            experiment.lose("left")
            return
        experiment.send(code, glue.handle(code, payload))


def play(experiment: Peer, world: World) -> None:
    """Answer an experiment until it leaves or something fails; log what failed."""
    try:
        drive(experiment, world)
    except Lost as error:
        if str(error) != experiment.gone:
            log.warning("%s; the experiment is ended", error)
    except WireError as error:
        log.warning("%s; the experiment is ended", experiment.drop(str(error)))
    except DovetailError as error:
        log.warning("the experiment is ended: %s", error)


Make = Callable[[Mapping[str, Peer]], World]
"""Makes the world of an experiment from the legacy programs that take part."""


def pair(peers: Mapping[str, Peer]) -> World:
    """Return the world of a legacy agent and a legacy environment."""
    return Pair(LegacyAgent(peers["agent"]), LegacyEnvironment(peers["environment"]))


def relay(
    port: Port, make: Make = pair, roles: Collection[str] = ROLES, *, once: bool = False
) -> None:
    """Serve one legacy experiment after another, until the port is closed.

    Args:
        port: where legacy programs announce themselves.
        make: makes the world of an experiment.
        roles: which programs are legacy; the experiment among them.
        once: end after the first experiment, as the original core does.
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
    try:
        world = make(peers)
    except DovetailError as error:
        log.warning("the experiment is ended: %s", error)
        return
    try:
        play(experiment, world)
    finally:
        close = getattr(world, "close", None)
        if close is not None:
            close()
