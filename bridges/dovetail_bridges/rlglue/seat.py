"""A Dovetail game's seat as a legacy agent sees it: task spec, observations, actions, and the
consequences of illegal ones.

Pure.  RL-Glue has no notion of legal actions, so an illegal one is answered as an RL-Glue
environment would: with a penalty and the same observation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Spec
from dovetail.protocol.outside import LimitedNatural
from dovetail.protocol.spaces import Discrete
from dovetail_bridges.rlglue import taskspec
from dovetail_bridges.rlglue.layout import Layout, native
from dovetail_bridges.rlglue.taskspec import Arrays, Range, TaskSpec
from dovetail_bridges.rlglue.wire import Adt

Illegal = Literal["retry", "judge", "random", "nearest", "modulo"]
INDEX_SIZE = 100_000


class SeatOptions(Struct, frozen=True):
    """The form in which a legacy agent sees a game."""

    index: LimitedNatural = 0
    """The maximum number of observations to number in order of appearance; 0 shows them as they
    are."""
    mask: Literal["", "chars", "ints"] = ""
    """The form of the legal actions appended to observations: chars ``0`` and ``1``, ints, or
    none."""
    illegal: Illegal = "retry"
    """The price of an illegal action."""
    penalty: float | None = None
    """The reward for an illegal action; None takes the game's forfeit, its least reward, or -1, the
    first of these that exists."""
    tries: LimitedNatural = 20
    """Illegal answers to one decision after which the action goes to the broker as it is."""


def observe(words: Sequence[str]) -> tuple[int, Literal["", "chars", "ints"]]:
    """Return ``index`` and ``mask`` of ``SeatOptions`` from the words of ``--observe``.

    Raises:
        DovetailError: a word is unknown.

    >>> observe(["index:50", "mask"])
    (50, 'chars')
    """
    index, mask = 0, ""
    for word in words:
        name, _, size = word.partition(":")
        if name == "index" and (not size or size.isdigit()):
            index = int(size or INDEX_SIZE)
        elif word == "mask":
            mask = "chars"
        elif word == "mask-ints":
            mask = "ints"
        elif word != "plain":
            raise DovetailError(
                f"cannot observe {word!r}; expected plain, index, index:SIZE, mask or mask-ints"
            ) from None
    return index, mask  # type: ignore[return-value]


class Numbering:
    """Observations numbered in order of appearance."""

    def __init__(self, size: int, known: Sequence[bytes] = ()) -> None:
        self.size = size
        self.known = {each: number for number, each in enumerate(known)}

    def number(self, observation: Any) -> int:
        """Return the number of an observation.

        Raises:
            DovetailError: more than ``size`` observations have appeared.
        """
        key = codec.encode(observation)
        found = self.known.get(key)
        if found is None:
            if len(self.known) >= self.size:
                raise DovetailError(
                    f"the game showed more than {self.size:,} observations; give --observe "
                    "index:SIZE a larger SIZE"
                )
            found = self.known[key] = len(self.known)
        return found


class SeatView:
    """A seat of a game as a legacy agent sees it.

    Args:
        options: the form in which the agent sees the game.
        numbering: the numbering of observations if ``options.index`` is set; it outlives this seat.

    Raises:
        DovetailError: RL-Glue's arrays cannot carry the game's values.
    """

    def __init__(
        self, spec: Spec, seat: int, options: SeatOptions, numbering: Numbering | None = None
    ) -> None:
        self.options = options
        self.seat = seat
        self._numbering = numbering
        if not (spec.observation_spaces and spec.action_spaces):
            raise DovetailError("the game does not say what its observations or actions are")
        self._actions = native(spec.action_space(seat))
        self._observations: Layout | None = None
        self.size = self._actions.space.n if isinstance(self._actions.space, Discrete) else 0
        if numbering is None:
            self._observations = native(spec.observation_space(seat))
            shown = self._observations.arrays
        else:
            shown = Arrays([Range(0, numbering.size - 1)])
        if options.mask:
            if not self.size:
                raise DovetailError("a mask of legal actions needs a Discrete action space")
            if options.mask == "chars":
                shown = Arrays(shown.ints, shown.doubles, shown.chars + self.size)
            else:
                shown = Arrays(
                    [*shown.ints, *[Range(0, 1)] * self.size], shown.doubles, shown.chars
                )
        rewards = Range() if spec.reward_range is None else Range(*spec.reward_range)
        self.same = TaskSpec(
            shown,
            self._actions.arrays,
            rewards,
            spec.discount,
            extra=f"dovetail game={'_'.join(spec.name.split()) or 'unnamed'} seats={spec.seats}",
        )
        """The task spec without the seat's number, so that a learner can change seats without
        starting afresh."""
        self.penalty = _penalty(spec, options)

    @property
    def task_spec(self) -> str:
        """The task spec as text."""
        legal = f" legal={self.options.mask}" if self.options.mask else ""
        extra = f"{self.same.extra} seat={self.seat}{legal}"
        spec = self.same
        return taskspec.write(
            TaskSpec(spec.observations, spec.actions, spec.rewards, spec.discount, extra=extra)
        )

    def show(self, observation: Any, legal: Sequence[int] | None) -> Adt:
        """Return an observation for the legacy agent.

        Raises:
            DovetailError: the observation does not have the form of its space, or there are too
                many to number.
        """
        if self._numbering is not None:
            adt = Adt((self._numbering.number(observation),))
        else:
            assert self._observations is not None
            adt = self._observations.pack(observation)
        if not self.options.mask:
            return adt
        space = self._actions.space
        assert isinstance(space, Discrete)
        allowed = range(space.start, space.start + space.n) if legal is None else legal
        bits = bytearray(self.size)
        for action in allowed:
            bits[action - space.start] = 1
        if self.options.mask == "ints":
            return Adt([*adt.ints, *bits], adt.doubles, adt.chars)
        return Adt(adt.ints, adt.doubles, adt.chars + bytes(48 + bit for bit in bits))

    def pack(self, action: Any) -> Adt:
        """Return a native agent's action as an experiment sees it."""
        return self._actions.pack(action)

    def action(self, adt: Adt) -> Any:
        """Return a legacy agent's answer as a value of the game's action space.

        Raises:
            DovetailError: the answer lies outside the space, so the agent is broken.
        """
        try:
            action = self._actions.unpack(adt)
        except DovetailError as error:
            raise DovetailError(f"the legacy agent answered {error}") from None
        space = self._actions.space
        if isinstance(space, Discrete) and not space.contains(action):
            raise DovetailError(
                f"the legacy agent answered {adt}; its actions are 0 to {space.n - 1}"
            )
        return action


def replaced(view: SeatView, action: int, legal: Sequence[int], rng: Any) -> int:
    """Return the legal action that stands in for an illegal one, as ``options.illegal`` says."""
    if view.options.illegal == "random":
        return int(rng.choice(legal))
    if view.options.illegal == "nearest":
        return min(legal, key=lambda each: (abs(each - action), each))
    return legal[action % len(legal)]


def _penalty(spec: Spec, options: SeatOptions) -> float:
    if options.penalty is not None:
        return options.penalty
    if spec.forfeit is not None:
        return spec.forfeit[0]
    if spec.reward_range is not None and math.isfinite(spec.reward_range[0]):
        return spec.reward_range[0]
    return -1.0
