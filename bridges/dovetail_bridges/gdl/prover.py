"""Top-down evaluation of rules: derives only what a question needs.

A call is a relation with some known arguments.  Its answers are kept in a table, so that nothing is
derived twice in a state.  Recursive calls are repeated until they yield nothing new (linear
tabling: Zhou, Sato and Shen, "Linear Tabling Strategies and Optimizations", TPLP 2008).  A
relation may thus depend on its own negation as long as no atom does.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from dovetail_bridges.gdl.budget import Budget, TooLarge
from dovetail_bridges.gdl.kif import Term, show
from dovetail_bridges.gdl.relations import Look, Place, Relation, Shape, Slots, Values, take
from dovetail_bridges.gdl.rules import BadRules, Literal, Rule

FRAMES = 15_000
"""Maximum Python frames of a proof; rules that count to 1,000 need several thousand."""
MOST_TABLES = 300_000
"""Maximum tables that do not depend on the state; beyond, they are dropped."""
MOST_ROUNDS = 2_000
"""Maximum repetitions of a recursive call."""
OPEN = 3.0
"""The assumed number of values of an open argument; a known one divides the answers by its
root."""
FAR = 1 << 60


class _Deep:
    """Raises the process-wide recursion limit to ``FRAMES``; the last thread restores it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._threads:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, FRAMES))
            self._threads += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads -= 1
            if not self._threads:
                sys.setrecursionlimit(self._before)


deep = _Deep()


class _Answers:
    """The answers to a call."""

    __slots__ = ("answers", "at", "complete", "facts", "home", "looped", "name", "pending", "round")

    def __init__(self, home: dict[object, _Answers], name: object, at: int) -> None:
        self.home, self.name = home, name
        self.at = at
        """Its index among the incomplete tables, which never changes."""
        self.answers: dict[Values, None] = {}
        self.facts: Relation | None = None
        """The indexed answers, once they are complete and needed."""
        self.complete = False
        self.pending = False
        self.looped = False
        self.round = -1


class Proof:
    """The facts of a state, and all that has been derived from them.

    Args:
        given: the facts of the state and of the joint move.
        tables: the tables that depend on nothing, on the state, and on the joint move.
    """

    __slots__ = ("changes", "facts", "left", "low", "open", "round", "tables")

    def __init__(
        self,
        prover: Prover,
        given: Mapping[str, Relation],
        tables: Sequence[dict[object, _Answers]],
    ) -> None:
        self.facts = {**prover.facts, **given}
        self.tables = tables
        self.open: list[_Answers] = []
        """The incomplete tables, in the order of their first call."""
        self.low = FAR
        """The least index of an incomplete table that the current call depends on."""
        self.round = self.changes = 0
        self.left = prover.budget


Step = Callable[[Proof, Place], bool]
"""A function that tries the rest of a rule; it returns True if no more answers are needed."""
Maker = Callable[[Step], Step]


class Prover:
    """The rules of a game, prepared for questions.

    Args:
        rules: the rules from ``rules.read``.
        levels: 1 for a relation that depends on the state, 2 for one that depends on the joint
            move, 0 for others.
        steps: the maximum conditions tried for a question; ``budget.MOST_STEPS`` if None.
    """

    def __init__(
        self, rules: Iterable[Rule], levels: Mapping[str, int], steps: int | None = None
    ) -> None:
        self.levels = levels
        self.budget = Budget(steps)
        self.facts: dict[str, Relation] = {}
        """The facts of the description, by relation."""
        self.rules: dict[str, list[Rule]] = {}
        self.looks: dict[Shape, Look] = {}
        self.sample: Relation = Relation()
        """A sample state, by which conditions are ordered."""
        self.fixed: dict[object, _Answers] = {}
        self._calls: dict[tuple[str, tuple[bool, ...]], _Call] = {}
        self._lock = threading.RLock()
        for rule in rules:
            if rule.body:
                self.rules.setdefault(rule.head.relation, []).append(rule)
            else:
                self.facts.setdefault(rule.head.relation, Relation()).add(rule.head.atom[1:])

    def call(self, relation: str, known: tuple[bool, ...]) -> _Call:
        """Return the call of a relation with some known arguments."""
        found = self._calls.get((relation, known))
        if found is None:
            found = self._calls[relation, known] = _Call(self, relation, known)
        return found

    def ask(self, proof: Proof, relation: str, *arguments: Term | None) -> list[Values]:
        """Return the values of the arguments given as None for which the relation holds.

        Raises:
            TooLarge: it takes too long.
            BadRules: something depends on its own negation.
        """
        known = tuple(each is not None for each in arguments)
        key = tuple(each for each in arguments if each is not None)
        with self._lock, deep:
            if len(self.fixed) > MOST_TABLES:
                self.fixed.clear()
            self.budget.begin()
            try:
                return list(self.call(relation, known).solve(proof, key).answers)
            except RecursionError:
                raise TooLarge(
                    f"the rules of `{relation}` nest too deep; make the game smaller"
                ) from None
            except TooLarge as error:
                raise TooLarge(f"`{relation}`: {error}") from None
            finally:
                for table in proof.open:  # of a question that failed
                    table.home.pop(table.name, None)
                proof.open.clear()
                proof.low = FAR


class _Call:
    """A relation with some known arguments: its facts, and its rules in a suitable order."""

    def __init__(self, prover: Prover, relation: str, known: tuple[bool, ...]) -> None:
        self.relation = relation
        self.known = known
        self.ground = all(known)
        self.level = prover.levels.get(relation, 0)
        self._prover = prover
        self._clauses: list[_Clause] | None = None
        count = iter(range(len(known)))
        shape = tuple(None if each else next(count) for each in known)
        self._look = prover.looks.setdefault(shape, Look(shape))

    def solve(self, proof: Proof, key: Values) -> _Answers:
        """Return the answers to a call; they may be incomplete while the call is pending."""
        home = proof.tables[self.level]
        name = (self, key)
        table = home.get(name)
        if table is None:
            table = home[name] = _Answers(home, name, len(proof.open))
            proof.open.append(table)
            return self._answer(proof, table, key, fresh=True)
        if table.complete:
            return table
        if table.pending:
            table.looped = True
        elif table.round != proof.round:
            return self._answer(proof, table, key, fresh=False)
        proof.low = min(proof.low, table.at)
        return table

    def _answer(self, proof: Proof, table: _Answers, key: Values, *, fresh: bool) -> _Answers:
        outer, at = proof.low, table.at
        proof.low = at
        table.pending = True
        clauses = self._clauses
        if clauses is None:
            rules = self._prover.rules.get(self.relation, ())
            clauses = self._clauses = [_Clause(self._prover, each, self.known) for each in rules]
        facts = proof.facts.get(self.relation)
        if facts is not None:
            for values in facts.index(self._look).get(key, ()):
                table.answers[values] = None
        rounds = 0
        while True:
            before = proof.changes
            since = table.round = proof.round
            table.looped = False
            if not (self.ground and table.answers):
                for clause in clauses:
                    if clause.prove(proof, table, key):
                        table.answers[()] = None
                        proof.changes += 1
                        break
            if self.ground and table.answers:
                # Nothing can change it; what relied on its not being so is worked out again.
                table.complete, since = True, FAR
            if not fresh or (proof.low < at and not table.complete):
                break
            alone = len(proof.open) == at + 1
            if (alone and not table.looped) or proof.changes == before or table.complete:
                self._close(proof, at, since)
                break
            proof.round += 1
            rounds += 1
            proof.left.look()
            if rounds > MOST_ROUNDS:  # each nests terms deeper
                raise TooLarge(f"still new facts after {MOST_ROUNDS:,} rounds")
        table.pending = False
        proof.low = outer if table.complete else min(outer, proof.low)
        return table

    def _close(self, proof: Proof, at: int, since: int) -> None:
        """Complete the tables from an index on, and drop those not repeated since a round.

        The calls of a proven one are not repeated, so that their answers may be incomplete.
        """
        for each in proof.open[at:]:
            each.complete = each.complete or each.round >= since
            if not each.complete:
                each.home.pop(each.name, None)
        del proof.open[at:]


class _Clause(Slots):
    """A rule for a kind of call, with its conditions in order of evaluation."""

    def __init__(self, prover: Prover, rule: Rule, known: tuple[bool, ...]) -> None:
        self._prover = prover
        super().__init__([None])
        arguments = rule.head.atom[1:]
        given = [a for a, k in zip(arguments, known, strict=True) if k]
        self._enter = self._matching(given) if given else lambda place, values: True
        makers: list[Maker] = []
        waiting = list(rule.body)
        while waiting:
            prover.budget.look()  # the order of very long rules takes long
            literal = min(waiting, key=self._cost)
            waiting.remove(literal)
            makers.append(self._condition(literal))
        step = self._last([a for a, k in zip(arguments, known, strict=True) if not k])
        for maker in reversed(makers):
            step = maker(step)
        self._step = step

    def prove(self, proof: Proof, table: _Answers, key: Values) -> bool:
        """Add answers to a table; return True if the call is proven and has no others."""
        place = self._start.copy()
        place[0] = table
        return self._enter(place, key) and self._step(proof, place)

    def _last(self, asked: Sequence[Term]) -> Step:
        if not asked:
            return lambda proof, place: True
        make = self._values(asked)

        def emit(proof: Proof, place: Place) -> bool:
            answers = place[0].answers  # type: ignore[attr-defined]
            answer = make(place)
            if answer not in answers:
                answers[answer] = None
                proof.changes += 1
            proof.left[0] -= 1
            if proof.left[0] < 0:
                proof.left.more()
            return False

        return emit

    def _matching(self, patterns: Sequence[Term]) -> Callable[[Place, Values], bool]:
        """Return a function that assigns patterns' variables to match values, if possible."""
        shape, known, names = self._shaped(patterns)
        asked = self._bind(names)
        if any(isinstance(each, tuple) for each in shape):
            return self._matching_parts(shape, known, asked)
        same = [
            (at, self._slot(term))
            for at, term in zip([a for a, s in enumerate(shape) if s is None], known, strict=True)
            if isinstance(term, str)
        ]
        built = [
            (at, self._values(term))
            for at, term in zip([a for a, s in enumerate(shape) if s is None], known, strict=True)
            if not isinstance(term, str)
        ]
        first = [shape.index(each) for each in range(len(asked))]
        twice = [
            (at, first[s]) for at, s in enumerate(shape) if isinstance(s, int) and at != first[s]
        ]
        new = list(zip(first, asked, strict=True))

        def match(place: Place, values: Values) -> bool:
            for at, slot in same:
                if values[at] != place[slot]:
                    return False
            for at, before in twice:
                if values[at] != values[before]:
                    return False
            for at, make in built:
                if values[at] != make(place):
                    return False
            for at, slot in new:
                place[slot] = values[at]
            return True

        return match

    def _matching_parts(
        self, shape: Shape, known: Sequence[Term], asked: Sequence[int]
    ) -> Callable[[Place, Values], bool]:
        make = self._values(known)

        def match(place: Place, values: Values) -> bool:
            same: list[Term] = []
            found: dict[int, Term] = {}
            if not take(shape, values, same, found) or tuple(same) != make(place):
                return False
            for at, value in found.items():
                place[asked[at]] = value
            return True

        return match

    def _cost(self, literal: Literal) -> float:
        """Estimate a condition's number of answers; infinite for a test that is not ready."""
        loose = literal.variables() - self._bound
        if literal.negated:
            return FAR if loose else -1.0
        if not loose:
            return 0.0 if literal.relation in ("true", "does") else 0.5
        prover, name = self._prover, literal.relation
        if name == "does":
            return 1.0
        if name in prover.rules:
            known_ones = sum(map(self._is_bound, literal.atom[1:]))
            return math.pow(OPEN, len(loose) - known_ones / 2)
        relation = prover.sample if name == "true" else prover.facts.get(name, Relation())
        shape = self._shaped(literal.atom[1:])[0]
        index = relation.index(prover.looks.setdefault(shape, Look(shape)))
        if not index:
            return math.pow(OPEN, len(loose)) if name == "true" else 0.0
        return sum(map(len, index.values())) / len(index)

    def _condition(self, literal: Literal) -> Maker:
        if literal.relation == "distinct":
            return self._distinct(*literal.atom[1:])
        stored = literal.relation not in self._prover.rules
        if literal.negated:
            return self._absent(literal) if stored else self._refuted(literal)
        return self._stored(literal) if stored else self._called(literal)

    def _distinct(self, one: Term, other: Term) -> Maker:
        left, right = self._build(one), self._build(other)

        def maker(then: Step) -> Step:
            def step(proof: Proof, place: Place) -> bool:
                return left(place) != right(place) and then(proof, place)

            return step

        return maker

    def _absent(self, literal: Literal) -> Maker:
        name, make = literal.relation, self._values(literal.atom[1:])

        def maker(then: Step) -> Step:
            def step(proof: Proof, place: Place) -> bool:
                relation = proof.facts.get(name)
                if relation is not None and make(place) in relation.facts:
                    return False
                return then(proof, place)

            return step

        return maker

    def _refuted(self, literal: Literal) -> Maker:
        atom = literal.atom
        call = self._prover.call(literal.relation, (True,) * (len(atom) - 1))
        make = self._values(atom[1:])

        def maker(then: Step) -> Step:
            def step(proof: Proof, place: Place) -> bool:
                proof.left[0] -= 1
                if proof.left[0] < 0:
                    proof.left.more()
                table = call.solve(proof, make(place))
                if table.answers:
                    return False
                if not table.complete:
                    raise BadRules(f"{show((atom[0], *make(place)))} depends on its own negation")
                return then(proof, place)

            return step

        return maker

    def _stored(self, literal: Literal) -> Maker:
        look, key, asked = self._lookup(literal.atom[1:], self._prover.looks)
        name = literal.relation
        only = asked[0] if len(asked) == 1 else 0

        def maker(then: Step) -> Step:
            def step(proof: Proof, place: Place) -> bool:
                left = proof.left
                left[0] -= 1
                if left[0] < 0:
                    left.more()
                relation = proof.facts.get(name)
                if relation is None:
                    return False
                for values in relation.index(look).get(key(place), ()):
                    if only:
                        (place[only],) = values
                    else:
                        for slot, value in zip(asked, values, strict=True):
                            place[slot] = value
                    if then(proof, place):
                        return True
                return False

            return step

        return maker

    def _called(self, literal: Literal) -> Maker:
        arguments = literal.atom[1:]
        bound = tuple(map(self._is_bound, arguments))
        call = self._prover.call(literal.relation, bound)
        key = self._values([each for each, b in zip(arguments, bound, strict=True) if b])
        rest = [each for each, b in zip(arguments, bound, strict=True) if not b]
        shape, known_inside, names = self._shaped(rest)
        asked = [self._slot(each) for each in names]
        look = Look(shape) if any(isinstance(each, tuple) for each in shape) else None
        inside = self._values(known_inside)
        match = self._matching(rest) if rest else None
        level = call.level

        def maker(then: Step) -> Step:
            def step(proof: Proof, place: Place) -> bool:
                left = proof.left
                left[0] -= 1
                if left[0] < 0:
                    left.more()
                known = key(place)
                table = proof.tables[level].get((call, known))
                if table is None or not table.complete:
                    table = call.solve(proof, known)
                if match is None:
                    return bool(table.answers) and then(proof, place)
                if look is not None and table.complete:
                    if table.facts is None:
                        table.facts = Relation(table.answers)
                    for values in table.facts.index(look).get(inside(place), ()):
                        for slot, value in zip(asked, values, strict=True):
                            place[slot] = value
                        if then(proof, place):
                            return True
                    return False
                for values in table.answers if table.complete else tuple(table.answers):
                    if match(place, values) and then(proof, place):
                        return True
                return False

            return step

        return maker
