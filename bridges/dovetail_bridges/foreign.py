"""Environments of other libraries, copied for lookahead if copies are seen to work."""

from __future__ import annotations

import contextlib
import copy
import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
from msgspec import Meta, Struct

from dovetail.peer.environments.environment import C, Environment, Turn
from dovetail.peer.registry import one_line
from dovetail.protocol import codec, spaces
from dovetail.protocol.errors import DovetailError, NoLookahead
from dovetail_bridges import conversion


class Foreign(Environment[C]):
    """An environment of another library, with lookahead.

    At the first fork two copies take the same step.  If either fails, or if they differ, the
    episode is replayed for each copy instead.  A subclass has ``env``, and defines ``begin`` and
    ``advance``, which ``start`` and ``step`` call.
    """

    env: Any
    _copies: bool | None = None
    """True if copies work; None if that has not been tried."""
    _actions: Sequence[spaces.Space]
    """The action space of each seat."""

    def begin(self, seed: int) -> Turn:
        """Start an episode."""
        raise NotImplementedError

    def advance(self, actions: Mapping[int, Any]) -> Turn:
        """Apply the actions of the seats to act."""
        raise NotImplementedError

    def start(self, seed: int) -> Turn:
        self._seed = seed
        self._log: list[Mapping[int, Any] | int] = []
        """The episode's actions, and the seeds that forks set for chance."""
        return self._noted(self.begin(seed))

    def step(self, actions: Mapping[int, Any]) -> Turn:
        turn = self.advance(actions)
        self._log.append(dict(actions))
        return self._noted(turn)

    def _noted(self, turn: Turn) -> Turn:
        """Record the parts of a turn that forks need, before the host adds to it."""
        self._to_act = {view.seat: view.legal for view in turn.seats if view.seat in turn.to_act}
        self._shown = _shown(turn)
        return turn

    def fork(self, seat: int, seed: int) -> Self:
        """Return a copy of the episode, hidden information included; ``seed`` decides chance.

        Environments that do not draw from ``np_random`` keep their own chance.

        Raises:
            NoLookahead: it cannot be copied, and a replay from its seed differs.
        """
        made = copy.deepcopy(self)
        made._draw_from(seed)
        return made

    def _draw_from(self, seed: int) -> None:
        inner = self.env.unwrapped
        if isinstance(getattr(inner, "np_random", None), np.random.Generator):
            inner.np_random = np.random.default_rng(seed)
            self._log.append(seed)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if self._copies is None:
            self._copies = self._are_seen_to_step()
        return self._copied() if self._copies else self._played_again()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickled copy is played again from."""
        kept = ("configuration", "_seed", "_log", "_shown")
        return {each: vars(self)[each] for each in kept if each in vars(self)}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        if "_seed" in kept:
            vars(self).update(vars(self._played_again()))

    def cleanup(self) -> None:
        """Close the environment."""
        if hasattr(self, "env"):
            self.env.close()

    def _copied(self) -> Self:
        made = object.__new__(type(self))
        vars(made).update(copy.deepcopy(vars(self)))
        return made

    def _are_seen_to_step(self) -> bool:
        rng = random.Random(0)
        actions = {
            seat: self._some_action(seat, legal, rng) for seat, legal in self._to_act.items()
        }
        before = self.text()
        try:
            one, other = (self._copied().advance(actions) for _ in range(2))
            return _same(_shown(one), _shown(other)) and self.text() == before
        except Exception:
            return False

    def _some_action(self, seat: int, legal: Any, rng: random.Random) -> Any:
        space = self._actions[seat]
        numbers = conversion.numbers(legal, space)
        if numbers:
            return rng.choice(numbers)
        return conversion.from_value(space, conversion.zeros(space))

    def _played_again(self) -> Self:
        made = type(self)(self.configuration)
        made._copies = False
        try:
            made.init()
            turn = made.start(self._seed)
            for each in self._log:
                if isinstance(each, int):
                    made._draw_from(each)
                else:
                    turn = made.step(each)
        except Exception as error:
            with suppress(Exception):
                made.cleanup()
            raise NoLookahead(
                f"{type(self).name} can be neither copied nor replayed, so there is no "
                f"lookahead: {one_line(error)}"
            ) from None
        if not _same(_shown(turn), self._shown):
            made.cleanup()
            raise NoLookahead(
                f"{type(self).name} cannot be copied, and differed when it was replayed from its "
                "seed; there is no lookahead"
            )
        return made


class Unforkable(Environment[C]):
    """An environment of another library, or elsewhere, of which no copy can be made."""

    whose: ClassVar[str]
    """The library's environments, in errors."""

    def fork(self, seat: int, seed: int) -> Self:
        """Refuse.

        Raises:
            NoLookahead: always.
        """
        raise NoLookahead(f"{self.whose} offer no lookahead")


def _same(one: list[Any], other: list[Any]) -> bool:
    return codec.encode(one) == codec.encode(other)


def _shown(turn: Turn) -> list[Any]:
    """Return the seats' views in a comparable form."""
    return [
        *(turn.to_act, turn.terminated, turn.truncated, turn.outcome),
        *((view.seat, view.observation, view.legal, view.reward) for view in turn.seats),
    ]


class DictKeys(Struct, frozen=True, kw_only=True):
    """The options."""

    ignore: Annotated[
        tuple[str, ...],
        Meta(description="Keys of an observation that is a Dict, which are left out."),
    ] = ()
    rename: Annotated[
        dict[str, str], Meta(description="Other names for keys of an observation that is a Dict.")
    ] = {}

    @property
    def changed(self) -> bool:
        """True if any key is left out or has another name."""
        return bool(self.ignore or self.rename)

    def spaces(self, owner: str, given: Sequence[Any]) -> list[Any]:
        """Return Gymnasium's spaces, with the Dicts among them changed.

        Args:
            owner: the environment's name, for errors.
            given: the observation space of each seat.

        Raises:
            DovetailError: no space has a key, or two keys get one name.
        """
        from gymnasium import spaces

        dicts = [each for each in given if isinstance(each, spaces.Dict)]
        known = list(dict.fromkeys(str(key) for each in dicts for key in each.spaces))
        for key in (*self.ignore, *self.rename):
            if key not in known:
                there = f"there are {', '.join(known)}" if dicts else "it is not a Dict"
                raise DovetailError(f"{owner}: the observation has no key {key!r}; {there}")
        for each in dicts:
            if len(self.values(each)) < sum(str(key) not in self.ignore for key in each.spaces):
                raise DovetailError(f"{owner}, option 'rename': two keys get one name")
        return [
            spaces.Dict(self.values(each)) if isinstance(each, spaces.Dict) else each
            for each in given
        ]

    def values(self, seen: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the remaining values of a Dict, by their new names."""
        return {
            self.rename.get(str(key), str(key)): value
            for key, value in seen.items()
            if str(key) not in self.ignore
        }


T = TypeVar("T")


class ForeignCalls:
    """Calls with a match's own state of the global generators, and without output.

    The matches of a program share Python's and NumPy's global generators.  Each call restores the
    state that the match's last call left, so that matches do not affect each other.
    """

    def __init__(self) -> None:
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Seed the generators for an episode; ``seed`` has 32 bits."""
        self._plain = random.Random(seed).getstate()
        self._numpy = np.random.RandomState(seed).get_state()

    def __call__(self, method: Callable[[], T]) -> T:
        """Call a method of the library."""
        with self._generators(), contextlib.redirect_stdout(io.StringIO()):
            return method()

    @contextlib.contextmanager
    def _generators(self) -> Iterator[None]:
        plain, other = random.getstate(), np.random.get_state()
        random.setstate(self._plain)
        np.random.set_state(self._numpy)
        try:
            yield
        finally:
            self._plain, self._numpy = random.getstate(), np.random.get_state()
            random.setstate(plain)
            np.random.set_state(other)
