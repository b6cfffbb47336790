"""Rules of a game description, read from KIF and checked.

A rule is safe if each variable of its head, of ``not`` and of ``distinct`` occurs in a positive
literal.  A description must also have no atom that depends on its own negation (section 3 of the
specification), which ``prover`` checks during evaluation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dovetail.protocol.errors import DovetailError
from dovetail_bridges.gdl.kif import Term, parse, show, variable, words

ARITY = {
    **{"role": 1, "init": 1, "true": 1, "next": 1, "base": 1, "terminal": 0},
    **{"does": 2, "legal": 2, "input": 2, "goal": 2, "sees": 2},
}
"""The number of arguments of GDL's own relations."""
GIVEN = {"true", "does"}
"""Relations given by a state and a joint move, which rules only read."""
MOST_ALTERNATIVES = 1000
"""Maximum rules that the ``or`` of one rule can expand to."""
MOST_EXPANDED = 100_000
"""Maximum rules that the ``or`` of all rules can add."""


class BadRules(DovetailError):
    """The text is not a description of a game."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A condition of a rule."""

    atom: tuple[Term, ...]
    """The relation's name, then its arguments."""
    negated: bool = False

    @property
    def relation(self) -> str:
        """The name of the relation."""
        name = self.atom[0]
        assert isinstance(name, str)
        return name

    def variables(self) -> set[str]:
        """Return its variables."""
        return {word for word in words(self.atom) if variable(word)}


@dataclass(frozen=True, slots=True)
class Rule:
    """A head that holds where all conditions do; ``distinct`` is a negated relation."""

    head: Literal
    body: tuple[Literal, ...] = ()

    def __str__(self) -> str:
        if not self.body:
            return show(self.head.atom)
        parts = [f"(not {show(e.atom)})" if e.negated else show(e.atom) for e in self.body]
        return f"(<= {show(self.head.atom)} {' '.join(parts)})"


def read(text: str) -> list[Rule]:
    """Return the checked rules of a description; facts are rules without conditions.

    Raises:
        NotKIF: the text is not KIF.
        BadRules: a rule has the wrong form or is unsafe.
    """
    terms = parse(text)
    rules: list[Rule] = []
    for term in terms:
        rules += _rules(term)
        if len(rules) > len(terms) + MOST_EXPANDED:
            raise BadRules(f"the rules with `or` have more than {MOST_EXPANDED:,} alternatives")
    if not any(rule.head.relation == "role" for rule in rules):
        raise BadRules("the rules name no role; a game needs (role NAME) at least once")
    _check_arities(rules)
    for rule in rules:
        _check_safe(rule)
    return rules


def _rules(term: Term) -> Iterator[Rule]:
    if isinstance(term, tuple) and term[:1] == ("<=",):
        if len(term) < 2:
            raise BadRules("(<=) has no head; write (<= HEAD CONDITION...)")
        head = _atom(term[1], term)
        for body in _few(("and", *term[2:]), term):
            yield Rule(head, body)
    else:
        yield Rule(_atom(term, term))


def _few(term: Term, whole: Term) -> list[tuple[Literal, ...]]:
    found = list(itertools.islice(_alternatives(term, whole), MOST_ALTERNATIVES + 1))
    if len(found) > MOST_ALTERNATIVES:
        raise BadRules(f"more than {MOST_ALTERNATIVES} alternatives in {show(whole):.80}")
    return found


def _alternatives(term: Term, whole: Term) -> Iterator[tuple[Literal, ...]]:
    """Yield the ways in which a condition can hold, each a conjunction."""
    if isinstance(term, tuple) and term:
        if term[0] == "or":
            for part in term[1:]:
                yield from _alternatives(part, whole)
            return
        if term[0] == "and":
            for choice in itertools.product(*(_few(part, whole) for part in term[1:])):
                yield tuple(literal for part in choice for literal in part)
            return
        if term[0] == "not":
            if len(term) != 2 or (isinstance(term[1], tuple) and term[1][:1] in _CONNECTIVES):
                raise BadRules(f"`not` takes one relation, not {show(term):.60}")
            yield (Literal(_atom(term[1], whole).atom, negated=True),)
            return
        if term[0] == "distinct":
            if len(term) != 3:
                raise BadRules(f"`distinct` takes two terms, not {show(term):.60}")
            yield (Literal(term, negated=True),)
            return
    yield (_atom(term, whole),)


_CONNECTIVES = (("or",), ("and",), ("not",), ("distinct",))


def _atom(term: Term, whole: Term) -> Literal:
    atom = (term,) if isinstance(term, str) else term
    name = atom[0] if atom else ()
    if not isinstance(name, str) or variable(name) or name in ("<=", "or", "and", "not"):
        raise BadRules(f"{show(term):.60} is not a relation, in {show(whole):.120}")
    return Literal(atom)


def _check_arities(rules: Sequence[Rule]) -> None:
    known = dict(ARITY)
    for rule in rules:
        if rule.head.relation in GIVEN | {"distinct"}:
            raise BadRules(f"a rule cannot define `{rule.head.relation}`: {rule}"[:200])
        for literal in (rule.head, *rule.body):
            if literal.relation == "distinct":
                continue
            arity = len(literal.atom) - 1
            if known.setdefault(literal.relation, arity) != arity:
                raise BadRules(
                    f"`{literal.relation}` has {arity} arguments in {rule!s:.120}, "
                    f"and {known[literal.relation]} elsewhere"
                )


def _check_safe(rule: Rule) -> None:
    bound = {name for each in rule.body if not each.negated for name in each.variables()}
    for literal in (rule.head, *(each for each in rule.body if each.negated)):
        loose = literal.variables() - bound
        if loose:
            raise BadRules(
                f"{min(loose)} occurs in no positive condition of {rule!s:.160}; add one"
            )


def needs(rules: Iterable[Rule]) -> dict[str, set[str]]:
    """Return the relations in the conditions of each; `distinct` is none."""
    found: dict[str, set[str]] = {}
    for rule in rules:
        mine = found.setdefault(rule.head.relation, set())
        for literal in rule.body:
            if literal.relation != "distinct":
                mine.add(literal.relation)
                found.setdefault(literal.relation, set())
    return found


def reachable(graph: Mapping[str, Iterable[str]], *starts: str) -> set[str]:
    """Return the nodes to which paths of a graph lead from some, including these."""
    found, ahead = set(starts), list(starts)
    while ahead:
        for each in graph.get(ahead.pop(), ()):
            if each not in found:
                found.add(each)
                ahead.append(each)
    return found


def components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components, dependencies first (Tarjan, iterative)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on: set[str] = set()
    out: list[set[str]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for each in rest:
                if each not in index:
                    index[each] = low[each] = len(index)
                    stack.append(each)
                    on.add(each)
                    work.append((each, iter(sorted(graph[each]))))
                    break
                if each in on:
                    low[node] = min(low[node], index[each])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == index[node]:
                    group: set[str] = set()
                    while node not in group:
                        each = stack.pop()
                        on.discard(each)
                        group.add(each)
                    out.append(group)
    return out
