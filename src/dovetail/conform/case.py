"""A case, and its failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from dovetail.protocol.messages import Role

if TYPE_CHECKING:
    from dovetail.conform.program import Program

Level = Literal[1, 2]
"""1: reads and answers; 2: also refuses unreadable frames, resumes, and answers repeated frames."""

Play = Callable[["Program"], None]


class Failed(Exception):
    """A case that the program fails: the expectation, and what came instead."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}; got {got}")
        self.expected = expected
        self.got = got


class Case(Struct, frozen=True):
    """One conversation, and the rules of SPEC.md that it tests."""

    name: str
    rules: str
    """The numbers of the rules in SPEC.md, such as ``S5.2``, separated by spaces."""
    rule: str
    """Their content here, in one sentence."""
    play: Play
    greet: bool
    """True if the program is welcomed before the case begins."""
    level: Level
    """The level of conformance that needs it."""
    groups: bool
    """True if it is only for programs that offer to play in groups."""


class Cases:
    """The cases of a role, in the order in which they were written."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self.all: list[Case] = []

    def case(
        self,
        rules: str,
        name: str = "",
        *,
        greet: bool = True,
        level: Level = 1,
        groups: bool = False,
    ) -> Callable[[Play], Play]:
        """Add a function as a case: its name is the case's, its docstring the rule."""

        def add(play: Play, name: str = name) -> Play:
            name = name or getattr(play, "__name__", "").replace("_", "-")
            rule = " ".join((play.__doc__ or "").split())
            self.all.append(Case(name, rules, rule, play, greet, level, groups))
            return play

        return add
