"""Players that search with a linear evaluation and learn its weights by TD(0).

Two studies use it: Amazons (section 5) and dots and boxes. The value of a position is the sum of
weights times features; after each step the weights change by ``rate * (target - value) *
features``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Agent, Decision, End, Needs
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import LimitedNatural
from dovetail_agents.learning.options import LearnerOptions
from dovetail_agents.learning.saving import Counter, pack, unpack

Array = NDArray[Any]
LARGEST = 1e9
"""Bound of the weights, beyond which learning has diverged."""


class LinearTDParameters(LearnerOptions, frozen=True, forbid_unknown_fields=True):
    """Options shared by all such players."""

    target: Annotated[
        Literal["predicted", "actual", "leaf"],
        Meta(
            description="Target of a value: predicted, the value after the own action and the "
            "reply that the search expects; actual, the value at the seat's next decision, or "
            "the result; leaf, as actual, but of the positions at the end of the expected lines "
            "(TD-leaf)"
        ),
    ] = "predicted"
    snapshot_every: Annotated[
        LimitedNatural,
        Meta(description="Updates between snapshots of the weights; 0 for none."),
    ] = 50


class _Settings(Struct, forbid_unknown_fields=True):
    updates: Counter
    extra: dict[bytes, Counter]
    """The memory of a game's step size."""


class Considered(Struct, frozen=True):
    """A searched decision: the action, and the data for learning from it."""

    action: int
    features: Array
    """Features of the position or, for TD-leaf, of the end of the expected line."""
    value: float
    """Value of that position."""
    predicted: float | None = None
    """Value after the chosen action and the expected reply."""


class _Pending(Struct):
    """A seat's episode: the features of its last position, awaiting their target."""

    features: Array | None = None


P = TypeVar("P", bound=LinearTDParameters)


class LinearTD(Agent[P]):
    """Base class of players that choose by search and learn by TD(0)."""

    Memory = _Pending
    needs = Needs(seats=2, legal="list")
    capacity = 1
    answers: tuple[str, ...] = ("weights", "updates", "snapshots")
    """Messages that it answers."""

    def __init__(self, parameters: P | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.weights: Array = np.array(self.first_weights(), np.float64)
        self.updates = 0
        self.snapshots: list[Array] = []
        """Weights after every ``snapshot_every`` updates."""

    # -- what a game adds --------------------------------------------------------------------------

    @abstractmethod
    def first_weights(self) -> list[float]:
        """Return the initial weights."""

    @abstractmethod
    def consider(self, decision: Decision, action: int | None, *, learn: bool) -> Considered:
        """Search a position.

        Args:
            decision: the decision.
            action: an action to take instead of the search's choice, for exploration.
            learn: whether to return values for learning.
        """

    def value(self, features: Array) -> float:
        """Return the value of an unfinished position."""
        return float(self.weights @ features)

    @abstractmethod
    def result(self, end: End) -> float | None:
        """Return the value of a finished game; None if a forfeit leaves it open."""

    @abstractmethod
    def beyond(self, end: End) -> float:
        """Return the value of the last position of a truncated game."""

    @abstractmethod
    def rate(self, features: Array) -> float:
        """Return the step size of the next update."""

    # -- the agent ---------------------------------------------------------------------------------

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
            last = decision.memory.features
            if last is not None:
                self._update(last, found.value - self.value(last))
            decision.memory.features = found.features
        return found.action

    def end(self, end: End) -> None:
        last = end.memory.features
        if last is None or end.interrupted:
            return
        if end.reason == "truncated":  # a seat that was not asked may not see the last position
            target = None if end.observation is None else self.beyond(end)
        else:
            target = self.result(end)
        if target is not None:
            self._update(last, target - self.value(last))

    def _update(self, features: Array, error: float) -> None:
        step = self.rate(features) * error * features
        if not np.isfinite(step).all() or np.abs(self.weights).max() > LARGEST:
            raise DovetailError(
                f"{self.name} has diverged after {self.updates} updates; use a smaller "
                f"learning_rate than {self.parameters.learning_rate}"
            )
        self.weights += step
        self.updates += 1
        every = self.parameters.snapshot_every
        if every and self.updates % every == 0:
            self.snapshots.append(self.weights.copy())

    def message(self, body: Any) -> Any:
        """Answer ``weights``, ``updates`` (their number) and ``snapshots``, with a row for every
        ``snapshot_every`` updates."""
        if body == "weights":
            return self.weights
        if body == "updates":
            return self.updates
        if body == "snapshots":
            return np.array(self.snapshots).reshape(-1, len(self.weights))
        *some, last = (f'"{name}"' for name in self.answers)
        names = f"{', '.join(some)} and {last}"
        raise DovetailError(f"{self.name} answers {names}, not {body!r}")

    def memory(self) -> dict[bytes, int]:
        """Return the data, other than weights, on which a game's step size depends."""
        return {}

    def remember(self, memory: dict[bytes, int]) -> None:
        """Restore the data that ``memory`` returned."""

    def save(self) -> bytes:
        """Return weights, counters, snapshots and parameters."""
        count = len(self.weights)
        snapshots = np.array(self.snapshots, np.float64).reshape(-1, count)
        arrays = {"weights": self.weights, "snapshots": snapshots}
        settings = _Settings(self.updates, self.memory())
        return pack(self.name, 1, self.parameters, self.seed, settings, arrays)

    def load(self, state: bytes) -> None:
        """Restore a saved agent, including its parameters."""
        saved = unpack(self.name, state, 1, type(self).Parameters, _Settings)
        weights = saved.array("weights", "<f8", self.weights.shape)
        snapshots = saved.array("snapshots", "<f8", (-1, len(self.weights)))
        self.parameters = saved.parameters  # type: ignore[assignment]
        self.seed = saved.seed
        self.weights[:] = weights
        self.snapshots = list(snapshots)
        self.updates = saved.settings.updates
        self.remember(saved.settings.extra)
