"""``VectorEnvironment``: many episodes of a game at once, arrays in and arrays out.

Its arrays are the columns of SPEC.md, Stacked turns.  In games of one seat there is a row for each
slot, and shapes match ``gymnasium.vector``: observations ``[slots, ...]``, actions ``[slots]``,
rewards ``[slots, 1]``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail.peer import coercion as given
from dovetail.peer.environments.environment import Environment, Spec, Turn
from dovetail.peer.error_origin import FAILURES, Failure, place
from dovetail.protocol import columns
from dovetail.protocol.errors import DovetailError, IllegalAction
from dovetail.protocol.legal import mask, problem
from dovetail.protocol.messages import Fault
from dovetail.protocol.spaces import Discrete

Column = NDArray[Any]
CONTINUES, TERMINATED, TRUNCATED, FAILED = range(4)
"""The values of ``Transitions.over``."""


class Transitions(Struct):
    """The results of the last transition of some slots."""

    rows: Column
    """int32 [rows]: the slot of each seat that must act, ascending."""
    seats: Column
    """int32 [rows]: the seat; seats of one slot are adjacent and ascending."""
    observations: Any
    """An array [rows, ...] or a list: the observation of each row."""
    legal: Column | None = None
    """uint8 [rows, bytes]: the bit mask of each row; None allows the whole action space."""
    rewards: Column | None = None
    """float64 [slots, seats]: the reward of each seat; None if all are 0."""
    over: Column | None = None
    """uint8 [slots]: ``CONTINUES``, ``TERMINATED``, ``TRUNCATED`` or ``FAILED``; None if all
    continue."""
    finals: Any = None
    """An array [ended, seats, ...] or a list of lists: the final observations of terminated and
    truncated slots."""
    outcomes: Column | None = None
    """float64 [ended, seats]: the scores, NaN if not scored; None if no episode is."""
    afterstates: Any = None
    """If requested: an array [legal actions, ...], row by row."""
    faults: list[Fault] = []
    """The faults of the failed slots."""
    truncated: Column | None = None
    """uint8 [ended, seats]: 1 if a limit truncated the seat, 0 if the rules ended it; None
    takes ``over`` for all seats of a slot."""


class VectorEnvironment(ABC):
    """Episodes of one game in numbered slots.

    Call ``start`` and ``step``, naming each slot at most once between them, then ``transitions``
    for the results.  Returned arrays must not change afterwards.

    Args:
        configuration: the environment's options, an instance of its ``Configuration``.
        slots: the number of episodes played at once.
    """

    def __init__(self, configuration: Any, slots: int) -> None:
        self.configuration = configuration
        self.slots = slots

    @abstractmethod
    def init(self) -> Spec:
        """Return what the scalar environment's ``init`` returns."""

    @abstractmethod
    def start(self, slots: Column, seeds: Column) -> None:
        """Begin an episode in some slots, dropping those in progress there.

        Args:
            slots: int32 [slots], ascending.
            seeds: uint64 [slots].
        """

    @abstractmethod
    def step(self, slots: Column, seats: Column, actions: Column) -> None:
        """Apply the actions of all seats that had to act in some slots.

        Args:
            slots: int32 [rows], ascending.
            seats: int32 [rows].
            actions: int64 [rows]; legal according to the masks.
        """

    @abstractmethod
    def transitions(self, slots: Column, *, afterstates: bool) -> Transitions:
        """Return the results of the last ``start`` or ``step`` of some slots: int32 [slots],
        ascending."""

    def cleanup(self) -> None:
        """Release resources, also after a failed ``init``.  No method is called after this."""


class Copies(VectorEnvironment):
    """Plays a copy of an environment in each slot."""

    def __init__(self, kind: type[Environment], configuration: Any, slots: int) -> None:
        super().__init__(configuration, slots)
        self._kind = kind
        self._copies: list[Environment] = []
        self._turns: dict[int, Turn | Fault] = {}
        self._spec = Spec()

    def init(self) -> Spec:
        for _ in range(self.slots):
            made = self._kind(self.configuration)
            self._copies.append(made)
            self._spec = made.init()
        return self._spec

    def start(self, slots: Column, seeds: Column) -> None:
        for slot, seed in zip(slots.tolist(), seeds.tolist(), strict=True):
            try:
                self._turns[slot] = self._checked(self._copies[slot].start(seed))
            except FAILURES as error:
                self._turns[slot] = _fault(slot, error, "start")

    def step(self, slots: Column, seats: Column, actions: Column) -> None:
        given: dict[int, dict[int, int]] = {}
        for slot, seat, action in zip(
            slots.tolist(), seats.tolist(), actions.tolist(), strict=True
        ):
            given.setdefault(slot, {})[seat] = action
        for slot, joint in given.items():
            try:
                self._turns[slot] = self._checked(self._copies[slot].step(joint))
            except IllegalAction as error:
                self._turns[slot] = Fault(slot, "illegal", str(error), error.seat)
            except FAILURES as error:
                self._turns[slot] = _fault(slot, error, "step")

    def _checked(self, turn: Turn) -> Turn:
        """Check that a turn fits the columns, and return it."""
        if not isinstance(turn, Turn):
            raise DovetailError(f"the environment returned {type(turn).__name__}, not a Turn")
        if (turn.terminated or turn.truncated) is bool(turn.to_act):
            raise DovetailError("to_act must be empty if and only if terminated or truncated")
        numbers = [view.seat for view in turn.seats]
        if len({*numbers}) < len(numbers) or not all(0 <= n < self._spec.seats for n in numbers):
            raise DovetailError("a seat is foreign or twice in `seats`")
        if len({*turn.to_act}) < len(turn.to_act) or not {*turn.to_act} <= {*numbers}:
            raise DovetailError("`to_act` names a seat twice, or one that is not in `seats`")
        if turn.outcome is not None and len(turn.outcome) != self._spec.seats:
            raise DovetailError(f"`outcome` needs a score for each of {self._spec.seats} seats")
        for view in turn.seats:
            view.reward = float(view.reward)
            view.legal = given.legal(view.legal)
        if turn.outcome is not None:
            turn.outcome = [float(score) for score in turn.outcome]
        return turn

    def transitions(self, slots: Column, *, afterstates: bool) -> Transitions:
        seats = self._spec.seats
        rewards = np.zeros((len(slots), seats))
        over = np.zeros(len(slots), np.uint8)
        rows: list[tuple[int, int]] = []
        seen: list[Any] = []
        legal: list[bytes | None] = []
        after: list[Any] = []
        finals: list[list[Any]] = []
        outcomes: list[list[float]] = []
        cut: list[list[bool]] = []
        differ = False
        faults: list[Fault] = []
        for at, slot in enumerate(slots.tolist()):
            turn = self._turns[slot]
            if isinstance(turn, Turn):
                try:
                    wide, more = self._row(slot, turn, afterstates)
                except FAILURES as error:
                    turn = _fault(slot, error, "view")
            if isinstance(turn, Fault):
                over[at] = FAILED
                faults.append(turn)
                continue
            views = {view.seat: view for view in turn.seats}
            for number, view in views.items():
                rewards[at, number] = view.reward
            for number, bits in wide:
                rows.append((slot, number))
                seen.append(views[number].observation)
                legal.append(bits)
            after += more
            if not turn.to_act:
                over[at] = TERMINATED if turn.terminated else TRUNCATED
                finals.append([views[n].observation if n in views else None for n in range(seats)])
                outcomes.append(turn.outcome or [np.nan] * seats)
                flags = [views[n].truncated if n in views else None for n in range(seats)]
                cut.append([turn.truncated if flag is None else flag for flag in flags])
                differ = differ or any(flag is not None for flag in flags)
        named = np.array(rows, np.int32).reshape(-1, 2)
        found = Transitions(
            *(named[:, 0].copy(), named[:, 1].copy(), columns.stacked(seen)),
            self._masks(legal),
            rewards if rewards.any() else None,
            over if over.any() else None,
            faults=faults,
        )
        if finals:
            flat = columns.stacked([each for final in finals for each in final])
            if isinstance(flat, np.ndarray):
                found.finals = flat.reshape(len(finals), seats, *flat.shape[1:])
            elif flat is not None:
                found.finals = finals
            scores = np.array(outcomes, np.float64)
            found.outcomes = None if np.isnan(scores).all() else scores
            found.truncated = np.array(cut, np.uint8) if differ else None
        if after:
            found.afterstates = np.concatenate(after)
        return found

    def _row(
        self, slot: int, turn: Turn, afterstates: bool
    ) -> tuple[list[tuple[int, bytes | None]], list[Any]]:
        """Return the seats to act, each with its mask, and their afterstates."""
        views = {view.seat: view for view in turn.seats}
        wide: list[tuple[int, bytes | None]] = []
        after: list[Any] = []
        for number in sorted(turn.to_act):
            legal = views[number].legal
            if isinstance(legal, bytes):
                wrong = problem(legal, self._space(number))
                if wrong is not None:
                    raise DovetailError(f"the mask of seat {number} {wrong}")
            elif legal is not None:
                legal = mask(legal, _end(self._space(number)))
            wide.append((number, legal))
            if afterstates:
                after.append(np.asarray(self._copies[slot].afterstates(number)))
        return wide, after

    def _space(self, seat: int) -> Discrete:
        space = self._spec.action_space(seat)
        if not isinstance(space, Discrete):
            raise DovetailError("a group needs Discrete actions")
        return space

    def _masks(self, legal: list[bytes | None]) -> Column | None:
        if not legal or all(each is None for each in legal):
            return None
        space = self._space(0)
        width = columns.width(space)
        every = mask(range(max(0, space.start), _end(space)), _end(space)) if None in legal else b""
        padded = [(every if each is None else each).ljust(width, b"\0") for each in legal]
        found: Column = np.frombuffer(b"".join(padded), np.uint8).reshape(len(legal), -1)
        return found

    def cleanup(self) -> None:
        with ExitStack() as stack:
            for each in self._copies:
                stack.callback(each.cleanup)


def _end(space: Discrete) -> int:
    """Return the number after the highest action number."""
    return max(0, int(space.start) + int(space.n))


def _fault(slot: int, error: Failure, where: str) -> Fault:
    if isinstance(error, DovetailError):
        return Fault(slot, "crashed", str(error))
    text = " ".join(str(error).split())
    return Fault(
        slot,
        "crashed",
        f"the environment raised {type(error).__name__} in {where}: {text}"[:300] + place(error),
    )
