"""Events of runs, raised by this package's parts; ``core`` calls others with their fields."""

from __future__ import annotations

from typing import NamedTuple

from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.match import Match
from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.peers import Peer


class Ended(NamedTuple):
    """An episode has ended, and its match is free; or batched ones have, of no single match."""

    run: RunState
    match: Match | None = None


class EnvironmentFailed(NamedTuple):
    """An environment did not answer in time, or could not take over an episode.
    ``Runs.environment_gone`` handles one whose program is gone."""

    match: Match
    text: str
    """The reason, to be shown."""


class Heard(NamedTuple):
    """A peer answered a decision of an ended episode, and so is not stalled."""

    peer: Peer


class Orphaned(NamedTuple):
    """An agent's last run is over, and its owner is gone."""

    instance: Instance
