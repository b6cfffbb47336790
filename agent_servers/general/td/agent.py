"""TD(lambda) over afterstates with a small network.  It knows no game."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail.agent_servers.agent import BatchAgent, Decision, End, Seat
from dovetail.agent_servers.general.td.parameters import RLGameParameters, TDParameters
from dovetail.agent_servers.learning.network import Array, Linear, Network, size
from dovetail.agent_servers.learning.sampling import best
from dovetail.protocol.errors import DovetailError


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
    """What is remembered of an episode in progress: of a seat, or of both."""

    __slots__ = ("heard", "image", "old", "row", "seat", "sign", "trace")

    def __init__(self, image: Image | None, size: int, dtype: Any) -> None:
        self.image = image
        """How the rows of this episode are turned; None leaves them."""
        self.trace: Array = np.zeros(size, dtype)
        self.row: Array | None = None
        """After the last action, whose value is learned next."""
        self.old = 0.0
        """The value of ``row`` when it was chosen."""
        self.seat = 0
        """Whose action it was."""
        self.sign = 1
        """How errors reach back from ``row``: 1, or -1 to an action of the other seat, or 0 for not at all."""
        self.heard = [0.0, 0.0]
        """The rewards that each seat has been told of, with both seats in one trail."""


_Change = tuple[Array, float]
"""A direction of the weights, and how far."""


class _Turn(Struct):
    """A decision in the middle of a batch."""

    decision: Decision
    rows: Array
    first: int
    """Of its rows in the forward pass."""
    trail: _Trail


class TD(BatchAgent):
    """Learns the value of the positions that its actions lead to, by TD(lambda).

    ``V(s)`` is the return that a seat expects once its action has made the position ``s``.  It
    plays the action with the highest value; equal ones are drawn by lot, and while learning a
    share ``epsilon`` of all actions is uniformly random.  With ``s`` the position after the last
    action, ``s'`` the one after the best new action and ``r`` the reward in between, each
    decision does, with the weights ``w`` as they are now::

        e <- discount * trace_decay * e + gradient of V(s) by w
        w <- w + learning_rate * (r + discount * V(s') - V(s)) * e

    At the end the target is ``r`` alone.  Each seat of each episode has its own ``s`` and ``e``,
    all share ``w``: an agent with all seats has one network for both, two agents have one each.

    With the target ``opponent`` and the agent in both seats of a zero-sum game, ``s'`` is the position after the other
    seat's next action, and its value and the trace change their sign.

    Dutch traces (van Seijen et al. 2016) subtract from the gradient what the trace holds of it already; true
    online TD(lambda) of the same paper is exact for linear functions (``hidden`` 0, ``output`` linear),
    for a network it takes the gradient in place of the features.

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
        """Learnt from, each seat's counted, or both as one with the target ``opponent``."""
        self.steps = 0
        """Updates of the weights."""
        self.network: Network | Linear | None = None
        """What learns; made when the first decision shows the size of a row."""
        self.averaged: Network | Linear | None = None
        """What evaluates; ``network`` itself without averaging."""
        self._trails: dict[tuple[int, int], _Trail] = {}
        self._images: dict[int, list[Image]] = {}
        """By match: its symmetries."""
        self._scale: Array | None = None
        """Step sizes of the weights relative to ``learning_rate``; None if all are 1."""
        self._prepare()

    def init(self, seat: Seat) -> None:
        if not seat.spec.afterstates:
            raise DovetailError(
                f"{self.name} needs afterstates; environment {seat.spec.name} offers none"
            )
        limits = seat.spec.reward_range
        if self.parameters.output == "tanh" and limits and max(-limits[0], limits[1]) > 1:
            raise DovetailError(
                f"{self.name} expects rewards between -1 and 1, but those of {seat.spec.name} reach from "
                f"{limits[0]:g} to {limits[1]:g}; set its option output to linear"
            )
        if self._both and seat.spec.seats != 2:
            raise DovetailError(
                f'{self.name}, option target: "opponent" needs two seats; {seat.spec.name} has '
                f"{seat.spec.seats}"
            )
        if self.parameters.symmetric:
            found = seat.spec.symmetries
            self._images[seat.match] = [np.array(each.observation) for each in found]

    def step_batch(self, decisions: Sequence[Decision]) -> list[int]:
        """Answer decisions by one forward pass; what they teach is added up and applied after it."""
        evaluated = [each for each in decisions if each.mode == "evaluate"]
        learned = [each for each in decisions if each.mode != "evaluate"]
        if not evaluated:
            return self._learn_from(learned)
        if not learned:
            return self._evaluate(evaluated)
        actions = {
            id(each): action
            for kind, answer in ((evaluated, self._evaluate), (learned, self._learn_from))
            for each, action in zip(kind, answer(kind), strict=True)
        }
        return [actions[id(each)] for each in decisions]

    def _evaluate(self, decisions: list[Decision]) -> list[int]:
        rows = [self._rows(each) for each in decisions]
        assert self.averaged is not None
        values = self.averaged.values(rows[0] if len(rows) == 1 else np.concatenate(rows))
        actions, first = [], 0
        for decision, each in zip(decisions, rows, strict=True):
            assert decision.legal is not None
            chosen = best(values[first : first + len(each)], decision.rng)
            actions.append(decision.legal[chosen])
            first += len(each)
        return actions

    def _learn_from(self, decisions: list[Decision]) -> list[int]:
        turns: list[_Turn] = []
        parts: list[Array] = []
        first = 0
        for decision in decisions:
            rows = self._rows(decision)
            trail = self._trails.get(self._key(decision.episode, decision.seat.seat))
            image = self._image(decision) if trail is None else trail.image
            if image is not None:
                rows = rows[:, image]
            if trail is None:
                trail = _Trail(image, self._network.weights.size, self._network.dtype)
                self._trails[self._key(decision.episode, decision.seat.seat)] = trail
            turns.append(_Turn(decision, rows, first, trail))
            parts.append(rows)
            if trail.row is not None:
                parts.append(trail.row[None])
            first += len(rows) + (trail.row is not None)
        network = self._network
        if len(turns) == 1:
            values = network.values(turns[0].rows, turns[0].trail.row)
        else:
            values = network.values(np.concatenate(parts))
        answers = [self._turn(turn, values, network) for turn in turns]
        for _, change in answers:
            if change is not None:
                network.apply(*change)
        return [action for action, _ in answers]

    def _turn(
        self, turn: _Turn, values: list[float], network: Network | Linear
    ) -> tuple[int, _Change | None]:
        """Choose, and return the action and what the weights shall change by."""
        decision, trail, count = turn.decision, turn.trail, len(turn.rows)
        assert decision.legal is not None
        rng = decision.rng
        own = values[turn.first : turn.first + count]
        explore = rng.random() < self.parameters.epsilon
        greedy = best(own, rng)
        chosen = rng.randrange(count) if explore else greedy
        seat = decision.seat.seat
        sign = 1
        reward = decision.reward
        if self._both:
            trail.heard[seat] += reward
            if trail.seat != seat:
                sign = -1
                reward = -trail.heard[seat] - trail.heard[trail.seat]
        change = None
        if trail.row is not None:
            last = turn.first + count
            target = reward + sign * self.parameters.discount * own[greedy]
            change = self._learn(network, trail, last, target, values[last])
        trail.row = network.row(turn.first + chosen)
        trail.old, trail.seat, trail.sign = own[chosen], seat, 0 if explore else sign
        return decision.legal[chosen], change

    def end(self, end: End) -> None:
        key = self._key(end.episode, end.seat.seat)
        trail = self._trails.get(key)
        if trail is None or (self._both and trail.seat != end.seat.seat):
            return
        del self._trails[key]
        if end.interrupted or self.network is None or trail.row is None:
            return
        last = self.network.values(trail.row[None])[0]
        self.network.apply(*self._learn(self.network, trail, 0, end.reward, last))
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
            raise DovetailError(f"these bytes are not a saved {self.name} agent: {error}") from None
        expected = (
            size(found.inputs, found.parameters.units(found.inputs)) * 4 if found.inputs > 0 else 0
        )
        averaged = expected if found.parameters.averaging else 0
        if found.inputs < 0 or (len(found.weights), len(found.averaged)) != (expected, averaged):
            raise DovetailError(
                f"these bytes are not a saved {self.name} agent: {len(found.weights)} and "
                f"{len(found.averaged)} bytes of weights for {found.inputs} inputs and "
                f"{found.parameters.units(found.inputs)} hidden units"
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
        self._both = self.parameters.target == "opponent"
        self._set_rate()

    def _key(self, episode: int, seat: int) -> tuple[int, int]:
        return episode, -1 if self._both else seat

    def _set_rate(self) -> None:
        half_life = self.parameters.half_life
        waned = 1 + self.episodes / half_life if half_life else 1.0
        self._rate = self.parameters.learning_rate / waned

    @property
    def _network(self) -> Network | Linear:
        assert self.network is not None
        return self.network

    def _make(self, inputs: int) -> Network | Linear:
        p = self.parameters
        hidden = p.units(inputs)

        def make() -> Network | Linear:
            if not hidden:
                return Linear(inputs, p.output)
            return Network(inputs, hidden, p.activation, p.output, random.Random(self.seed))

        network = self.network = make()
        self.averaged = make() if p.averaging else network
        self._scale = None
        if p.rates == "fan-in":
            self._scale = np.full_like(network.weights, 1 / inputs)
            if hidden:
                self._scale[-hidden - 1 :] = 1 / hidden
        return network

    def _image(self, decision: Decision) -> Image | None:
        """Return how an episode is turned, drawn evenly among the symmetries and none."""
        images = self._images.get(decision.seat.match)
        if not images:
            return None
        number = decision.rng.randrange(len(images) + 1)
        return images[number - 1] if number else None

    def _average(self, network: Network | Linear) -> None:
        if self.averaged is not None and self.averaged is not network:
            # A plain mean at first, so that the weights of the beginning do not linger.
            mean = self.averaged.weights
            mean += (network.weights - mean) / min(self.parameters.averaging, self.episodes)

    def _learn(
        self, network: Network | Linear, trail: _Trail, index: int, target: float, last: float
    ) -> _Change:
        """Bring the trace up to a row of the last forward pass, and return the change of the weights.

        Args:
            network: that made the pass.
            trail: whose ``row`` is learned.
            index: of that row in the pass.
            target: what its value moves to.
            last: its value now.
        """
        error = target - last
        if not math.isfinite(error):
            raise DovetailError(
                f"{self.name} has diverged after {self.steps} steps; take a smaller learning_rate "
                f"than {self.parameters.learning_rate}"
            )
        gradient = network.gradient(index)
        trace, traces = trail.trace, self.parameters.traces
        np.multiply(trace, trail.sign * self._decay, out=trace)
        if traces == "replacing":
            np.copyto(trace, gradient, where=gradient != 0)
        elif traces == "accumulating":
            np.add(trace, gradient, out=trace)
        else:
            scaled = gradient if self._scale is None else gradient * self._scale
            held = self._rate * float(np.dot(trace, scaled))
            trace += (1 - held) * gradient
        self.steps += 1
        change = trace
        if traces == "true-online":
            moved = last - trail.old
            change = trace * (error + moved) - gradient * moved
            error = 1.0
        if self._scale is not None:
            change = change * self._scale
        return change, self._rate * error

    def _rows(self, decision: Decision) -> Array:
        """Return the afterstates of the legal actions, shape (actions, inputs)."""
        legal, rows = decision.legal, decision.afterstates
        name = decision.seat.spec.name
        if legal is None:
            raise DovetailError(
                f"{self.name} needs a list of legal actions; environment {name} gives none"
            )
        if rows is None:
            raise DovetailError(f"{self.name} needs afterstates; environment {name} sent none")
        found: Array = np.asarray(rows)
        network = self.network
        if network is None:
            network = self._make(found.size // max(1, len(found)))
        if len(found) != len(legal) or found.size != len(legal) * network.inputs or not legal:
            raise DovetailError(
                f"{self.name} needs {network.inputs} numbers for each of {len(legal)} legal actions; "
                f"the afterstates have shape {list(found.shape)}"
            )
        return found.reshape(len(legal), -1)


class TDBatch(TD):
    """The learner ``td`` for many episodes at once: decisions that wait together share one forward pass.

    What a batch teaches is added up and applied after it, so while it learns, results depend on which decisions
    come together; ``td`` plays one episode after another and repeats exactly.
    """

    name = "td-batch"
    capacity = 0


class RLGameTD(TD):
    """The setting of the RLGame study: ``td`` with its network, traces, rates and exploration.

    Half as many hidden units as inputs, sigmoids in both layers, discount 0.95, lambda 0.5, replacing traces,
    a tenth of the actions at random, and step sizes of one over each layer's inputs as its library has them.  The output
    is the logistic function stretched to -1..1, so that it reaches what a loser gets: rewards of the environment must lie
    there too (RLGame's ``win_reward = 1.0``).
    """

    name = "td-rlgame"
    Parameters = RLGameParameters


def _bytes(network: Network | Linear | None) -> bytes:
    return b"" if network is None else network.weights.astype("<f4").tobytes()
