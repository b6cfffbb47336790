"""The batched matches (groups) of a program's environments (SPEC.md, Stacked turns)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.environments.environment import Environment
from dovetail.peer.environments.vector import Column, Copies, VectorEnvironment
from dovetail.protocol import columns
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError


class Group:
    """The episodes of a group.

    Raises:
        DovetailError: the configuration is invalid.
    """

    def __init__(self, kind: type[Environment], configuration: Any, message: m.Open) -> None:
        compiled = kind.vector(configuration, message.slots)
        self.game: VectorEnvironment = compiled or Copies(kind, configuration, message.slots)
        self.afterstates = message.afterstates
        self.slots = message.slots
        self.before = 0
        """The ``seq`` of the latest answered batch."""

    def open(self) -> m.Spec:
        """Return the game's description; raise as its ``init`` does."""
        spec = self.game.init()
        self.afterstates = self.afterstates and getattr(spec, "afterstates", False)
        return spec

    def steps(self, message: m.EnvironmentSteps) -> m.Turns:
        """Play a batch.

        Raises:
            ProtocolError: ``invalid``: a column has the wrong type, length or contents.
        """
        slots = columns.read("slots", message.slots, np.int32, -1)
        seats = columns.read("seats", message.seats, np.int32, len(slots))
        actions = columns.read("actions", message.actions, np.int64, len(slots))
        restarts = columns.read("restarts", message.restarts, np.int32, -1)
        seeds = columns.read("seeds", message.seeds, np.uint64, len(restarts))
        named = self._named(slots, restarts)
        if len(restarts):
            self.game.start(restarts, seeds)
        if len(slots):
            self.game.step(slots, seats, actions)
        found = self.game.transitions(named, afterstates=self.afterstates)
        turns = m.Turns(message.match, message.batch, named, found.rewards, found.over)
        if len(found.rows):
            turns.rows, turns.seats, turns.legal = found.rows, found.seats, found.legal
            turns.observations = m.NIL if found.observations is None else found.observations
        if found.afterstates is not None:
            turns.afterstates = found.afterstates
        if found.finals is not None:
            turns.finals = found.finals
        turns.outcomes = found.outcomes
        turns.truncated = found.truncated
        turns.faults = found.faults
        return turns

    def _named(self, slots: Column, restarts: Column) -> Column:
        """Return a batch's slots, ascending; refuse unknown ones and those that act and restart."""
        for column in (slots, restarts):
            if not columns.every(column.view(np.uint32) < self.slots):  # a negative one is large
                raise ProtocolError("invalid", f"a slot is not in 0 .. {self.slots - 1}")
        named = np.zeros(self.slots, bool)
        named[slots] = True
        if len(restarts):
            if named[restarts].any():
                raise ProtocolError("invalid", "a slot is in `slots` and in `restarts`")
            named[restarts] = True
        return named.nonzero()[0].astype(np.int32)
