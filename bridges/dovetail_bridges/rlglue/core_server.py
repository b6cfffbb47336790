"""A core between three legacy programs, in place of the original, or between an experiment and
native sides."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from dovetail.protocol.errors import DovetailError
from dovetail.transport.lines import Lines
from dovetail_bridges.rlglue.core import Glue, Pair
from dovetail_bridges.rlglue.listener import ROLES, Port
from dovetail_bridges.rlglue.peer import LegacyAgent, LegacyEnvironment, Lost, Peer
from dovetail_bridges.rlglue.wire import Code, WireError

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
