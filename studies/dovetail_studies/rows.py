"""A row of a study: one printed table, figure or result, and how it is run again."""

from __future__ import annotations

import importlib
import importlib.resources
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.statistics import Estimate, wilson
from dovetail_studies.curves import Picture
from dovetail_studies.means import mean

K = TypeVar("K")
STUDIES = ("rlgame", "amazons", "dominion", "tetris", "dots")
"""The five, in the order of the summary."""
ACROSS = "across"
"""The learners of all of them at one table: rows that no study printed."""
BEST = "best"
"""The strongest learner of each game, beside the studies' and the literature's best."""
ALL = (*STUDIES, ACROSS, BEST)
SizeName = Literal["quick", "part", "study"]
SIZES: tuple[SizeName, ...] = ("quick", "part", "study")
"""From the smallest to the study's own."""
SEEDS = 5
"""Trainings of a row by default, each with its own seed."""

Unit = dict[str, Any]
"""The JSON parameters of one piece of work; the seed is among them."""
Result = dict[str, Any]
"""The JSON result of one piece of work."""
Done = list[tuple[Unit, Result]]


@dataclass(frozen=True)
class Size:
    """A size at which a row runs."""

    text: str
    """In words: games, and the share of the study's. ``{seeds}`` stands for how many seeds there
    are, the name of a value for that value over all of them."""
    values: Mapping[str, int] = field(default_factory=dict)
    seeds: int = SEEDS
    """Seeds by default."""

    def label(self, seeds: int) -> str:
        """Return the size in words, with its number of seeds.

        >>> Size("{games:,} of 5,000 games, {seeds}", {"games": 300}).label(5)
        '1,500 of 5,000 games, 5 seeds'
        """
        values = {name: seeds * value for name, value in self.values.items()}
        return self.text.format(seeds="1 seed" if seeds == 1 else f"{seeds} seeds", **values)


Verdict = Literal["agrees", "differs", "wide"]
WIDE = 3
"""The ends of a prediction interval are at most this factor apart if a figure without limits is
to agree."""
PARTS = 4
"""A figure that agrees has an interval narrower than this part of its range."""
ANY = (-math.inf, math.inf)
"""The range of a figure that may have any value."""


@dataclass(frozen=True)
class Compared:
    """A figure of the study beside ours."""

    name: str
    study: float
    ours: Estimate
    more: float
    """How many times the study's trainings ours rest on, or its games where nothing learns; 0 for a
    figure that has no error of its own."""
    range: tuple[float, float] = ANY
    """The values that the figure may have."""
    seeds: Sequence[float] = ()
    """The figures of the trainings, of one that is above 0, has no upper limit, and varies by
    factors: its logarithms are taken to be normal, since an interval around the mean would reach
    below 0."""

    @property
    def again(self) -> Estimate:
        """Where the figure of one more experiment of the study's size lies in 95 of 100 cases.

        The interval of our mean says where the mean is; a single training varies by more.
        """
        ours, times = self.ours, math.sqrt(1 + self.more)
        if self.seeds:
            ours = mean([math.log(each) for each in self.seeds])
            half = times * (ours.high - ours.value)
            return Estimate(
                self.ours.value, math.exp(ours.value - half), math.exp(ours.value + half)
            )
        low = ours.value - times * (ours.value - ours.low)
        high = ours.value + times * (ours.high - ours.value)
        return Estimate(ours.value, max(low, self.range[0]), min(high, self.range[1]))

    @property
    def verdict(self) -> Verdict | None:
        """The verdict: whether the study's figure lies in ``again``; None without an interval.

        If it does, it is too wide to say where ``again`` covers a quarter of the range or touches
        an end of it (but by less than a hundredth), or, where there is no range, reaches zero or
        more than three times its lesser end.  So it is if all trainings gave one figure, and the
        study another: nothing is then known of how much they vary.

        >>> Compared("wins, %", 55.0, Estimate(50.0, 47.0, 53.0), 5, (0, 100)).verdict
        'agrees'
        >>> Compared("wins, %", 60.0, Estimate(50.0, 44.0, 56.0), 5, (0, 100)).verdict
        'wide'
        >>> Compared("moves", 8.6, Estimate(16.3, 12.0, 20.6), 5).verdict
        'wide'
        >>> Compared("wins, %", 99.9, Estimate(100.0, 100.0, 100.0), 5, (0, 100)).verdict
        'wide'
        >>> rows = (900.0, 2700.0, 8100.0)
        >>> Compared("rows", 60.0, mean(rows), 3, seeds=rows).verdict
        'wide'
        >>> Compared("rows", 10.0, mean(rows), 3, seeds=rows).verdict
        'differs'
        """
        if not (math.isfinite(self.ours.low) and math.isfinite(self.ours.high)):
            return None
        if self.more and self.ours.low == self.ours.high:
            return "agrees" if self.study == self.ours.value else "wide"
        again, (least, most) = self.again, self.range
        if not again.low <= self.study <= again.high:
            return "differs"
        if math.isfinite(most - least):
            width = again.high - again.low
            touches = again.low <= least or again.high >= most
            wide = width >= (most - least) / PARTS or (touches and width > (most - least) / 100)
        else:
            lesser, greater = sorted((abs(again.low), abs(again.high)))
            reaches = again.low <= 0 <= again.high or greater > WIDE * lesser
            wide = again.low < again.high and reaches
        return "wide" if wide else "agrees"


SIGNS: Mapping[Verdict | None, str] = {"agrees": " ≈", "differs": " ≠"}
"""The mark behind a figure of ours, by its verdict."""


def signed(text: str, compared: Compared) -> str:
    """Return a figure of ours in words, with a sign if it agrees with the study's or differs."""
    return text + SIGNS.get(compared.verdict, "")


PERCENT = (0.0, 100.0)
"""The range of a share in percent."""


@dataclass(frozen=True)
class Drawn:
    """A row's table and what it says."""

    columns: Sequence[str]
    lines: Sequence[Sequence[str]]
    games: int
    """Played for it, training included."""
    distinct: str
    """How many of them differ, in words."""
    compared: Sequence[Compared] = ()
    note: str = ""
    """On the difference between the study's figures and ours."""
    curves: Picture | None = None
    """How trainings came to these figures, where the results say so."""


@dataclass(frozen=True)
class Row:
    """One printed result of a study."""

    key: str
    title: str
    printed: str
    """The study's result in short, with its section or table."""
    sizes: Mapping[SizeName, Size] = field(default_factory=dict)
    units: Callable[[Mapping[str, int], Sequence[int]], list[Unit]] | None = None
    """The pieces of work of a size, each with a seed."""
    work: Callable[[Unit], Result] | None = None
    """Does one piece."""
    draw: Callable[[Done], Drawn] | None = None
    """Makes the table of all pieces."""
    missing: str = ""
    """Why there is nothing to run."""
    sized: bool = True
    """True if the study says how much it ran; if not, the size ``study`` is ours."""
    shares: str = ""
    """The row that the pieces of work belong to, where two tables rest on the same ones."""

    @property
    def runs(self) -> bool:
        """True if the row has code."""
        return self.work is not None


@dataclass(frozen=True)
class Study:
    """The rows of a study."""

    name: str
    title: str
    rows: Sequence[Row]
    text: str = ""
    """The remarks that hold for all rows of its page."""

    def row(self, key: str) -> Row:
        """Return a row.

        Raises:
            DovetailError: there is none of this name.
        """
        for each in self.rows:
            if each.key == key:
                return each
        known = ", ".join(each.key for each in self.rows)
        raise DovetailError(f"study {self.name} has no row {key!r}; its rows are {known}")


def study(name: str) -> Study:
    """Return a study.

    Raises:
        DovetailError: there is none of this name.
    """
    if name not in ALL:
        raise DovetailError(f"there is no study {name!r}; there are {', '.join(ALL)}")
    found = importlib.import_module(f"dovetail_studies.{name}.rows").STUDY
    assert isinstance(found, Study)
    return found


Code = tuple[
    Callable[[Mapping[str, int], Sequence[int]], list[Unit]],
    Callable[[Unit], Result],
    Callable[[Done], Drawn],
]
"""``units``, ``work`` and ``draw`` of a row."""


class _DeclaredRow(Struct, forbid_unknown_fields=True):
    key: str
    title: str
    printed: str
    missing: str = ""
    sized: bool = True
    shares: str = ""
    sizes_of: str = ""
    """An earlier row that has the same sizes."""
    sizes: dict[SizeName, Size] = {}


class _DeclaredStudy(Struct, forbid_unknown_fields=True):
    title: str
    text: str
    rows: list[_DeclaredRow]


def declared(name: str, code: Mapping[str, Code]) -> Study:
    """Return the study whose rows its ``rows.toml`` declares.

    Args:
        name: of the study, and of its package.
        code: of the rows that can be run, by their keys.
    """
    file = importlib.resources.files(f"dovetail_studies.{name}").joinpath("rows.toml")
    found = msgspec.toml.decode(file.read_bytes(), type=_DeclaredStudy)
    own = {row.key: row for row in found.rows}
    assert code.keys() == {row.key for row in found.rows if not row.missing}, name
    made = []
    for row in found.rows:
        units, work, draw = code.get(row.key, (None, None, None))
        sizes = own[row.sizes_of].sizes if row.sizes_of else row.sizes
        about = (row.missing, row.sized, row.shares)
        made.append(Row(row.key, row.title, row.printed, sizes, units, work, draw, *about))
    return Study(name, found.title, made, found.text)


# -- parts of rows ---------------------------------------------------------------------------------

HEAD = ("", "study", "ours")
"""The columns of a table of single figures."""


def every(values: Mapping[str, Any], seeds: Sequence[int], **choices: Iterable[Any]) -> list[Unit]:
    """Return a piece of work for each combination of choices, with each seed.

    >>> every({"games": 9}, [1], player=["a", "b"])
    [{'player': 'a', 'games': 9, 'seed': 1}, {'player': 'b', 'games': 9, 'seed': 1}]
    """
    return [
        {**dict(zip(choices, chosen, strict=True)), **values, "seed": seed}
        for chosen in itertools.product(*choices.values())
        for seed in seeds
    ]


def total(done: Done, key: str) -> int:
    """Return the sum of what the results have at a key."""
    return sum(int(result[key]) for _, result in done)


def share(wins: int, games: int) -> str:
    """Return a share with its interval by Wilson, in percent.

    >>> share(9, 10)
    '90.0 % (59.6..98.2)'
    """
    return interval(wilson(wins, games), 1, 100, " %")


def interval(found: Estimate, digits: int = 1, scale: float = 1.0, sign: str = "") -> str:
    """Return a figure with its 95 % interval; in italics if there is none.

    >>> interval(Estimate(0.5, 0.4, 0.6), 1, 100, " %")
    '50.0 % (40.0..60.0)'
    >>> interval(Estimate(2.0, 2.0, 2.0))
    '2.0 (every seed)'
    >>> interval(Estimate(2.0, math.nan, math.nan))
    '*2.0*'
    """
    # The "z" leaves no minus before a zero.
    text = f"{scale * found.value:z,.{digits}f}{sign}"
    if not math.isfinite(found.high - found.low):
        return f"*{text}*"
    if found.low == found.high:
        return f"{text} (every seed)"
    return f"{text} ({scale * found.low:z,.{digits}f}..{scale * found.high:z,.{digits}f})"


class Figure(NamedTuple):
    """A figure of ours that the study prints, too."""

    name: str
    ours: Estimate
    digits: int = 0
    """Of the study's; ours has one at most."""
    limits: tuple[float, float] = ANY
    """The values that it may have."""


def beside(
    name: str, figures: Sequence[Figure], study: Sequence[float], more: float
) -> tuple[list[list[str]], list[Compared]]:
    """Return the lines of figures beside the study's, and their comparisons.

    Args:
        name: of what they are figures of.
        figures: ours.
        study: the study's, in the same order.
        more: see ``Compared``.
    """
    lines, compared = [], []
    for figure, printed in zip(figures, study, strict=True):
        title = f"{name}: {figure.name}"
        ours = interval(figure.ours, min(figure.digits, 1))
        lines.append([title, f"{printed:,.{figure.digits}f}", ours])
        compared.append(Compared(title, printed, figure.ours, more, figure.limits))
    return lines, compared


def within(found: Estimate, low: float = 0.0, high: float = math.inf) -> Estimate:
    """Return a figure whose interval ends where the values that it may have end."""
    if not found.known:  # one seed
        return found
    return Estimate(found.value, max(low, found.low), min(high, found.high))


def over(results: Sequence[Result], *keys: str | int) -> Estimate:
    """Return the mean over results of the number at ``keys``, with Student's interval.

    Numbers that are null are left out.
    """
    values = []
    for each in results:
        found: Any = each
        for key in keys:
            found = found[key]
        if found is not None:
            values.append(float(found))
    return mean(values)


def by(done: Done, *keys: str) -> dict[tuple[Any, ...], list[Result]]:
    """Return results by what their units have at ``keys``, in the order of the units."""
    return by_what(done, lambda unit: tuple(unit[key] for key in keys))


def by_what(done: Done, what: Callable[[Unit], K]) -> dict[K, list[Result]]:
    """Return results by what a function says of their units, in the order of the units."""
    found: dict[K, list[Result]] = {}
    for unit, result in done:
        found.setdefault(what(unit), []).append(result)
    return found
