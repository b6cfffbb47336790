"""A game and its states, as a description defines them.  Knows nothing of Dovetail but its errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from dovetail.protocol.errors import DovetailError
from dovetail_bridges.gdl.kif import Term, order, show
from dovetail_bridges.gdl.program import Facts, Program, TooLarge
from dovetail_bridges.gdl.relations import Relation
from dovetail_bridges.gdl.rules import BadRules, Literal, Rule, reachable, read

RANDOM = "random"
"""The role that plays chance."""


class NoSuchMove(DovetailError):
    """A role made a move that is not legal."""


class Game:
    """The rules of a game.

    Args:
        text: in KIF.

    Raises:
        NotKIF: the text is not KIF.
        BadRules: it is not a description of a game.
        TooLarge: it has more facts than this program accepts.
    """

    def __init__(self, text: str) -> None:
        self._rules = read(text)
        defined = {rule.head.relation for rule in self._rules}
        for name in ("init", "legal", "next", "terminal", "goal"):
            if name not in defined:
                raise BadRules(f"the rules define no `{name}`; every game needs it")
        self._program = Program(self._rules)
        depends = {name: reachable(self._rules, name) for name in defined}
        for name in ("legal", "terminal", "goal"):
            if "does" in depends[name]:
                raise BadRules(f"`{name}` depends on `does`; it may depend on the state only")
        fixed = {name for name in defined if not depends[name] & {"true", "does"}}
        for name in ("role", "init", "base", "input"):
            if name in defined and name not in fixed:
                raise BadRules(f"`{name}` depends on `true` or `does`; it must always hold")
        groups = self._program.groups
        self.fixed: Facts = {}
        """The relations that are the same in every state."""
        self._program.run(self.fixed, [at for at, each in enumerate(groups) if each <= fixed])
        self._needed: dict[str, list[int]] = {
            name: [
                at
                for at, each in enumerate(groups)
                if each <= depends[name] and each & defined and not each <= fixed
            ]
            for name in ("legal", "terminal", "goal", "next", "sees")
            if name in defined
        }
        named = [rule.head.atom[1] for rule in self._rules if rule.head.relation == "role"]
        facts = {fact[0] for fact in self.fixed["role"].facts}
        everyone = [each for each in dict.fromkeys(named) if each in facts]
        everyone += sorted(facts - set(everyone), key=order)
        self.chance = RANDOM in everyone
        """True if a role plays chance."""
        self.roles: list[Term] = [each for each in everyone if each != RANDOM]
        """The players, in the order of the description."""
        self.everyone: list[Term] = everyone
        """The players and chance, in the order of the description."""
        self.hidden = "sees" in defined
        """True if players see only what `sees` says (GDL-II)."""

    def start(self) -> State:
        """Return the state in which the game begins."""
        return State(self, frozenset(fact[0] for fact in self.fixed["init"].facts))

    @cached_property
    def moves(self) -> dict[Term, list[Term]]:
        """Every move that each player can ever make: what `input` says, or could become legal."""
        source = self.fixed["input"] if "input" in self.fixed else self._possible["legal"]
        found: dict[Term, list[Term]] = {role: [] for role in self.roles}
        for role, move in source.facts:
            if role in found:
                found[role].append(move)
        for role, moves in found.items():
            if not moves:
                raise BadRules(f"{show(role)} never has a move")
            moves.sort(key=order)
        return found

    @cached_property
    def propositions(self) -> list[Term]:
        """Everything that can be true in a state: what `base` says, or what could become true."""
        source = self.fixed["base"] if "base" in self.fixed else self._possible["true"]
        return sorted((fact[0] for fact in source.facts), key=order)

    @cached_property
    def percepts(self) -> dict[Term, list[Term]]:
        """Everything that each player could ever see (GDL-II)."""
        found: dict[Term, list[Term]] = {role: [] for role in self.roles}
        for role, percept in self._possible["sees"].facts if self.hidden else ():
            if role in found:
                found[role].append(percept)
        for percepts in found.values():
            percepts.sort(key=order)
        return found

    @cached_property
    def _possible(self) -> Facts:
        """The relations as if everything that was ever true or done stayed so.

        Conditions that are negated are dropped unless they always hold or never do, so that nothing
        possible is missing.
        """
        rules = [
            Rule(rule.head, tuple(e for e in rule.body if not e.negated or self._always(e)))
            for rule in self._rules
        ]
        always = [("true", "init"), ("true", "next")]
        rules += [Rule(Literal((a, "?x")), (Literal((b, "?x")),)) for a, b in always]
        rules.append(Rule(Literal(("does", "?r", "?m")), (Literal(("legal", "?r", "?m")),)))
        program = Program(rules)
        facts: Facts = {}
        try:
            program.run(facts, range(len(program.groups)))
        except TooLarge as error:
            raise TooLarge(
                f"{error}, or list its moves with `input` and facts with `base`"
            ) from None
        return facts

    def _always(self, literal: Literal) -> bool:
        return literal.relation == "distinct" or literal.relation in self.fixed


class State:
    """A state of a game; it never changes."""

    def __init__(self, game: Game, true: frozenset[Term]) -> None:
        self.game = game
        self.true = true
        self._facts: Facts = {**game.fixed, "true": Relation((each,) for each in true)}
        self._ran: set[int] = set()

    def _relation(self, name: str) -> Relation:
        groups = [at for at in self.game._needed.get(name, ()) if at not in self._ran]
        self._ran.update(groups)
        self.game._program.run(self._facts, groups)
        return self._facts.get(name) or Relation()

    @cached_property
    def terminal(self) -> bool:
        """Return whether the game is over."""
        return bool(self._relation("terminal").facts)

    @cached_property
    def legal(self) -> dict[Term, list[Term]]:
        """The legal moves of every role, sorted.

        Raises:
            BadRules: a role has none.
        """
        found: dict[Term, list[Term]] = {role: [] for role in self.game.everyone}
        for role, move in self._relation("legal").facts:
            if role in found:
                found[role].append(move)
        for role, moves in found.items():
            if not moves:
                raise BadRules(f"{show(role)} has no legal move in {self}")
            moves.sort(key=order)
        return found

    def goal(self, role: Term) -> int:
        """Return what a player has earned, 0 to 100.

        Raises:
            BadRules: the rules do not say exactly one number.
        """
        values = [fact[1] for fact in self._relation("goal").facts if fact[0] == role]
        word = values[0] if len(values) == 1 else ""
        if not (isinstance(word, str) and word.isascii() and word.isdigit() and int(word) <= 100):
            shown = ", ".join(map(show, values)) or "none"
            raise BadRules(
                f"the goal of {show(role)} must be one number from 0 to 100, not {shown}"
            )
        return int(word)

    def after(self, moves: Mapping[Term, Term]) -> tuple[State, dict[Term, list[Term]]]:
        """Return the next state, and what each player sees of the joint move.

        Args:
            moves: of every role, chance among them.

        Raises:
            NoSuchMove: one is missing or not legal.
        """
        for role in self.game.everyone:
            if moves.get(role) not in self.legal[role]:
                move = show(moves[role]) if role in moves else "no move"
                raise NoSuchMove(f"{move} is not legal for {show(role)}")
        facts: Facts = {**self._facts, "does": Relation((r, moves[r]) for r in self.game.everyone)}
        game = self.game
        needed = {at for name in ("next", "sees") for at in game._needed.get(name, ())}
        game._program.run(facts, sorted(needed - self._ran))
        true = facts["next"].facts if "next" in facts else ()
        seen: dict[Term, list[Term]] = {role: [] for role in game.roles}
        if game.hidden:
            for role, percept in facts["sees"].facts:
                if role in seen:
                    seen[role].append(percept)
            for percepts in seen.values():
                percepts.sort(key=order)
        return State(game, frozenset(fact[0] for fact in true)), seen

    def __str__(self) -> str:
        return " ".join(show(each) for each in sorted(self.true, key=order))
