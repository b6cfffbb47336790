"""TD(lambda) over afterstates with a small network, for any game."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from dovetail.peer.agents.agent import BatchAgent, Decision, End, Needs, Seat, Thoughts
from dovetail.peer.agents.sampling import best
from dovetail.peer.agents.vector import Column, Ends, Rows, VectorAgent
from dovetail.protocol.errors import DovetailError
from dovetail_agents.general.td.parameters import RLGameParameters, TDParameters
from dovetail_agents.general.td.targets import (
    EpisodeMemory,
    Image,
    OpponentTarget,
    PendingValue,
    Target,
)
from dovetail_agents.learning.network import Array, Linear, Network, size
from dovetail_agents.learning.saving import Counter, become, pack, unpack
from dovetail_agents.learning.standard import Standard
from dovetail_agents.learning.step_size import StepSize
from dovetail_agents.learning.traces import TRACES

if TYPE_CHECKING:
    from dovetail.peer.vector_random import Twisters


class _Settings(Struct, forbid_unknown_fields=True):
    inputs: Counter
    """Length of a row; 0 before the first one."""
    episodes: Counter
    steps: Counter
    seen: Counter = 0
    """Number of rows in the statistics that standardise inputs."""


_Change = tuple[Array, float]
"""A direction of the weights, and the size of the step."""


class _Turn(Struct):
    """A decision in the middle of a batch."""

    decision: Decision
    rows: Array
    first: int
    """Index of its first row in the forward pass."""
    pending: PendingValue


class _Slots:
    """A batch's memory: a generator and the last position for each seat."""

    def __init__(self, chance: Twisters, seats: int, size: int) -> None:
        self.chance = chance
        self.seats = seats
        self.pending: list[PendingValue | None] = [None] * size

    def of(self, place: int, network: Network | Linear) -> PendingValue:
        """Return the last position of a seat."""
        found = self.pending[place]
        if found is None:
            found = self.pending[place] = PendingValue(None, network.weights.size, network.dtype)
        return found


class TD(BatchAgent[TDParameters], VectorAgent[TDParameters]):
    """Learns from its games which positions are good, by TD(lambda); weak until it is trained.

    ``V(s)`` is the return that a seat expects once its action has made the position ``s``.  The
    agent plays the action with the highest value, with ties broken at random; while learning, a
    share ``epsilon`` of all actions is uniformly random.  With ``s`` the position after the last
    action, ``s'`` the one after the best new action, ``r`` the reward in between and ``w`` the
    current weights, each decision does::

        e <- discount * trace_decay * e + gradient of V(s) by w
        w <- w + learning_rate * (r + discount * V(s') - V(s)) * e

    At the end the target is ``r`` alone; if the episode was truncated, ``V`` of the last
    observation replaces the missing future. Each seat of each episode has its own ``s`` and ``e``,
    and all share ``w``: an agent in all seats has one network for them, two agents have one each.

    With the target ``opponent`` and the agent in both seats of a zero-sum game, ``s'`` is the
    position after the other seat's next action, and its value and the trace change their sign.

    Dutch traces (van Seijen et al. 2016) subtract from the gradient the part that the trace already
    holds. True online TD(lambda) from the same paper is exact for linear functions (``hidden`` 0,
    ``output`` linear); with a network it uses the gradient in place of the features.

    After a random action the trace is cut: ``e`` becomes zero and restarts at the position that the
    action made, so that no later reward is credited to earlier positions.  The update just before
    still takes place, towards the best action instead of the random one (Watkins' Q(lambda));
    skipping it would lose the reward ``r``, and most of the data when epsilon is high.

    With ``symmetric`` each episode is learned as one of its images, so that knowledge from one side
    of a board applies to the others.

    In ``evaluate`` mode it plays the best action by averaged weights and nothing changes. The last
    step of an interrupted episode (cancelled, environment-failed, disconnected, crashed) is not
    learned from.
    """

    name = "td"
    Memory = EpisodeMemory
    needs = Needs(afterstates=True, legal="list")
    capacity = 1

    def __init__(self, parameters: TDParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.episodes = 0
        """Number of episodes learned from, counted for each seat; once for both with the target
        ``opponent``."""
        self.steps = 0
        """Number of updates of the weights."""
        self.network: Network | Linear | None = None
        """The network that learns; created when the first decision shows the length of a row."""
        self.averaged: Network | Linear | None = None
        """The network that evaluates; the same as ``network`` without averaging."""
        self._scale: Array | None = None
        """Step sizes of the weights relative to ``learning_rate``; None if all are 1."""
        self._standard: Standard | None = None
        """The means and deviations of inputs; None if they are taken as they are."""
        given = self.parameters
        self._decay = given.discount * given.trace_decay
        self._trace = TRACES[given.traces]
        self._target = OpponentTarget() if given.target == "opponent" else Target()
        self._step_size = StepSize(given.learning_rate, decay=given.decay_episodes)
        self._rate = given.learning_rate

    def init(self, seat: Seat) -> None:
        limits = seat.spec.reward_range
        if self.parameters.output == "tanh" and limits and max(-limits[0], limits[1]) > 1:
            raise DovetailError(
                f"{self.name} expects rewards between -1 and 1, but those of {seat.spec.name} "
                f"reach from {limits[0]:g} to {limits[1]:g}; set its option output to linear"
            )
        Needs(seats=self._target.seats).check(self.name, seat.spec)

    def step_batch(self, decisions: Sequence[Decision]) -> list[int]:
        """Choose actions with one forward pass; sum up the updates and apply them afterwards."""
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
        values = self.averaged.each(rows[0] if len(rows) == 1 else np.concatenate(rows)).tolist()
        actions, first = [], 0
        for decision, each in zip(decisions, rows, strict=True):
            assert decision.legal is not None
            chosen = best(values[first : first + len(each)], decision.rng)
            if decision.think:
                decision.thoughts = Thoughts([*map(float, values[first : first + len(each)])])
            actions.append(decision.legal[chosen])
            first += len(each)
        return actions

    def _learn_from(self, decisions: list[Decision]) -> list[int]:
        turns: list[_Turn] = []
        parts: list[Array] = []
        first = 0
        for decision in decisions:
            rows = self._rows(decision)
            slot = self._target.slot(decision.episode, decision.memory)
            pending = slot.pending
            if pending is None:
                image = self._image(decision)
                pending = PendingValue(image, self._network.weights.size, self._network.dtype)
                slot.pending = pending
            if pending.image is not None:
                rows = rows[:, pending.image]
            turns.append(_Turn(decision, rows, first, pending))
            parts.append(rows)
            if pending.row is not None:
                parts.append(pending.row[None])
            first += len(rows) + (pending.row is not None)
        network = self._network
        if len(turns) == 1:
            values = network.values(turns[0].rows, turns[0].pending.row)
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
        """Return the action chosen and the change of the weights."""
        decision, pending, count = turn.decision, turn.pending, len(turn.rows)
        assert decision.legal is not None
        rng, seat = decision.rng, decision.seat.seat
        own = values[turn.first : turn.first + count]
        explore = rng.random() < self.parameters.epsilon
        greedy = best(own, rng)
        chosen = rng.randrange(count) if explore else greedy
        if decision.think:
            text = "explores" if explore else ""
            decision.thoughts = Thoughts([*map(float, own)], text=text)
        reward, sign = self._target.earned(pending, seat, decision.reward)
        target = reward + sign * self.parameters.discount * own[greedy]
        change = self._taught(pending, target, turn.first + count, values, network)
        pending.row = network.row(turn.first + chosen)
        pending.old, pending.seat, pending.sign = own[chosen], seat, 0 if explore else sign
        return decision.legal[chosen], change

    def _taught(
        self,
        pending: PendingValue,
        target: float,
        last: int,
        values: Sequence[float],
        network: Network | Linear,
    ) -> _Change | None:
        """Return the change of the weights that moves the last position's value towards a target.

        Its row in the forward pass is ``last``. None if there is no last position.
        """
        if pending.row is None:
            return None
        self.report(td_error=abs(target - values[last]))
        return self._learn(network, pending, last, target, values[last])

    def end(self, end: End) -> None:
        pending = self._target.take(end.episode, end.seat.seat, end.memory)
        if pending is not None and not end.interrupted:
            cut = end.observation if end.reason == "truncated" else None
            self._finish(pending, end.reward, cut)

    def _finish(self, pending: PendingValue, target: float, cut: Any) -> None:
        """Learn from the end of an episode: its last reward, and the last observation if it was
        truncated."""
        network = self.network
        if network is None or pending.row is None:
            return
        if cut is not None:
            target += self.parameters.discount * self._beyond(network, pending, cut)
        value = network.values(pending.row[None])[0]
        network.apply(*self._learn(network, pending, 0, target, value))
        self.episodes += 1
        self._average(network)
        self._rate = self._step_size.at(self.episodes)

    def _beyond(self, network: Network | Linear, pending: PendingValue, cut: Any) -> float:
        """Return the value of the last observation; 0 if it is not shaped like an afterstate."""
        seen: Array = np.asarray(cut)
        if seen.dtype.kind not in "biuf" or seen.size != network.inputs:
            return 0.0
        row = self._standardised(seen.reshape(1, -1))
        return network.values(row if pending.image is None else row[:, pending.image])[0]

    # -- many rows at once -------------------------------------------------------------------------

    def open_group(self, seats: Mapping[int, Seat], slots: int) -> _Slots | None:
        given = self.parameters
        other = given.symmetric or given.standardise or given.target == "opponent"
        if find_spec("numba") is None or other:
            return None  # use ``step_batch``
        from dovetail.peer.vector_random import Twisters

        count = next(iter(seats.values())).spec.seats
        return _Slots(Twisters(slots * count), count, slots * count)

    def step_rows(self, rows: Rows, memory: _Slots) -> Column:
        """Choose actions and learn as ``step_batch`` would."""
        from dovetail_agents.learning.draws import explore_rows

        assert rows.legal is not None
        which = rows.places(memory.seats)
        memory.chance.begin(which[rows.starts], rows.seeds)
        bits = np.unpackbits(rows.legal, axis=1, bitorder="little")
        counts = bits.sum(axis=1, dtype=np.int64)
        after = self._checked(np.asarray(rows.afterstates), int(counts.sum()))
        greedy, chosen = np.empty_like(which), np.empty_like(which)
        explored = np.empty(len(which), bool)
        drawn = memory.chance.states, greedy, chosen, explored
        if rows.mode == "evaluate":
            assert self.averaged is not None
            explore_rows(which, counts, self.averaged.each(after), -1.0, *drawn)
            return np.nonzero(bits)[1][chosen]

        network = self._network
        for place in which[rows.starts].tolist():
            memory.pending[place] = None
        pendings = [memory.of(place, network) for place in which.tolist()]
        held = np.array([each.row is not None for each in pendings])
        # As in ``step_batch``: the rows of each decision, then its last position.
        before = np.cumsum(held) - held
        at = np.arange(len(after)) + np.repeat(before, counts)
        last = np.cumsum(counts) + before
        batch = np.empty((len(after) + int(held.sum()), network.inputs), network.dtype)
        batch[at] = after
        for k in np.flatnonzero(held).tolist():
            batch[last[k]] = pendings[k].row
        passed = network.run(batch)
        explore_rows(which, counts, passed[at], self.parameters.epsilon, *drawn)
        values = passed.tolist()
        changes = []
        for pending, reward, best_at, chosen_at, last_at, explores in zip(
            *(pendings, rows.rewards.tolist(), at[greedy].tolist(), at[chosen].tolist()),
            *(last.tolist(), explored.tolist()),
            strict=True,
        ):
            target = reward + self.parameters.discount * values[best_at]
            changes.append(self._taught(pending, target, last_at, values, network))
            pending.row = network.row(chosen_at)
            pending.old, pending.sign = values[chosen_at], 0 if explores else 1
        for change in changes:
            if change is not None:
                network.apply(*change)
        return np.nonzero(bits)[1][chosen]

    def end_rows(self, ends: Ends, memory: _Slots) -> None:
        for row, place in enumerate(ends.places(memory.seats).tolist()):
            pending, memory.pending[place] = memory.pending[place], None
            if pending is not None and not ends.interrupted(row):
                self._finish(pending, float(ends.rewards[row]), ends.beyond(row))

    def save(self) -> bytes:
        """Return weights, counters and parameters.  Episodes in progress are not saved."""
        # The seed determines untouched weights; leaving them out makes an agent that only evaluated
        # equal to a new one.
        network = self.network if self.steps else None
        settings = _Settings(0 if network is None else network.inputs, self.episodes, self.steps)
        arrays = {}
        if network is not None:
            arrays["weights"] = network.weights
            if self._standard is not None:
                settings.seen = self._standard.count
                arrays["mean"], arrays["squares"] = self._standard.mean, self._standard.squares
            if self.averaged is not None and self.averaged is not network:
                arrays["averaged"] = self.averaged.weights
        return pack(self.name, 1, self.parameters, self.seed, settings, arrays)

    def load(self, state: bytes) -> None:
        """Restore a saved agent, including its parameters."""
        saved = unpack(self.name, state, 1, type(self).Parameters, _Settings)
        found = saved.settings
        other = type(self)(saved.parameters, saved.seed)  # type: ignore[arg-type]
        if found.inputs:
            shape = (size(found.inputs, other.parameters.units(found.inputs)),)
            weights = saved.array("weights", "<f4", shape)
            averaged = saved.array("averaged", "<f4", shape) if other.parameters.averaging else None
            other._make(found.inputs).weights[:] = weights
            if other._standard is not None:
                other._standard.count = found.seen
                other._standard.mean = saved.array("mean", "<f8", (found.inputs,))
                other._standard.squares = saved.array("squares", "<f8", (found.inputs,))
            if averaged is not None and other.averaged is not None:
                other.averaged.weights[:] = averaged
        other.episodes, other.steps = found.episodes, found.steps
        other._rate = other._step_size.at(other.episodes)
        become(self, other)

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
        self._standard = Standard(inputs) if p.standardise else None
        self._scale = None
        if p.rates == "fan-in":
            self._scale = np.full_like(network.weights, 1 / inputs)
            if hidden:
                self._scale[-hidden - 1 :] = 1 / hidden
        return network

    def _image(self, decision: Decision) -> Image | None:
        """Return the image for an episode, drawn evenly among the symmetries and the identity."""
        symmetries = decision.seat.spec.symmetries
        if not self.parameters.symmetric or not symmetries:
            return None
        number = decision.rng.randrange(len(symmetries) + 1)
        return np.array(symmetries[number - 1].observation) if number else None

    def _average(self, network: Network | Linear) -> None:
        if self.averaged is not None and self.averaged is not network:
            # A plain mean at first, so that the initial weights do not linger.
            mean = self.averaged.weights
            mean += (network.weights - mean) / min(self.parameters.averaging, self.episodes)

    def _learn(
        self,
        network: Network | Linear,
        pending: PendingValue,
        index: int,
        target: float,
        last: float,
    ) -> _Change:
        """Add a row of the last forward pass to the trace, and return the change of the weights.

        Args:
            network: the network that made the pass.
            pending: the position whose value is learned.
            index: the index of its row in the pass.
            target: the target of its value.
            last: its current value.
        """
        error = target - last
        if not math.isfinite(error):
            raise DovetailError(
                f"{self.name} has diverged after {self.steps} steps; use a smaller learning_rate "
                f"than {self.parameters.learning_rate}"
            )
        gradient = network.gradient(index)
        np.multiply(pending.trace, pending.sign * self._decay, out=pending.trace)
        self._trace.join(pending.trace, gradient, self._rate, self._scale)
        self.steps += 1
        change, error = self._trace.change(pending.trace, gradient, error, last - pending.old)
        if self._scale is not None:
            change = change * self._scale
        return change, self._rate * error

    def _rows(self, decision: Decision) -> Array:
        """Return the afterstates of the legal actions, shape (actions, inputs)."""
        assert decision.legal is not None
        rows = self._checked(np.asarray(decision.afterstates), len(decision.legal))
        if self._standard is not None and decision.mode != "evaluate":
            self._standard.see(rows)
        return self._standardised(rows)

    def _standardised(self, rows: Array) -> Array:
        return rows if self._standard is None else self._standard(rows)

    def _checked(self, found: Array, actions: int) -> Array:
        """Return the afterstates of the legal actions as rows, shape (actions, inputs)."""
        network = self.network
        if network is None:
            network = self._make(found.size // max(1, len(found)))
        if len(found) != actions or found.size != actions * network.inputs or not actions:
            raise DovetailError(
                f"{self.name} needs {network.inputs} numbers for each of {actions} legal actions; "
                f"the afterstates have shape {list(found.shape)}"
            )
        return found.reshape(actions, -1)


class TDBatch(TD):
    """The learner ``td`` for many episodes at once: simultaneous decisions share one forward pass.

    The updates of a batch are summed up and applied after it, so while it learns, results depend on
    which decisions arrive together; ``td`` plays one episode after another and is exactly
    reproducible.
    """

    name = "td-batch"
    capacity = 0


class RLGameTD(TD):
    """The setting of the RLGame study: ``td`` with its network, traces, rates and exploration.

    Half as many hidden units as inputs, sigmoids in both layers, discount 0.95, lambda 0.5,
    replacing traces, a tenth of the actions at random, and step sizes of one over each layer's
    inputs, as in its library. The output is the logistic function stretched to -1..1, so that it
    covers a loser's reward: the environment's rewards must lie there too (RLGame's ``win_reward =
    1.0``).
    """

    name = "td-rlgame"
    Parameters = RLGameParameters
