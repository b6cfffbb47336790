"""What players have in common that search with a linear evaluation and learn its weights by TD(0).

Two studies do so: Amazons (section 5) and dots and boxes.  The value of a position is the sum of weights times
features; after each step the weights move by ``rate * (target - value) * features``.
"""

from __future__ import annotations

import random
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.agent_servers.agent import Agent, Decision, End
from dovetail.protocol.errors import DovetailError

Array = NDArray[Any]
LARGEST = 1e9
"""A weight beyond this is no evaluation any more."""


class LinearTDParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of all such players."""

    learning_rate: Annotated[float, Meta(ge=0, le=10, description="Step size at first.")] = 0.1
    epsilon: Annotated[
        float, Meta(ge=0, le=1, description="Share of random actions while learning.")
    ] = 0.15
    target: Annotated[
        Literal["predicted", "actual", "leaf"],
        Meta(
            description="What a value moves to: predicted, the value after the own action and the reply "
            "that the search expects; actual, the value at the seat's next decision, or the result; "
            "leaf, as actual, but of the positions at the end of the expected lines (TD-leaf)"
        ),
    ] = "predicted"
    snapshot_every: Annotated[
        int, Meta(ge=0, description="Remember the weights after so many updates; 0 for never.")
    ] = 50


class LinearState(Struct, tag_field="agent", tag="dovetail.linear-td", forbid_unknown_fields=True):
    """What ``save`` writes, as MessagePack; numbers are little-endian doubles."""

    version: Literal[1]
    name: str
    parameters: dict[str, Any]
    weights: bytes
    snapshots: bytes
    updates: int
    extra: dict[bytes, int]


class Considered(Struct, frozen=True):
    """What a search says of a decision: the action it chose and what it needs to learn from it."""

    action: int
    features: Array
    """Of the position, or for TD-leaf of the one at the end of the line that is expected."""
    value: float
    """Of that position."""
    predicted: float | None = None
    """The value after the chosen action and the reply that is expected."""


class LinearTD(Agent):
    """Chooses by search, learns by TD(0)."""

    capacity = 1
    parameters: Any

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.weights: Array = np.array(self.first_weights(), np.float64)
        self.updates = 0
        self.snapshots: list[Array] = []
        """The weights after every ``snapshot_every`` updates."""
        self._last: dict[tuple[int, int], Array] = {}
        """By episode and seat: the features that wait for their target."""

    # -- what a game adds ------------------------------------------------------------------------------

    def first_weights(self) -> list[float]:
        """Return the weights to begin with."""
        raise NotImplementedError

    def consider(self, decision: Decision, action: int | None, *, learn: bool) -> Considered:
        """Search a position.

        Args:
            decision: what is asked.
            action: to be taken whatever the search says, drawn for exploration.
            learn: whether the values for learning are wanted.
        """
        raise NotImplementedError

    def value(self, features: Array) -> float:
        """Return the value of a position that is not over."""
        return float(self.weights @ features)

    def result(self, end: End) -> float:
        """Return the value of a game that is over."""
        raise NotImplementedError

    def rate(self, features: Array) -> float:
        """Return the step size of the update that comes."""
        raise NotImplementedError

    # -- the agent ---------------------------------------------------------------------------------------

    def step(self, decision: Decision) -> int:
        legal = decision.legal
        assert legal is not None
        learn = decision.mode == "learn"
        given = self.parameters
        rng = decision.rng
        explored = rng.choice(legal) if learn and rng.random() < given.epsilon else None
        found = self.consider(decision, explored, learn=learn)
        if learn and given.target == "predicted":
            assert found.predicted is not None
            self._update(found.features, found.predicted - found.value)
        elif learn:
            key = decision.episode, decision.seat.seat
            last = self._last.get(key)
            if last is not None:
                self._update(last, found.value - self.value(last))
            self._last[key] = found.features
        return found.action

    def end(self, end: End) -> None:
        last = self._last.pop((end.episode, end.seat.seat), None)
        if last is not None and not end.interrupted:
            self._update(last, self.result(end) - self.value(last))

    def _update(self, features: Array, error: float) -> None:
        step = self.rate(features) * error * features
        if not np.isfinite(step).all() or np.abs(self.weights).max() > LARGEST:
            raise DovetailError(
                f"{self.name} has diverged after {self.updates} updates; take a smaller learning_rate "
                f"than {self.parameters.learning_rate}"
            )
        self.weights += step
        self.updates += 1
        every = self.parameters.snapshot_every
        if every and self.updates % every == 0:
            self.snapshots.append(self.weights.copy())

    def message(self, body: Any) -> Any:
        """Answer ``weights`` and ``snapshots``; the latter one row per ``snapshot_every`` updates."""
        if body == "weights":
            return self.weights
        if body == "snapshots":
            return np.array(self.snapshots).reshape(-1, len(self.weights))
        raise DovetailError(f'{self.name} answers "weights" and "snapshots", not {body!r}')

    def memory(self) -> dict[bytes, int]:
        """Return what a game's rate remembers beside the weights."""
        return {}

    def remember(self, memory: dict[bytes, int]) -> None:
        """Take what ``memory`` returned."""

    def save(self) -> bytes:
        """Return weights, counters, snapshots and parameters."""
        state = LinearState(
            1,
            self.name,
            msgspec.to_builtins(self.parameters),
            self.weights.astype("<f8").tobytes(),
            np.array(self.snapshots, "<f8").tobytes(),
            self.updates,
            self.memory(),
        )
        return msgspec.msgpack.encode(state)

    def load(self, state: bytes) -> None:
        """Become the agent that was saved: its parameters take the place of this one's."""
        try:
            found = msgspec.msgpack.decode(state, type=LinearState)
            if found.name != self.name:
                raise ValueError(f"it is a {found.name}")
            parameters = msgspec.convert(found.parameters, type(self).Parameters)
            weights = np.frombuffer(found.weights, "<f8")
            snapshots = np.frombuffer(found.snapshots, "<f8").reshape(-1, len(self.weights))
            if len(weights) != len(self.weights):
                raise ValueError(f"{len(weights)} weights")
        except (msgspec.DecodeError, msgspec.ValidationError, ValueError) as error:
            raise DovetailError(f"these bytes are not a saved {self.name}: {error}") from None
        self.parameters = parameters
        self.weights[:] = weights
        self.snapshots = [row.copy() for row in snapshots]
        self.updates = found.updates
        self.remember(found.extra)
        self._last.clear()

    def cleanup(self) -> None:
        self._last.clear()


def pick(actions: list[int], values: list[float], rng: random.Random) -> int:
    """Return an action of the highest value; equal ones are drawn by lot."""
    best = max(values)
    return rng.choice([a for a, value in zip(actions, values, strict=True) if value == best])
