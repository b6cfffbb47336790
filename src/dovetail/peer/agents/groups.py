"""The batched matches (groups) of a program's agents (SPEC.md, Stacked turns).

A ``VectorAgent`` is given the columns; any other agent is asked for one decision per row.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import GeneratorType
from typing import Any

import numpy as np

from dovetail.peer import coercion as given
from dovetail.peer.agents.agent import RESIGN, Agent, BatchAgent, Decision, End, Seat
from dovetail.peer.agents.vector import Ends, Rows, VectorAgent
from dovetail.peer.error_origin import FAILURES, Failure, failure
from dovetail.peer.registry import type_name
from dovetail.protocol import columns
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, ProtocolError
from dovetail.protocol.legal import unmask

Describe = Callable[[Failure, str], str]
Failed = Callable[[Agent, Failure], None]


class _Play:
    """A seat's episode in a slot."""

    __slots__ = ("episode", "memory", "mode", "rng", "seed")

    def __init__(self, agent: Agent, episode: int, seed: int, mode: m.Mode) -> None:
        self.episode = episode
        self.seed = seed
        self.mode = mode
        self.rng = random.Random(seed)
        self.memory = agent.Memory()


class Group:
    """An instance's seats in a group."""

    def __init__(self, agent: Agent, slots: int, describe: Describe, failed_at_end: Failed) -> None:
        self.agent = agent
        self.slots = slots
        self.seats: dict[int, Seat] = {}
        self.before = 0
        """The ``seq`` of the latest answered batch."""
        self._describe = describe
        self._failed_at_end = failed_at_end
        self._plays: dict[tuple[int, int], _Play] = {}
        self._memory: Any = None
        """The memory of a ``VectorAgent`` that takes columns."""
        self._opened = False

    def forget(self) -> None:
        """Reset the memories of the episodes in progress, since the agent's state was replaced."""
        self._opened = False
        for play in self._plays.values():
            play.memory = self.agent.Memory()

    def steps(self, message: m.AgentSteps) -> m.Actions:
        """Answer a batch of decisions.

        Raises:
            ProtocolError: ``invalid``: a column has the wrong type, length or contents.
        """
        rows = self._read(message)
        answer = m.Actions(
            *(message.match, message.instance, message.batch, rows.slots, rows.seats, rows.slots)
        )
        vector = self._vector()
        offered = None if rows.legal is None else [0]
        if vector is not None and not vector.needs.missing(offered, rows.afterstates):
            actions = np.asarray(vector.step_rows(rows, self._memory), np.int64)
            if actions.shape != rows.slots.shape:
                raise DovetailError(f"{actions.shape} actions for {len(rows.slots)} decisions")
            answer.actions = actions
            if "_reported" in self.agent.__dict__ and len(actions):
                answer.measures = [self.agent.reported(), *[{}] * (len(actions) - 1)]
            return answer
        begun = zip(
            *(rows.slots[rows.starts].tolist(), rows.seats[rows.starts].tolist()),
            *(rows.episodes.tolist(), rows.seeds.tolist()),
            strict=True,
        )
        for slot, seat, episode, seed in begun:
            self._plays[slot, seat] = _Play(self.agent, episode, seed, message.mode)
        self._answer(self._decisions(rows, message.clock), {*rows.starts.tolist()}, answer)
        return answer

    def _vector(self) -> VectorAgent | None:
        if not isinstance(self.agent, VectorAgent):
            return None
        if not self._opened:
            self._opened = True
            self._memory = self.agent.open_group(self.seats, self.slots)
        return None if self._memory is None else self.agent

    def _read(self, message: m.AgentSteps) -> Rows:
        slots = columns.read("slots", message.slots, np.int32, -1)
        count = len(slots)
        starts = columns.read("starts", message.starts, np.int32, -1)
        rewards = message.rewards
        legal = message.legal
        rows = Rows(
            slots,
            columns.read("seats", message.seats, np.int32, count),
            columns.read("turns", message.turns, np.int32, count),
            columns.values("observations", message.observations, count),
            None if legal is None else columns.read("legal", legal, np.uint8, count, -1),
            np.zeros(count) if rewards is None else columns.read("rewards", rewards, "f8", count),
            starts,
            columns.read("episodes", message.episodes, np.int64, len(starts)),
            columns.read("seeds", message.seeds, np.uint64, len(starts)),
            message.mode,
            message.afterstates,
        )
        if len(starts) and not 0 <= int(starts.min()) <= int(starts.max()) < count:
            raise ProtocolError("invalid", f"`starts` names a row beyond {count - 1}")
        if count and not 0 <= int(slots.min()) <= int(slots.max()) < self.slots:
            raise ProtocolError("invalid", f"`slots` names one beyond {self.slots - 1}")
        if not {*rows.seats.tolist()} <= self.seats.keys():
            raise ProtocolError("invalid", "`seats` has one that this instance does not hold")
        return rows

    def _decisions(self, rows: Rows, clock: m.Clock | None) -> list[Decision]:
        """Return the rows as single decisions."""
        found = []
        after = 0
        observations = rows.observations
        if observations is None:
            observations = [None] * len(rows.slots)
        elif isinstance(observations, np.ndarray) and observations.ndim == 1:
            observations = observations.tolist()  # numbers
        masks = None if rows.legal is None else [each.tobytes() for each in rows.legal]
        named = zip(
            *(rows.slots.tolist(), rows.seats.tolist(), rows.turns.tolist()),
            *(observations, rows.rewards.tolist()),
            strict=True,
        )
        for row, (slot, seat, turn, seen, reward) in enumerate(named):
            play = self._plays.get((slot, seat))
            if play is None:
                raise ProtocolError("invalid", f"no episode has begun in slot {slot}, seat {seat}")
            legal = None if masks is None else unmask(masks[row])
            decision = Decision(
                *(self.seats[seat], play.episode, turn, seen, legal, reward, play.mode, play.rng),
                clock=clock,
                seed=play.seed,
                memory=play.memory,
            )
            if rows.afterstates is not None and legal is not None:
                decision.afterstates = rows.afterstates[after : after + len(legal)]
                after += len(legal)
            found.append(decision)
        return found

    def _answer(self, decisions: list[Decision], first: set[int], answer: m.Actions) -> None:
        agent = self.agent
        slots = answer.slots.tolist()
        actions = np.full(len(decisions), columns.NO_NUMBER, np.int64)
        measures: list[dict[str, float]] = []
        refused = np.zeros(len(decisions), np.int32)
        chosen: list[Any] = []
        missing = ""
        for some in decisions[:1]:  # columns have it for all decisions, or for none
            missing = agent.needs.missing(some.legal, some.afterstates)
        if isinstance(agent, BatchAgent) and not missing:
            try:
                chosen = list(agent.step_batch(decisions))
                if len(chosen) != len(decisions):
                    raise DovetailError(f"{len(chosen)} answers to {len(decisions)} decisions")
            except FAILURES as error:
                chosen = [error] * len(decisions)
        for row, decision in enumerate(decisions):
            try:
                if missing:
                    game = decision.seat.spec.name
                    raise DovetailError(
                        f"{type_name(type(agent))} needs {missing}; {game} sent none"
                    )
                if isinstance(agent, BatchAgent):
                    action = chosen[row]
                else:
                    action = agent.start(decision) if row in first else agent.step(decision)
                if isinstance(action, FAILURES):
                    raise action
                if isinstance(action, GeneratorType):
                    action = _unasked(action)
            except FAILURES as error:
                where = f"{type(agent).__name__} in turn {decision.turn}"
                text = self._describe(error, where)
                answer.faults.append(m.Fault(slots[row], failure(error), text, decision.seat.seat))
                continue
            action = action if type(action) is int else given.number(action)
            if action is RESIGN:
                answer.resigns.append(row)
            elif type(action) is int and abs(action) < 1 << 63:
                actions[row] = action  # a number too large for a column is not legal anyway
            refused[row] = decision.refused
            if "_reported" in agent.__dict__:
                measures += [{}] * (row - len(measures))
                measures.append(agent.reported())
        answer.actions = actions
        if refused.any():
            answer.refused = refused
        if measures:
            answer.measures = measures + [{}] * (len(decisions) - len(measures))

    def ends(self, message: m.Ends) -> None:
        slots = columns.read("slots", message.slots, np.int32, -1)
        count = len(slots)
        seats = columns.read("seats", message.seats, np.int32, count)
        outcomes = message.outcomes
        if outcomes is not None:
            outcomes = columns.read("outcomes", outcomes, np.float64, count, -1)
        blames = message.blames
        if blames is not None:
            blames = columns.read("blames", blames, np.int32, count)
        ends = Ends(
            *(slots, seats, columns.read("episodes", message.episodes, np.int64, count)),
            columns.read("rewards", message.rewards, np.float64, count),
            columns.read("totals", message.totals, np.float64, count),
            columns.read("decisions", message.decisions, np.int32, count),
            message.reasons,
            *(outcomes, blames),
            columns.values("observations", message.observations, count),
            message.mode,
        )
        vector = self._vector()
        if vector is not None:
            self._tell(lambda: vector.end_rows(ends, self._memory))
            return
        for row, (slot, number) in enumerate(zip(slots.tolist(), seats.tolist(), strict=True)):
            play = self._plays.pop((slot, number), None)
            if number not in self.seats:
                continue
            outcome: list[float] | None = None
            if outcomes is not None and not np.isnan(outcomes[row]).all():
                outcome = outcomes[row].tolist()
            blame = None if blames is None or blames[row] < 0 else int(blames[row])
            end = End(
                self.seats[number],
                int(ends.episodes[row]),
                float(ends.rewards[row]),
                ends.observation(row),
                outcome,
                ends.reasons[row],
                blame,
                float(ends.totals[row]),
                int(ends.decisions[row]),
                ends.mode,
            )
            self._end(play, end)

    def _end(self, play: _Play | None, end: End) -> None:
        def tell() -> None:
            end.memory = self.agent.Memory() if play is None else play.memory
            self.agent.end(end)

        self._tell(tell)

    def _tell(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except FAILURES as error:
            self._failed_at_end(self.agent, error)

    def close(self) -> None:
        """End the episodes in progress, since the session is over."""
        for (_, number), play in sorted(self._plays.items()):
            seat = self.seats[number]
            self._end(
                play,
                End(seat, play.episode, 0.0, None, None, "disconnected", None, 0.0, 0, play.mode),
            )
        self._plays.clear()


def _unasked(generator: GeneratorType[Any, Any, Any]) -> Any:
    """Return the action of a generator ``step``; refuse one that asks ``Lookahead``."""
    try:
        generator.send(None)
    except StopIteration as end:
        return end.value
    generator.close()
    raise DovetailError("an agent that asks with Lookahead cannot play in a group")
