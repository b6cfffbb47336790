"""Rows of a study: a printed table, figure or result each, and the way to reproduce it."""

from __future__ import annotations

import importlib
import importlib.resources
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.statistics import Estimate, wilson
from dovetail_studies.curves import Picture
from dovetail_studies.means import mean

K = TypeVar("K")
STUDIES = ("rlgame", "amazons", "dominion", "tetris", "dots")
"""The five studies in the order of the summary."""
ACROSS = "across"
"""Name of the study in which all learners meet; no study printed its rows."""
BEST = "best"
"""Name of the study that compares each game's strongest learner with the literature."""
ALL = (*STUDIES, ACROSS, BEST)
SizeName = Literal["quick", "part", "study"]
SIZES: tuple[SizeName, ...] = ("quick", "part", "study")
"""Sizes, from the smallest to the study's own."""
SEEDS = 5
"""Default number of a row's trainings, each with its own seed."""

Unit = dict[str, Any]
"""JSON parameters of one piece of work, including its seed."""
Result = dict[str, Any]
"""JSON result of one piece of work."""
Done = list[tuple[Unit, Result]]


@dataclass(frozen=True)
class Size:
    """A size at which a row runs."""

    text: str
    """Format of the size in words: games, and the share of the study's. ``{seeds}`` stands for the
    number of seeds, the name of a value for its total over all seeds."""
    values: Mapping[str, int] = field(default_factory=dict)
    seeds: int = SEEDS
    """Default number of seeds."""

    def label(self, seeds: int) -> str:
        """Return the size in words, with its number of seeds.

        >>> Size("{games:,} of 5,000 games, {seeds}", {"games": 300}).label(5)
        '1,500 of 5,000 games, 5 seeds'
        """
        values = {name: seeds * value for name, value in self.values.items()}
        return self.text.format(seeds="1 seed" if seeds == 1 else f"{seeds} seeds", **values)


Verdict = Literal["agrees", "differs", "wide"]
WIDE = 3
"""Maximum ratio of the ends of a prediction interval for a figure without limits to agree."""
PARTS = 4
"""Divisor of a figure's range; an interval as wide as the quotient is too wide to agree."""
ANY = (-math.inf, math.inf)
"""Range of a figure without limits."""


@dataclass(frozen=True)
class Compared:
    """A figure of the study beside ours."""

    name: str
    study: float
    ours: Estimate
    more: float
    """Number of our trainings as a multiple of the study's, or of games if nothing learns; 0 for a
    figure without sampling error."""
    range: tuple[float, float] = ANY
    """Range of the figure's possible values."""
    seeds: Sequence[float] = ()
    """Figures of the trainings, if they are positive, unbounded and vary by factors. Their
    logarithms are then assumed to be normal, since an interval around the mean would reach below
    0."""

    @property
    def again(self) -> Estimate:
        """The 95 % prediction interval for one more experiment of the study's size.

        The interval of our mean locates the mean; a single training varies more.
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
        """``agrees`` if the study's figure lies in ``again``, else ``differs``; None if unknown.

        An interval that holds the study's figure is ``wide``, too wide to judge, if it covers a
        quarter of the range or touches an end of it (by a hundredth or more) or, without a range,
        reaches zero or more than three times its lower end. So is the interval of trainings that
        all gave one figure different from the study's, since their variation is then unknown.

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
"""Mark after one of our figures, by verdict."""


def signed(text: str, compared: Compared) -> str:
    """Return the text of one of our figures, marked if it agrees with the study's or differs."""
    return text + SIGNS.get(compared.verdict, "")


PERCENT = (0.0, 100.0)
"""Range of a share in percent."""


@dataclass(frozen=True)
class Drawn:
    """A row's table and its comparisons."""

    columns: Sequence[str]
    lines: Sequence[Sequence[str]]
    games: int
    """Number of games played for the table, including training."""
    distinct: str
    """Number of distinct games, in words."""
    compared: Sequence[Compared] = ()
    note: str = ""
    """Remark on the difference between the study's figures and ours."""
    curves: Picture | None = None
    """Learning curves, if the results contain them."""


@dataclass(frozen=True)
class Row:
    """One printed result of a study."""

    key: str
    title: str
    printed: str
    """Result of the study in short, with its section or table."""
    sizes: Mapping[SizeName, Size] = field(default_factory=dict)
    units: Callable[[Mapping[str, int], Sequence[int]], list[Unit]] | None = None
    """Function that returns the pieces of work of a size, each with a seed."""
    work: Callable[[Unit], Result] | None = None
    """Function that does one piece of work."""
    draw: Callable[[Done], Drawn] | None = None
    """Function that makes the table from all results."""
    missing: str = ""
    """Reason why nothing can be run; empty if the row can be."""
    sized: bool = True
    """True if the study states how much it ran; if not, the size ``study`` is our choice."""
    shares: str = ""
    """Row that owns the pieces of work, if several tables rest on them."""
    rests_on: tuple[str, str] | None = None
    """Study and row whose results of the study's size are read, if any."""

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
    """Remarks that apply to all rows of the study's page."""

    def row(self, key: str) -> Row:
        """Return a row by key.

        Raises:
            DovetailError: there is no such row.
        """
        for each in self.rows:
            if each.key == key:
                return each
        known = ", ".join(each.key for each in self.rows)
        raise DovetailError(f"study {self.name} has no row {key!r}; its rows are {known}")


def study(name: str) -> Study:
    """Return a study by name.

    Raises:
        DovetailError: there is no such study.
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
"""Functions ``units``, ``work`` and ``draw`` of a row."""


class _DeclaredRow(Struct, forbid_unknown_fields=True):
    key: str
    title: str
    printed: str
    missing: str = ""
    sized: bool = True
    shares: str = ""
    rests_on: tuple[str, str] | None = None
    sizes_of: str = ""
    """Earlier row with the same sizes."""
    sizes: dict[SizeName, Size] = {}


class _DeclaredStudy(Struct, forbid_unknown_fields=True):
    title: str
    text: str
    rows: list[_DeclaredRow]
    notes: dict[str, str] = {}
    """Remarks below tables, with names of figures in braces."""


@cache
def _read(name: str) -> _DeclaredStudy:
    file = importlib.resources.files(f"dovetail_studies.{name}").joinpath("rows.toml")
    return msgspec.toml.decode(file.read_bytes(), type=_DeclaredStudy)


def remark(name: str, key: str, **figures: Any) -> str:
    """Return a remark from the ``rows.toml`` of a study, with its figures."""
    return _read(name).notes[key].format(**figures)


def declared(name: str, code: Mapping[str, Code]) -> Study:
    """Return the study whose rows its ``rows.toml`` declares.

    Args:
        name: the name of the study and of its package.
        code: the code of the rows that can be run, by their keys.
    """
    found = _read(name)
    own = {row.key: row for row in found.rows}
    assert code.keys() == {row.key for row in found.rows if not row.missing}, name
    made = []
    for row in found.rows:
        units, work, draw = code.get(row.key, (None, None, None))
        sizes = own[row.sizes_of].sizes if row.sizes_of else row.sizes
        about = (row.missing, row.sized, row.shares, row.rests_on)
        made.append(Row(row.key, row.title, row.printed, sizes, units, work, draw, *about))
    return Study(name, found.title, made, found.text)


# -- parts of rows ---------------------------------------------------------------------------------

HEAD = ("", "study", "ours")
"""Head of a table of single figures."""


def every(values: Mapping[str, Any], seeds: Sequence[int], **choices: Iterable[Any]) -> list[Unit]:
    """Return a piece of work for each combination of choices and seed.

    >>> every({"games": 9}, [1], player=["a", "b"])
    [{'player': 'a', 'games': 9, 'seed': 1}, {'player': 'b', 'games': 9, 'seed': 1}]
    """
    return [
        {**dict(zip(choices, chosen, strict=True)), **values, "seed": seed}
        for chosen in itertools.product(*choices.values())
        for seed in seeds
    ]


def total(done: Done, key: str) -> int:
    """Return the sum of the results' values at a key."""
    return sum(int(result[key]) for _, result in done)


def share(wins: int, games: int) -> str:
    """Return a share with its Wilson interval, in percent.

    >>> share(9, 10)
    '90.0 % (59.6..98.2)'
    """
    return interval(wilson(wins, games), 1, 100, " %")


def interval(found: Estimate, digits: int = 1, scale: float = 1.0, sign: str = "") -> str:
    """Format a figure with its 95 % interval.

    A figure without an interval is in italics; a missing one is a dash.

    >>> interval(Estimate(0.5, 0.4, 0.6), 1, 100, " %")
    '50.0 % (40.0..60.0)'
    >>> interval(Estimate(2.0, 2.0, 2.0))
    '2.0 (every seed)'
    >>> interval(Estimate(2.0, math.nan, math.nan))
    '*2.0*'
    >>> interval(Estimate(math.nan, math.nan, math.nan))
    '-'
    """
    if math.isnan(found.value):
        return "-"
    # The "z" drops the minus before a zero.
    text = f"{scale * found.value:z,.{digits}f}{sign}"
    if not math.isfinite(found.high - found.low):
        return f"*{text}*"
    if found.low == found.high:
        return f"{text} (every seed)"
    return f"{text} ({scale * found.low:z,.{digits}f}..{scale * found.high:z,.{digits}f})"


class Figure(NamedTuple):
    """One of our figures that the study also prints."""

    name: str
    ours: Estimate
    digits: int = 0
    """Decimals of the study's figure; ours has at most one."""
    limits: tuple[float, float] = ANY
    """Range of possible values."""


def beside(
    name: str, figures: Sequence[Figure], study: Sequence[float], more: float
) -> tuple[list[list[str]], list[Compared]]:
    """Return the table rows of figures beside the study's, and the comparisons.

    Args:
        name: the name of the figures.
        figures: our figures.
        study: the study's figures, in the same order.
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
    """Return a figure with its interval clipped to the range of possible values."""
    if not found.known:  # one seed
        return found
    return Estimate(found.value, max(low, found.low), min(high, found.high))


def over(results: Sequence[Result], *keys: str | int) -> Estimate:
    """Return the mean over results of the number at ``keys``, with Student's interval.

    Null values are left out.
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
    """Return results grouped by their units' values at ``keys``, in the order of the units."""
    return by_what(done, lambda unit: tuple(unit[key] for key in keys))


def by_what(done: Done, what: Callable[[Unit], K]) -> dict[K, list[Result]]:
    """Return results grouped by a function of their units, in the order of the units."""
    found: dict[K, list[Result]] = {}
    for unit, result in done:
        found.setdefault(what(unit), []).append(result)
    return found
