"""A case, and its failure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

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


_DOCUMENTED = re.compile(r"(S\d+\.\d+(?: S\d+\.\d+)*)((?:, [^:,]+)*): (.+)")


def cases(of: object) -> list[Case]:
    """Return the cases of an object, inherited ones first: methods whose docstring is a rule.

    It begins with the numbers of the rules, followed by `before the welcome`, `groups` and `level
    2` where they apply, and a colon.
    """
    found: list[Case] = []
    for kind in reversed(type(of).__mro__):
        for name, each in vars(kind).items():
            words = " ".join((getattr(each, "func", each).__doc__ or "").split())
            if not name.startswith("_") and (rule := _DOCUMENTED.fullmatch(words)):
                flags = rule[2].split(", ")
                play, name = getattr(of, name), name.replace("_", "-")
                level: Level = 2 if "level 2" in flags else 1
                greet, groups = "before the welcome" not in flags, "groups" in flags
                found.append(Case(name, rule[1], rule[3], play, greet, level, groups))
    return found
