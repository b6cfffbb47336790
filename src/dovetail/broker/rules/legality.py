"""The legality of actions (see ``Episode.acted``), and checks of turns.  Pure.

An environment may refuse an action, too (``Episode.refused``).
"""

from __future__ import annotations

import operator
import reprlib
from typing import Any

from msgspec.msgpack import Ext

from dovetail.protocol import codec, columns
from dovetail.protocol import legal as masks
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.messages import Breach, Legal, Spec, Turn, View
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Discrete, Space

MAX_SHOWN = 60
"""Characters that an error quotes of a value."""
LARGEST = 1e100
"""The largest size of a reward or score: no sum of these, nor its square, is infinite."""
FEW = 8
"""Seats up to which a list is searched as fast as a set."""


def sensible(number: float) -> bool:
    """Return whether a number may be a reward or score."""
    return -LARGEST <= number <= LARGEST


def check_views(turn: Turn, spec: Spec, seats: int) -> bool:
    """Check that a turn does not contradict itself; return whether any reward is nonzero.  Raises
    ProtocolError (``invalid``): it does."""
    to_act = turn.to_act
    if (turn.terminated or turn.truncated) is bool(to_act):
        raise _invalid("to_act must be empty if and only if terminated or truncated")
    acting: list[int] | set[int] = to_act if len(to_act) <= FEW else set(to_act)
    asked = len(to_act)
    seen = 0  # a bit for each seat
    earned = False
    for view in turn.seats:
        number = view.seat
        if number < 0 or number >= seats or seen >> number & 1:
            raise _invalid(f"seat {number} is foreign or twice in `seats`")
        seen |= 1 << number
        reward = view.reward
        if reward:
            if not -LARGEST <= reward <= LARGEST:
                raise _invalid(f"reward of seat {number} is {reward}, not a number up to 1e100")
            earned = True
        if number in acting:
            asked -= 1
            legal = view.legal
            if type(legal) is bytes:
                wrong = masks.problem(legal, spec.action_space(number))
                if wrong is not None:
                    raise _invalid(f"the mask of seat {number} {wrong}")
            elif legal is not None and not legal:
                raise _invalid(f"seat {number} is to act without a legal action")
    if asked:
        for number in set(to_act) - {view.seat for view in turn.seats}:
            raise _invalid(f"seat {number} is to act but not in `seats`")
        raise _invalid("a seat is twice in `to_act`")
    scores = turn.outcome
    if scores is not None and not (len(scores) == seats and all(map(sensible, scores))):
        raise _invalid(f"`outcome` needs a finite score, up to 1e100, for each of {seats} seats")
    blame = turn.blame
    if blame is not None and (to_act or not 0 <= blame < seats):
        raise _invalid(f"`blame` is {blame}; at the end it may name one of {seats} seats")
    return earned


def check(turn: Turn, spec: Spec) -> None:
    """Check a turn's rewards, legal actions and observations against the spec.  Raises
    ProtocolError (``invalid``): one is outside of its range or space."""
    for view in turn.seats:
        if spec.reward_range is not None:
            low, high = spec.reward_range
            if not low <= view.reward <= high:
                text = f"reward {view.reward:g} of seat {view.seat} is not in {low:g} .. {high:g}"
                raise _invalid(text)
        if view.legal is not None and view.seat in turn.to_act:
            actions = spec.action_space(view.seat)
            if (wrong := masks.outside(view.legal, actions)) is not None:
                raise _invalid(
                    f"legal action {wrong} of seat {view.seat} is not in {_short(actions)}"
                )
            if isinstance(view.legal, list) and not all(
                map(operator.lt, view.legal, view.legal[1:])
            ):
                raise _invalid(f"the legal actions of seat {view.seat} do not rise")
            _check_afterstates(view)
        observation = codec.opened(view.observation)
        if observation is None and view.seat not in turn.to_act:
            continue
        space = spec.observation_space(view.seat)
        if not space.contains(observation):
            seen = f"observation {_short(observation)}{_dtype(observation)} of seat {view.seat}"
            raise _invalid(f"{seen} is not in {_short(space)}")


def _check_afterstates(view: View) -> None:
    """Raise ProtocolError if a view has not one afterstate for each legal action."""
    legal = view.legal
    if legal is not None:
        count = masks.count(legal) if isinstance(legal, bytes) else len(legal)
        columns.values("afterstates", view.afterstates, count)


def unreadable(turn: Turn, seat: int) -> str:
    """Return why no one can use a seat's view of a turn, or an empty string."""
    try:
        for view in turn.seats:
            if view.seat == seat:
                for part in (view.observation, view.afterstates, view.scene):
                    codec.opened(part)
                _check_afterstates(view)
    except ProtocolError as error:
        return f"the view of seat {seat} in turn {turn.turn}: {error}"
    return ""


def allowed(action: Any, legal: Legal, space: Space) -> bool:
    """Return whether an action is legal; without a list or mask, all of the space is."""
    if isinstance(legal, list):
        return type(action) is int and action in legal
    if legal is not None:
        return type(action) is int and masks.in_mask(legal, action)
    return space.contains(action)


def chosen(number: int, legal: Legal, space: Space) -> int | None:
    """Return the legal action that a random number selects; None if they cannot be counted."""
    if legal is None:
        return space.start + number % space.n if isinstance(space, Discrete) else None
    if isinstance(legal, bytes):
        return masks.nth(legal, number % masks.count(legal))
    listed: list[Any] = legal  # in process these can be any integers
    return int(listed[number % len(legal)])


def replacement(price: Breach, seed: int, turn: int, legal: Legal, space: Space) -> int | None:
    """Return the random action that replaces a breach; None if the run draws none, or cannot."""
    return chosen(derive(seed, "breach", turn), legal, space) if price == "random" else None


def refusal(action: Any, legal: Legal, space: Space) -> str:
    """Return the error for an illegal action, which names a few legal ones, or their space."""
    if legal is None:
        return f"action {_short(action)}{_dtype(action)} is not legal; it is not in {_short(space)}"
    return f"action {_short(action)} is not legal; legal: {masks.shown(legal)}"


def _invalid(text: str) -> ProtocolError:
    return ProtocolError("invalid", text)


class _Brief(reprlib.Repr):
    """A short ``repr`` of values that can be as large as a frame."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxdict = 12
        self.maxstring = self.maxother = 2 * MAX_SHOWN

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, bytes | bytearray):
            return repr(x[:MAX_SHOWN])
        if isinstance(x, Ext):
            return f"Ext({x.code}, {bytes(memoryview(x.data)[:MAX_SHOWN])!r})"
        return super().repr_instance(x, level)


_brief = _Brief()


def _dtype(value: Any) -> str:
    """Return the dtype of an array for an error, which its ``repr`` often leaves out."""
    dtype = getattr(value, "dtype", None)
    return "" if dtype is None else f" of dtype {dtype}"


def _short(value: Any) -> str:
    text = " ".join(_brief.repr(value).split())
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
