"""A core between three legacy programs, in place of the original; or an experiment over any world."""

from __future__ import annotations

import logging

from dovetail.bridges.rlglue.glue import Glue, Pair, World
from dovetail.bridges.rlglue.peer import LegacyAgent, LegacyEnvironment, Lost, Peer
from dovetail.bridges.rlglue.port import ROLES, Port
from dovetail.bridges.rlglue.wire import Code, WireError
from dovetail.protocol.errors import DovetailError

log = logging.getLogger("dovetail.rlglue")


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
        if code == Code.TERM:
            experiment.send(Code.TERM)
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


def relay(port: Port, *, once: bool = False) -> None:
    """Join legacy agents, environments and experiments at a port, three at a time, until it is closed.

    Args:
        port: where they announce themselves.
        once: end after the first experiment, as the original core does.
    """
    while not port.closed:
        peers = port.claim(ROLES)
        if peers is None:
            continue
        agent, environment = peers["agent"], peers["environment"]
        experiment = peers["experiment"]

        def look() -> None:
            if not experiment.alive or port.closed:  # noqa: B023
                raise experiment.lose("left")  # noqa: B023

        agent.watch = environment.watch = look
        experiment.watch = lambda: _stop_if(port)
        play(experiment, Pair(LegacyAgent(agent), LegacyEnvironment(environment)))
        for role in ROLES:
            port.release(role)
        if once:
            return


def _stop_if(port: Port) -> None:
    if port.closed:
        raise DovetailError("this program is stopping")
