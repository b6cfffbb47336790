"""Bottom-up evaluation of rules, the oracle of ``gdl.prover``, group by group of mutually dependent
relations.

Each rule becomes nested closures, one per condition: an index lookup or a test.  Recursive groups
are repeated with new facts only (semi-naive evaluation, as in Abiteboul, Hull and Vianu,
"Foundations of Databases", chapter 13).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from dovetail_bridges.gdl.budget import Budget, TooLarge
from dovetail_bridges.gdl.relations import Fact, Look, Place, Relation, Shape, Slots, Values
from dovetail_bridges.gdl.rules import BadRules, Literal, Rule, components, needs

Facts = dict[str, Relation]
Emit = Callable[[Fact], Any]
Step = Callable[[Facts, Place, Emit], None]

MOST_FACTS = 500_000
"""Maximum facts of a relation."""
MOST_ROUNDS = 5_000
"""Maximum repetitions of a group, each of which can nest terms deeper."""
ADDED = 256
"""Facts added between two checks of the clock."""
_NEW = "+"
"""The prefix of the name of a relation's newest facts, impossible in rules."""


class Program:
    """Rules in groups, ready to run.

    Args:
        rules: the rules from ``rules.read``.
        steps: the maximum conditions tried in a run; ``budget.MOST_STEPS`` if None.
    """

    def __init__(self, rules: Sequence[Rule], steps: int | None = None) -> None:
        self._looks: dict[Shape, Look] = {}
        self._left = Budget(steps)
        self._left.begin()
        self.groups: list[frozenset[str]] = []
        self._plans: list[tuple[list[_Plan], list[_Plan]]] = []
        heads: dict[str, list[Rule]] = {}
        for rule in rules:
            heads.setdefault(rule.head.relation, []).append(rule)
        for group in levels(rules):
            once: list[_Plan] = []
            again: list[_Plan] = []
            for rule in (rule for name in sorted(group) for rule in heads.get(name, ())):
                inside = [
                    at
                    for at, literal in enumerate(rule.body)
                    if literal.relation in group and not literal.negated
                ]
                if inside:
                    again += [_Plan(rule, self._looks, self._left, at) for at in inside]
                else:
                    once.append(_Plan(rule, self._looks, self._left))
            self.groups.append(frozenset(group))
            self._plans.append((once, again))

    def run(self, facts: Facts, groups: Iterable[int]) -> None:
        """Derive the relations of some groups, in the order given.

        Args:
            facts: the relations that they depend on, to which theirs are added.
            groups: indices of ``self.groups`` that have not been run with these facts.

            Raises:
                TooLarge: a relation has too many facts, or it takes too long.
        """
        self._left.begin()
        for number in groups:
            once, again = self._plans[number]
            for name in self.groups[number]:
                facts[name] = Relation()
            if not again:
                for plan in once:
                    plan.run(facts, _adding(facts[plan.head], plan.head, self._left))
            else:
                self._repeat(facts, once, again)

    def _repeat(self, facts: Facts, once: list[_Plan], again: list[_Plan]) -> None:
        names = {plan.head for plan in once + again}
        plans, rounds = once, 0
        while True:
            found: dict[str, Relation] = {name: Relation() for name in names}
            for plan in plans:
                old = facts[plan.head].facts
                plan.run(facts, _adding(found[plan.head], plan.head, self._left, old))
            if not any(each.facts for each in found.values()):
                break
            rounds += 1
            self._left.look()
            for name, new in found.items():
                facts[_NEW + name] = new
                for fact in new.facts:
                    facts[name].add(fact)
                if len(facts[name].facts) > MOST_FACTS:
                    raise _too_many(name)
            if rounds > MOST_ROUNDS:
                raise TooLarge(
                    f"the rules of {', '.join(sorted(names))} have no end: still new facts after "
                    f"{MOST_ROUNDS:,} rounds"
                )
            plans = again
        for name in names:
            facts.pop(_NEW + name, None)


def _adding(
    relation: Relation, name: str, left: Budget, old: AbstractSet[Fact] = frozenset()
) -> Emit:
    """Return a function that adds facts to a relation, except those of ``old``."""
    add, known = relation.add, relation.facts

    def emit(fact: Fact) -> None:
        left[0] -= 1
        if left[0] < 0:
            left.more()
        if fact not in old and add(fact):
            if len(known) > MOST_FACTS:
                raise _too_many(name)
            if not len(known) % ADDED:
                left.look()

    return emit


def _too_many(name: str) -> TooLarge:
    return TooLarge(f"`{name}` has more than {MOST_FACTS:,} facts; make the game smaller")


class _Plan(Slots):
    """A rule with its conditions in order of evaluation.

    Args:
        rule: the rule.
        looks: the lookups of the whole program, by shape.
        left: the budget.
        new: the condition that reads only the newest facts, and is tried first.
    """

    def __init__(
        self, rule: Rule, looks: dict[Shape, Look], left: Budget, new: int | None = None
    ) -> None:
        self.head = rule.head.relation
        self._looks, self._left = looks, left
        super().__init__([])
        makers: list[Callable[[Step], Step]] = []
        waiting = list(rule.body)
        if new is not None:
            makers.append(self._join(waiting.pop(new), _NEW))
        while waiting:
            left.look()
            literal = self._next(waiting)
            waiting.remove(literal)
            makers.append(self._test(literal) if literal.negated else self._join(literal))
        make = self._values(rule.head.atom[1:])

        def step(facts: Facts, place: Place, emit: Emit) -> None:
            emit(make(place))

        self._step: Step = step
        for maker in reversed(makers):
            self._step = maker(self._step)

    def run(self, facts: Facts, emit: Emit) -> None:
        """Call ``emit`` with each fact of the head, perhaps repeatedly."""
        self._step(facts, self._start.copy(), emit)

    def _next(self, left: Sequence[Literal]) -> Literal:
        """Return a test that is ready, or the condition with the fewest open values."""
        for literal in left:
            if literal.negated and literal.variables() <= self._bound:
                return literal
        open_ = [each for each in left if not each.negated]

        def cost(literal: Literal) -> tuple[bool, bool, int]:
            names = literal.variables()
            loose = len(names - self._bound)
            return loose > 0, not (names & self._bound or len(names) < len(literal.atom) - 1), loose

        return min(open_, key=cost)

    def _join(self, literal: Literal, prefix: str = "") -> Callable[[Step], Step]:
        look, key, asked = self._lookup(literal.atom[1:], self._looks)
        return _joining(prefix + literal.relation, look, key, asked, self._left)

    def _test(self, literal: Literal) -> Callable[[Step], Step]:
        if literal.relation == "distinct":
            left, right = (self._build(each) for each in literal.atom[1:])

            def differs(then: Step) -> Step:
                def step(facts: Facts, place: Place, emit: Emit) -> None:
                    if left(place) != right(place):
                        then(facts, place, emit)

                return step

            return differs
        name, make = literal.relation, self._values(literal.atom[1:])

        def absent(then: Step) -> Step:
            def step(facts: Facts, place: Place, emit: Emit) -> None:
                relation = facts.get(name)
                if relation is None or make(place) not in relation.facts:
                    then(facts, place, emit)

            return step

        return absent


def _joining(
    name: str,
    look: Look,
    key: Callable[[Place], Values],
    slots: Sequence[int],
    left: Budget,
) -> Callable[[Step], Step]:
    nothing: tuple[Values, ...] = ()

    def exists(then: Step) -> Step:
        def step(facts: Facts, place: Place, emit: Emit) -> None:
            left[0] -= 1
            if left[0] < 0:
                left.more()
            relation = facts.get(name)
            if relation is not None and key(place) in relation.index(look):
                then(facts, place, emit)

        return step

    def single(then: Step) -> Step:
        slot = slots[0]

        def step(facts: Facts, place: Place, emit: Emit) -> None:
            left[0] -= 1
            if left[0] < 0:
                left.more()
            relation = facts.get(name)
            if relation is not None:
                for (value,) in relation.index(look).get(key(place), nothing):
                    place[slot] = value
                    then(facts, place, emit)

        return step

    def several(then: Step) -> Step:
        def step(facts: Facts, place: Place, emit: Emit) -> None:
            left[0] -= 1
            if left[0] < 0:
                left.more()
            relation = facts.get(name)
            if relation is not None:
                for values in relation.index(look).get(key(place), nothing):
                    for slot, value in zip(slots, values, strict=True):
                        place[slot] = value
                    then(facts, place, emit)

        return step

    return exists if not slots else single if len(slots) == 1 else several


def levels(rules: Sequence[Rule]) -> list[set[str]]:
    """Return the groups of mutually dependent relations, the lowest first.

    Raises:
        BadRules: a relation depends on its own negation.
    """
    groups = components(needs(rules))
    number = {name: at for at, group in enumerate(groups) for name in group}
    for rule in rules:
        head = rule.head.relation
        for each in rule.body:
            if each.negated and number.get(each.relation) == number[head]:
                raise BadRules(f"`{head}` depends on its own negation, by `{each.relation}`")
    return groups
