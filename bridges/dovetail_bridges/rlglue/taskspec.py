"""Task specs, RL-Glue's language for describing tasks: read and written, never evaluated."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import force_setattr

from dovetail.protocol.errors import DovetailError

VERSION = "RL-Glue-3.0"
MOST = 1_000_000
"""Maximum count of numbers in an observation or action."""
_TOKEN = re.compile(r"[()]|[^\s()]+")
_SPECIAL = {"NEGINF": -math.inf, "POSINF": math.inf, "UNSPEC": None}


class Range(Struct, frozen=True):
    """The least and the greatest value; None where the spec leaves an end open."""

    low: float | None = None
    high: float | None = None

    @property
    def finite(self) -> bool:
        """True if both ends are given and finite."""
        return all(end is not None and math.isfinite(end) for end in (self.low, self.high))


class Arrays(Struct, frozen=True):
    """The parts of an observation or action: each number's range and the count of chars."""

    ints: Sequence[Range] = ()
    doubles: Sequence[Range] = ()
    chars: int = 0

    def __post_init__(self) -> None:
        force_setattr(self, "ints", tuple(self.ints))
        force_setattr(self, "doubles", tuple(self.doubles))


class TaskSpec(Struct, frozen=True):
    """A task spec."""

    observations: Arrays = Arrays()
    actions: Arrays = Arrays()
    rewards: Range = Range()
    discount: float = 1.0
    problem: str = "episodic"
    extra: str = ""


def read(text: str) -> TaskSpec:
    """Return the contents of a task spec.

    Raises:
        DovetailError: the text is not a task spec of RL-Glue 3.0; the message names the place.
    """
    body, extra = _without_extra(text)
    tokens = _TOKEN.findall(body)
    if [token.upper() for token in tokens[:2]] != ["VERSION", VERSION.upper()]:
        shown = " ".join(tokens[:2])[:60] or "nothing"
        raise DovetailError(f"the task spec begins with {shown!r}; expected 'VERSION {VERSION}'")
    reader = _Reader(tokens[2:])
    reader.expect("PROBLEMTYPE")
    problem = reader.word().lower()
    reader.expect("DISCOUNTFACTOR")
    discount = reader.number()
    if discount is None or not 0 <= discount <= 1:
        raise DovetailError(f"the task spec has a discount of {discount}; expected 0 to 1")
    reader.expect("OBSERVATIONS")
    observations = reader.arrays("ACTIONS")
    actions = reader.arrays("REWARDS")
    rewards = Range()
    if reader.left:
        count, rewards = reader.range()
        if count != 1:
            raise DovetailError(f"the task spec has {count:g} rewards; expected one range")
    return TaskSpec(observations, actions, rewards, discount, problem, extra)


def _without_extra(text: str) -> tuple[str, str]:
    found = re.search(r"\bEXTRA\b", text, re.IGNORECASE)
    if found is None:
        return text, ""
    return text[: found.start()], text[found.end() :].strip()


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def left(self) -> bool:
        return self._at < len(self._tokens)

    def word(self) -> str:
        if not self.left:
            raise DovetailError("the task spec ends too early; expected EXTRA at its end")
        self._at += 1
        return self._tokens[self._at - 1]

    def expect(self, keyword: str) -> None:
        got = self.word()
        if got.upper() != keyword:
            raise DovetailError(f"the task spec has {got[:40]!r} where {keyword} should be")

    def number(self) -> float | None:
        word = self.word()
        if word.upper() in _SPECIAL:
            return _SPECIAL[word.upper()]
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise DovetailError(f"the task spec has {word[:40]!r} where a number should be")
        return value

    def range(self) -> tuple[int, Range]:
        """Read ``(low high)`` or ``(count low high)``."""
        self.expect("(")
        numbers = []
        while self.left and self._tokens[self._at] != ")":
            numbers.append(self.number())
        self.expect(")")
        if len(numbers) not in (2, 3):
            raise DovetailError(
                f"the task spec has a range of {len(numbers)} numbers; expected (low high) or "
                "(count low high)"
            )
        count = numbers.pop(0) if len(numbers) == 3 else 1.0
        if count is None or not (0 <= count < math.inf and count == int(count)):
            shown = "UNSPEC" if count is None else f"{count:g}"
            raise DovetailError(
                f"the task spec counts {shown} numbers of a range; expected a whole number, as in "
                "(3 0 1)"
            )
        return int(count), Range(*numbers)

    def arrays(self, end: str) -> Arrays:
        """Read the parts before the keyword ``end`` and the keyword, which the last list may
        lack."""
        found: dict[str, list[Range]] = {"INTS": [], "DOUBLES": []}
        chars = 0
        while self.left and (keyword := self.word().upper()) != end:
            if keyword == "CHARCOUNT":
                number = self.number()
                if number is None or not 0 <= number <= MOST or number != int(number):
                    raise DovetailError(f"the task spec has a CHARCOUNT of {number}")
                chars = int(number)
                continue
            if keyword not in found:
                raise DovetailError(
                    f"the task spec has {keyword[:40]!r} where INTS, DOUBLES, CHARCOUNT or {end} "
                    "should be"
                )
            while self.left and self._tokens[self._at] == "(":
                count, each = self.range()
                if len(found[keyword]) + count > MOST:
                    raise DovetailError(f"the task spec has more than {MOST:,} {keyword}")
                found[keyword] += [each] * count
        return Arrays(found["INTS"], found["DOUBLES"], chars)


def write(spec: TaskSpec) -> str:
    """Return a task spec as text."""
    discount, rewards = _number(spec.discount), _range(spec.rewards, 1, float_=True)
    parts = [
        f"VERSION {VERSION} PROBLEMTYPE {spec.problem} DISCOUNTFACTOR {discount}",
        f"OBSERVATIONS{_arrays(spec.observations)} ACTIONS{_arrays(spec.actions)}",
        f"REWARDS {rewards} EXTRA {spec.extra}",
    ]
    return " ".join(parts).strip()


def _arrays(arrays: Arrays) -> str:
    text = ""
    if arrays.ints:
        text += " INTS " + _ranges(arrays.ints, float_=False)
    if arrays.doubles:
        text += " DOUBLES " + _ranges(arrays.doubles, float_=True)
    if arrays.chars:
        text += f" CHARCOUNT {arrays.chars}"
    return text


def _ranges(ranges: Iterable[Range], *, float_: bool) -> str:
    groups = ((each, sum(1 for _ in same)) for each, same in groupby(ranges))
    return " ".join(_range(each, count, float_=float_) for each, count in groups)


def _range(each: Range, count: int, *, float_: bool) -> str:
    low, high = _number(each.low, float_=float_), _number(each.high, float_=float_)
    return f"({low} {high})" if count == 1 else f"({count} {low} {high})"


def _number(value: float | None, *, float_: bool = True) -> str:
    """Write the discount, or an end of a range."""
    if value is None:
        return "UNSPEC"
    if math.isinf(value):
        return "NEGINF" if value < 0 else "POSINF"
    return repr(float(value)) if float_ else str(int(value))
