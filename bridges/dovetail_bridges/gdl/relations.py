"""Relations: sets of facts, with an index for each kind of lookup, and the places of a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeGuard

from dovetail_bridges.gdl.kif import Term, variable

Fact = tuple[Term, ...]
Values = tuple[Term, ...]
Shape = tuple["Shape", ...] | int | None
"""The shape of a lookup: a tuple of shapes by position, ``None`` for a known value, or a number for
a value asked for, with equal numbers for equal values."""
Entry = Callable[[Fact], tuple[Values, Values] | None]


class Look:
    """A kind of lookup in a relation, compared by identity."""

    __slots__ = ("entry", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.entry = _entry(shape)
        """Splits a fact into the known values and those asked for; None for another shape."""


class Relation:
    """The facts of a relation, without its name."""

    __slots__ = ("_indexes", "facts")

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.facts: set[Fact] = set(facts)
        self._indexes: dict[Look, dict[Values, list[Values]]] = {}

    def add(self, fact: Fact) -> bool:
        """Add a fact; return whether it is new."""
        if fact in self.facts:
            return False
        self.facts.add(fact)
        for look, index in self._indexes.items():
            found = look.entry(fact)
            if found is not None:
                index.setdefault(found[0], []).append(found[1])
        return True

    def index(self, look: Look) -> dict[Values, list[Values]]:
        """Return the values asked for, by the known values."""
        found = self._indexes.get(look)
        if found is None:
            found = self._indexes[look] = {}
            entry = look.entry
            for fact in self.facts:
                values = entry(fact)
                if values is not None:
                    found.setdefault(values[0], []).append(values[1])
        return found


def _entry(shape: Shape) -> Entry:
    if _is_flat(shape):
        return _flat(shape)
    if isinstance(shape, tuple) and len(shape) == 1 and _is_flat(shape[0]):
        inner = _flat(shape[0])  # what `true` and `next` hold, mostly

        def wrapped(fact: Fact) -> tuple[Values, Values] | None:
            return inner(fact[0]) if isinstance(fact[0], tuple) else None

        return wrapped

    def entry(fact: Fact) -> tuple[Values, Values] | None:
        known: list[Term] = []
        asked: dict[int, Term] = {}
        if not take(shape, fact, known, asked):
            return None
        return tuple(known), tuple(asked[each] for each in sorted(asked))

    return entry


def _is_flat(shape: Shape) -> TypeGuard[tuple[int | None, ...]]:
    if not isinstance(shape, tuple) or any(isinstance(each, tuple) for each in shape):
        return False
    asked = [each for each in shape if each is not None]
    return len(set(asked)) == len(asked)


def _flat(shape: tuple[int | None, ...]) -> Entry:
    known = [at for at, each in enumerate(shape) if each is None]
    asked = [
        at for _, at in sorted((each, at) for at, each in enumerate(shape) if each is not None)
    ]
    size = len(shape)

    def entry(fact: Fact) -> tuple[Values, Values] | None:
        if len(fact) != size:
            return None
        return tuple([fact[at] for at in known]), tuple([fact[at] for at in asked])

    return entry


def take(shape: Shape, term: Term, known: list[Term], asked: dict[int, Term]) -> bool:
    """Record a term's known values and those asked for; return whether the shape fits."""
    if shape is None:
        known.append(term)
        return True
    if isinstance(shape, int):
        return asked.setdefault(shape, term) == term
    if isinstance(shape, tuple) and isinstance(term, tuple) and len(shape) == len(term):
        return all(take(s, t, known, asked) for s, t in zip(shape, term, strict=True))
    return False


Place = list[object]
"""The values of a rule's variables and constants, by number."""


class Slots:
    """A rule that is being ordered: its places, and the variables with values so far.

    Args:
        start: the first places, before those of the rule.
    """

    def __init__(self, start: Place) -> None:
        self._start = start
        self._slots: dict[Term, int] = {}
        self._bound: set[str] = set()

    def _slot(self, term: Term) -> int:
        found = self._slots.get(term)
        if found is None:
            found = self._slots[term] = len(self._start)
            self._start.append(term)
        return found

    def _is_bound(self, term: Term) -> bool:
        if isinstance(term, str):
            return not variable(term) or term in self._bound
        return all(map(self._is_bound, term))

    def _shaped(self, terms: Sequence[Term]) -> tuple[tuple[Shape, ...], list[Term], list[str]]:
        """Return the shape of terms for lookups, the known parts, and the variables asked for."""
        known: list[Term] = []
        asked: dict[str, int] = {}

        def shape(term: Term) -> Shape:
            if self._is_bound(term):
                known.append(term)
                return None
            if isinstance(term, str):
                return asked.setdefault(term, len(asked))
            return tuple(map(shape, term))

        return tuple(map(shape, terms)), known, list(asked)

    def _bind(self, names: Sequence[str]) -> list[int]:
        """Return the places of variables, which have values from here on."""
        self._bound.update(names)
        return [self._slot(each) for each in names]

    def _lookup(
        self, terms: Sequence[Term], looks: dict[Shape, Look]
    ) -> tuple[Look, Callable[[Place], Values], list[int]]:
        """Return the lookup of terms, its key, and the places of the values asked for."""
        shape, known, names = self._shaped(terms)
        asked = self._bind(names)
        return looks.setdefault(shape, Look(shape)), self._values(known), asked

    def _build(self, term: Term) -> Callable[[Place], Any]:
        """Return a function that builds a term from its variables' values."""
        return itemgetter(self._slot(term)) if isinstance(term, str) else self._values(term)

    def _values(self, terms: Sequence[Term]) -> Callable[[Place], Fact]:
        """Return a function that builds a tuple of terms from their variables' values."""
        if all(isinstance(each, str) for each in terms):
            slots = [self._slot(each) for each in terms]
            if not slots:
                return lambda place: ()
            if len(slots) == 1:
                only = slots[0]
                return lambda place: (place[only],)  # type: ignore[return-value]
            return itemgetter(*slots)
        parts = [self._build(each) for each in terms]
        return lambda place: tuple([part(place) for part in parts])
