"""TD(lambda) over afterstates with a small network.  It knows no game."""

from __future__ import annotations

import math
import random
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.agent_servers.agent import Agent, Decision, End, Seat
from dovetail.agent_servers.network import Activation, Array, Network, Output, size
from dovetail.protocol.errors import DovetailError

NO_RESULT = frozenset(("cancelled", "environment-failed", "disconnected", "crashed"))
"""Endings that say nothing about the position in which they came."""


class TDParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``TD``."""

    hidden: Annotated[int, Meta(ge=1, le=4096, description="Units of the hidden layer.")] = 128
    learning_rate: Annotated[
        float, Meta(ge=0, le=10, description="Step size of the first episodes.")
    ] = 0.05
    half_life: Annotated[
        float,
        Meta(
            ge=0,
            description="After this many episodes the step size is half, after twice as many a "
            "third, and so on; 0 keeps it.",
        ),
    ] = 2000.0
    trace_decay: Annotated[
        float, Meta(ge=0, le=1, description="Lambda: how far back an error reaches.")
    ] = 0.7
    discount: Annotated[
        float, Meta(ge=0, le=1, description="What a reward is worth one decision earlier.")
    ] = 0.95
    epsilon: Annotated[
        float, Meta(ge=0, le=1, description="Share of random actions while learning.")
    ] = 0.7
    traces: Annotated[
        Literal["accumulating", "replacing"],
        Meta(
            description="Whether a gradient is added to the decayed trace, or takes its place "
            "wherever it is not zero."
        ),
    ] = "accumulating"
    averaging: Annotated[
        int,
        Meta(
            ge=0,
            description="Evaluate with weights averaged over about so many episodes (Polyak and "
            "Juditsky 1992), which are steadier than the latest; 0 takes the latest.",
        ),
    ] = 500
    symmetric: Annotated[
        bool,
        Meta(
            description="Learn each episode turned or mirrored by lot, if the environment says what "
            "changes nothing."
        ),
    ] = False
    activation: Annotated[
        Activation, Meta(description="What the hidden units compute of their sum.")
    ] = "relu"
    output: Annotated[
        Output,
        Meta(description="tanh if returns lie between -1 and 1, else linear."),
    ] = "tanh"


class _State(Struct, tag_field="agent", tag="dovetail.td", forbid_unknown_fields=True):
    """What ``save`` writes, as MessagePack."""

    version: Literal[1]
    parameters: TDParameters
    seed: int
    inputs: int
    weights: bytes
    averaged: bytes
    episodes: int
    steps: int


Image = NDArray[np.int64]
"""For each place of a symmetric row, the place of the row it comes from."""


class _Trail:
    """What a seat remembers of its episode in progress."""

    __slots__ = ("image", "row", "trace")

    def __init__(self, image: Image | None, row: Array, trace: Array) -> None:
        self.image = image
        """How the rows of this episode are turned; None leaves them."""
        self.row = row
        self.trace = trace


class TD(Agent):
    """Learns the value of the positions that its actions lead to, by TD(lambda).

    ``V(s)`` is the return that a seat expects once its action has made the position ``s``.  It
    plays the action with the highest value; equal ones are drawn by lot, and while learning a
    share ``epsilon`` of all actions is uniformly random.  With ``s`` the position after the last
    action, ``s'`` the one after the best new action and ``r`` the reward in between, each
    decision does, with the weights ``w`` as they are now::

        e <- discount * trace_decay * e + gradient of V(s) by w
        w <- w + learning_rate * (r + discount * V(s') - V(s)) * e

    At the end the target is ``r`` alone.  Each seat of each episode has its own ``s`` and ``e``,
    all share ``w``.

    After a random action the trace is cut: ``e`` becomes zero and begins anew at the position
    that the action made, so that no later reward is credited to what came before it.  The update
    just before still takes place, towards the best action instead of the random one (Watkins'
    Q(lambda)); to drop it would lose the reward ``r``, and most of the data when epsilon is high.

    With ``symmetric`` each episode is learned as one of its images, so that what is learned on one side
    of a board holds on the others.

    In ``evaluate`` mode it plays the best action by averaged weights and nothing changes.  An interrupted episode
    (cancelled, environment-failed, disconnected, crashed) teaches no last step.
    """

    name = "td"
    Parameters = TDParameters
    wants = ("afterstates",)
    capacity = 1

    parameters: TDParameters

    def __init__(self, parameters: TDParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.episodes = 0
        """Learnt from, each seat's counted."""
        self.steps = 0
        """Updates of the weights."""
        self.network: Network | None = None
        """What learns; made when the first decision shows the size of a row."""
        self.averaged: Network | None = None
        """What evaluates; ``network`` itself without averaging."""
        self._trails: dict[tuple[int, int], _Trail] = {}
        self._images: dict[int, list[Image]] = {}
        """By match: its symmetries."""
        self._prepare()

    def init(self, seat: Seat) -> None:
        if not seat.spec.afterstates:
            raise DovetailError(f"td needs afterstates; environment {seat.spec.name} offers none")
        limits = seat.spec.reward_range
        if self.parameters.output == "tanh" and limits and max(-limits[0], limits[1]) > 1:
            raise DovetailError(
                f"td expects rewards between -1 and 1, but those of {seat.spec.name} reach from "
                f"{limits[0]:g} to {limits[1]:g}; set its option output to linear"
            )
        if self.parameters.symmetric:
            found = seat.spec.symmetries
            self._images[seat.match] = [np.array(each.observation) for each in found]

    def step(self, decision: Decision) -> int:
        legal, rows = decision.legal, decision.afterstates
        if legal is None:
            raise DovetailError(
                f"td needs a list of legal actions; environment {decision.seat.spec.name} gives none"
            )
        if type(rows) is not np.ndarray:
            rows = self._array(rows, decision)
        network = self.network
        if network is None:
            network = self._make(rows.size // max(1, len(rows)))
        if len(rows) != len(legal) or rows.size != len(legal) * network.inputs or not legal:
            raise DovetailError(
                f"td needs {network.inputs} numbers for each of {len(legal)} legal actions; "
                f"the afterstates have shape {list(rows.shape)}"
            )
        rng = decision.rng
        if decision.mode == "evaluate":
            assert self.averaged is not None
            return legal[_best(self.averaged.values(rows), rng)]
        key = (decision.episode, decision.seat.seat)
        trail = self._trails.get(key)
        image = self._image(decision) if trail is None else trail.image
        if image is not None:
            rows = rows.reshape(len(legal), -1)[:, image]
        if trail is None:
            values = network.values(rows)
            last = 0.0
        else:
            values = network.values(rows, trail.row)
            last = values.pop()
        explore = rng.random() < self.parameters.epsilon
        best = _best(values, rng)
        chosen = rng.randrange(len(legal)) if explore else best
        row = network.row(chosen)
        if trail is None:
            self._trails[key] = _Trail(image, row, np.zeros_like(network.weights))
            return legal[chosen]
        target = decision.reward + self.parameters.discount * values[best]
        self._learn(network, trail.trace, len(rows), target - last)
        if explore:
            trail.trace.fill(0)
        trail.row = row
        return legal[chosen]

    def _image(self, decision: Decision) -> Image | None:
        """Return how an episode is turned, drawn evenly among the symmetries and none."""
        images = self._images.get(decision.seat.match)
        if not images:
            return None
        number = decision.rng.randrange(len(images) + 1)
        return images[number - 1] if number else None

    def end(self, end: End) -> None:
        trail = self._trails.pop((end.episode, end.seat.seat), None)
        if trail is None or end.reason in NO_RESULT or self.network is None:
            return
        last = self.network.values(trail.row[None])[0]
        self._learn(self.network, trail.trace, 0, end.reward - last)
        self.episodes += 1
        self._average(self.network)
        self._set_rate()

    def save(self) -> bytes:
        """Return weights, counters and parameters.  Episodes in progress are not among them."""
        # Untouched weights follow from the seed; leaving them out makes an agent that has only
        # been evaluated the same as a new one.
        network = self.network if self.steps else None
        state = _State(
            1,
            self.parameters,
            self.seed,
            0 if network is None else network.inputs,
            _bytes(network),
            _bytes(None if network is None or self.averaged is network else self.averaged),
            self.episodes,
            self.steps,
        )
        return msgspec.msgpack.encode(state)

    def load(self, state: bytes) -> None:
        """Become the agent that was saved: its parameters take the place of this one's."""
        try:
            found = msgspec.msgpack.decode(state, type=_State)
        except (msgspec.DecodeError, ValueError) as error:
            raise DovetailError(f"these bytes are not a saved td agent: {error}") from None
        expected = size(found.inputs, found.parameters.hidden) * 4 if found.inputs > 0 else 0
        averaged = expected if found.parameters.averaging else 0
        if found.inputs < 0 or (len(found.weights), len(found.averaged)) != (expected, averaged):
            raise DovetailError(
                f"these bytes are not a saved td agent: {len(found.weights)} and "
                f"{len(found.averaged)} bytes of weights for {found.inputs} inputs and "
                f"{found.parameters.hidden} hidden units"
            )
        self.parameters = found.parameters
        self.seed = found.seed
        self.episodes = found.episodes
        self.steps = found.steps
        self.network = self.averaged = None
        self._prepare()
        if found.inputs:
            network = self._make(found.inputs)
            network.weights[:] = np.frombuffer(found.weights, "<f4")
            if self.averaged is not None and self.averaged is not network:
                self.averaged.weights[:] = np.frombuffer(found.averaged, "<f4")

    def cleanup(self) -> None:
        self._trails.clear()

    def _prepare(self) -> None:
        self._trails.clear()
        self._decay = self.parameters.discount * self.parameters.trace_decay
        self._replacing = self.parameters.traces == "replacing"
        self._set_rate()

    def _set_rate(self) -> None:
        half_life = self.parameters.half_life
        waned = 1 + self.episodes / half_life if half_life else 1.0
        self._rate = self.parameters.learning_rate / waned

    def _make(self, inputs: int) -> Network:
        p = self.parameters

        def make() -> Network:
            rng = random.Random(self.seed)
            return Network(inputs, p.hidden, p.activation, p.output, rng)

        self.network = make()
        self.averaged = make() if p.averaging else self.network
        return self.network

    def _average(self, network: Network) -> None:
        if self.averaged is not None and self.averaged is not network:
            # A plain mean at first, so that the weights of the beginning do not linger.
            mean = self.averaged.weights
            mean += (network.weights - mean) / min(self.parameters.averaging, self.episodes)

    def _learn(self, network: Network, trace: Array, index: int, error: float) -> None:
        if not math.isfinite(error):
            raise DovetailError(
                f"td has diverged after {self.steps} steps; take a smaller learning_rate "
                f"than {self.parameters.learning_rate}"
            )
        gradient = network.gradient(index)
        np.multiply(trace, self._decay, out=trace)
        if self._replacing:
            np.copyto(trace, gradient, where=gradient != 0)
        else:
            np.add(trace, gradient, out=trace)
        network.apply(trace, self._rate * error)
        self.steps += 1

    @staticmethod
    def _array(rows: Any, decision: Decision) -> Any:
        if rows is None:
            raise DovetailError(
                f"td needs afterstates; environment {decision.seat.spec.name} sent none"
            )
        return np.asarray(rows)


def _best(values: list[float], rng: random.Random) -> int:
    """Return the index of the largest value; equal ones are drawn by lot."""
    best = max(values)
    if values.count(best) < 2:
        return values.index(best)
    return rng.choice([index for index, value in enumerate(values) if value == best])


def _bytes(network: Network | None) -> bytes:
    return b"" if network is None else network.weights.astype("<f4").tobytes()
