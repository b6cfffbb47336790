"""A game and its states as defined by a description; of Dovetail it uses only the errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from dovetail.protocol.errors import DovetailError
from dovetail_bridges.gdl.budget import TooLarge
from dovetail_bridges.gdl.kif import Term, order, show
from dovetail_bridges.gdl.prover import Proof, Prover
from dovetail_bridges.gdl.relations import Fact, Relation
from dovetail_bridges.gdl.rules import (
    ARITY,
    GIVEN,
    BadRules,
    Literal,
    Rule,
    components,
    needs,
    reachable,
    read,
)

RANDOM = "random"
"""The role of chance."""
MOST_LISTED = 1 << 16
"""Maximum moves, or facts of a state, that are listed."""
MOST_TRIED = 750_000
"""Maximum conditions tried to find the possible moves or facts."""


class NoSuchMove(DovetailError):
    """A role made a move that is not legal."""


class Game:
    """The rules of a game.

    Args:
        text: the description in KIF.

    Raises:
        NotKIF: the text is not KIF.
        BadRules: it is not a description of a game.
        TooLarge: its roles take too long to work out.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._rules = read(text)
        defined = {rule.head.relation for rule in self._rules}
        self._arity = ARITY | {e.head.relation: len(e.head.atom) - 1 for e in self._rules}
        for name in ("legal", "next", "terminal", "goal"):
            if name not in defined:
                raise BadRules(f"the rules define no `{name}`; every game needs it")
        users: dict[str, set[str]] = {}
        for name, needed in needs(self._rules).items():
            for each in needed:
                users.setdefault(each, set()).add(name)
        moving, changing = reachable(users, "does"), reachable(users, "true")
        for name in ("legal", "terminal", "goal"):
            if name in moving:
                raise BadRules(f"`{name}` depends on `does`; it may depend on the state only")
        self._levels = {
            name: 2 if name in moving else 1 if name in changing else 0 for name in defined
        }
        for name in ("role", "init", "base", "input"):
            if self._levels.get(name, 0):
                raise BadRules(f"`{name}` depends on `true` or `does`; it must always hold")
        self.prover = Prover(self._rules, self._levels)
        named = [rule.head.atom[1] for rule in self._rules if rule.head.relation == "role"]
        facts = {fact[0] for fact in self.facts("role")}
        everyone = [each for each in dict.fromkeys(named) if each in facts]
        everyone += sorted(facts - set(everyone), key=order)
        self.chance = RANDOM in everyone
        """True if there is a role of chance."""
        self.roles: list[Term] = [each for each in everyone if each != RANDOM]
        """The players, in the description's order."""
        self.everyone: list[Term] = everyone
        """The players and chance, in the description's order."""
        self.hidden = "sees" in defined
        """True if players have only the percepts of `sees` (GDL-II)."""
        self._first = frozenset(fact[0] for fact in self.facts("init"))
        self.prover.sample = Relation((each,) for each in self._first)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the text alone: a prover is functions, which cannot be pickled."""
        return Game, (self._text,)

    def facts(self, name: str) -> set[Fact]:
        """Return the facts of a relation that is constant over states.

        Raises:
            TooLarge: they take too long to work out.
        """
        return self._all(self.prover, name)

    def _all(self, prover: Prover, name: str) -> set[Fact]:
        proof = Proof(prover, {}, (prover.fixed, {}, {}))
        return set(prover.ask(proof, name, *[None] * self._arity.get(name, 0)))

    def start(self) -> State:
        """Return the initial state."""
        return State(self, self._first)

    @cached_property
    def moves(self) -> dict[Term, list[Term]] | None:
        """Every possible move of each player, by `input` or by what could become legal.

        None if they are too many to derive.
        """
        source = self._listed("input", "legal")
        if source is None:
            return None
        found = self.by_player(source)
        return found if all(found.values()) else None

    @cached_property
    def propositions(self) -> list[Term] | None:
        """Every possible fact of a state, by `base` or by what could become true.

        None if they are too many to derive.
        """
        source = self._listed("base", "true")
        return None if source is None else sorted((fact[0] for fact in source), key=order)

    @cached_property
    def percepts(self) -> dict[Term, list[Term]] | None:
        """Every possible percept of each player (GDL-II); None if they are too many."""
        source = self._listed("", "sees")
        return None if source is None else self.by_player(source)

    def by_player(self, facts: Iterable[Fact]) -> dict[Term, list[Term]]:
        """Return the second arguments of facts, sorted, by the player that is the first."""
        found: dict[Term, list[Term]] = {role: [] for role in self.roles}
        for role, each in facts:
            if role in found:
                found[role].append(each)
        for listed in found.values():
            listed.sort(key=order)
        return found

    def _listed(self, by: str, otherwise: str) -> set[Fact] | None:
        """Return a relation's facts, or else another's possible facts; None if too many."""
        try:
            prover = self.prover if by in self._levels else self._possible
            listed = self._all(prover, by if by in self._levels else otherwise)
        except TooLarge:
            return None
        return None if len(listed) > MOST_LISTED else listed

    @cached_property
    def _possible(self) -> Prover:
        """The rules as if every fact and move, once possible, remained so.

        Negated conditions are dropped unless they are constant, so that nothing possible is
        missing.
        """
        graph = needs(self._rules)
        needed = reachable(graph, "init", "legal", "next", "sees")
        group = {name: at for at, names in enumerate(components(graph)) for name in names}

        def kept(rule: Rule, literal: Literal) -> bool:
            name = literal.relation
            if not literal.negated or name == "distinct":
                return True
            level = self._levels.get(name, 1 if name in GIVEN else 0)
            return level == 0 and group[rule.head.relation] != group[name]

        rules = [
            Rule(rule.head, tuple(each for each in rule.body if kept(rule, each)))
            for rule in self._rules
            if rule.head.relation in needed
        ]
        always = [("true", "init"), ("true", "next")]
        rules += [Rule(Literal((a, "?x")), (Literal((b, "?x")),)) for a, b in always]
        rules.append(Rule(Literal(("does", "?r", "?m")), (Literal(("legal", "?r", "?m")),)))
        return Prover(rules, {}, MOST_TRIED)


class State:
    """An immutable state of a game."""

    def __init__(self, game: Game, true: frozenset[Term]) -> None:
        self.game = game
        self.true = true
        self._true = Relation((each,) for each in true)
        self._tables: dict[object, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what is true; the answers proved so far are left out."""
        return State, (self.game, self.true)

    def _proof(self, **given: Relation) -> Proof:
        tables: tuple[dict[object, Any], ...] = (self.game.prover.fixed, self._tables, {})
        return Proof(self.game.prover, {"true": self._true, **given}, tables)

    @cached_property
    def terminal(self) -> bool:
        """Return whether the game is over."""
        return bool(self.game.prover.ask(self._proof(), "terminal"))

    @cached_property
    def legal(self) -> dict[Term, list[Term]]:
        """The sorted legal moves of every role.

        Raises:
            BadRules: a role has none.
        """
        game = self.game
        proof = self._proof()
        found: dict[Term, list[Term]] = {}
        for role in game.everyone:
            moves = [move for (move,) in game.prover.ask(proof, "legal", role, None)]
            if not moves:
                raise BadRules(f"{show(role)} has no legal move in {self}")
            found[role] = sorted(moves, key=order)
        return found

    def goal(self, role: Term) -> int:
        """Return a player's goal value, 0 to 100; 0 if the rules give none.

        Raises:
            BadRules: they give several values, or an invalid one.
        """
        values = [value for (value,) in self.game.prover.ask(self._proof(), "goal", role, None)]
        if not values:  # such as at the limit of moves of many descriptions
            return 0
        word = values[0] if len(values) == 1 else ""
        if not (isinstance(word, str) and word.isascii() and word.isdigit() and int(word) <= 100):
            shown = ", ".join(map(show, values))
            raise BadRules(
                f"the goal of {show(role)} must be one number from 0 to 100, not {shown}"
            )
        return int(word)

    def after(self, moves: Mapping[Term, Term]) -> tuple[State, dict[Term, list[Term]]]:
        """Return the next state, and each player's percepts of the joint move.

        Args:
            moves: the move of every role, including chance.

        Raises:
            NoSuchMove: one is missing or not legal.
        """
        game = self.game
        for role in game.everyone:
            if moves.get(role) not in self.legal[role]:
                move = show(moves[role]) if role in moves else "no move"
                raise NoSuchMove(f"{move} is not legal for {show(role)}")
        proof = self._proof(does=Relation((r, moves[r]) for r in game.everyone))
        true = frozenset(fact for (fact,) in game.prover.ask(proof, "next", None))
        seen = game.prover.ask(proof, "sees", None, None) if game.hidden else ()
        return State(game, true), game.by_player(seen)

    def __str__(self) -> str:
        return " ".join(show(each) for each in sorted(self.true, key=order))
