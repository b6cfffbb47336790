"""Events of runs: raised by the parts of this room, dispatched by ``core``."""

from __future__ import annotations

from typing import NamedTuple

from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.match import Match
from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.peers import Peer


class Ended(NamedTuple):
    """An episode that is over, played singly; its match is free."""

    run: RunState
    match: Match


class BatchEnded(NamedTuple):
    """Episodes of a batch that are over."""

    run: RunState


class EnvironmentFailed(NamedTuple):
    """An environment that did not answer in time, or cannot take an episode over; one whose program
    is gone is told to ``Runs.environment_gone``."""

    run: RunState
    match: Match
    text: str
    """The reason, for people."""


class Heard(NamedTuple):
    """A peer that answered a decision that is over long ago, so that it is not stalled."""

    peer: Peer


class Orphaned(NamedTuple):
    """An agent whose owner left before its last run was over."""

    instance: Instance
