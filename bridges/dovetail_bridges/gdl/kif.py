"""KIF, the syntax of the Game Description Language: text to terms and back.

A term is a word (``str``, in lower case; a variable begins with ``?``) or a tuple of terms.
Source: Love, Hinrichs, Haley, Schkufza and Genesereth, "General Game Playing: Game Description
Language Specification" (Stanford Logic Group, LG-2006-01), and KIF's own syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dovetail.protocol.errors import DovetailError

Term = str | tuple["Term", ...]

LARGEST = 1 << 20
"""Maximum characters of a text."""
DEEPEST = 100
"""Maximum nesting of parentheses."""

_TOKEN = re.compile(r";[^\n]*|\s+|([()])|([^\s();]+)")


class NotKIF(DovetailError):
    """The text is not KIF."""


def parse(text: str) -> list[Term]:
    """Return the terms of a text, in order.

    Raises:
        NotKIF: a parenthesis is missing, or the text is too long or too deep.

    >>> parse("(<= (next ?x) (true ?x)) terminal ; a comment")
    [('<=', ('next', '?x'), ('true', '?x')), 'terminal']
    """
    if len(text) > LARGEST:
        raise NotKIF(f"the text has {len(text):,} characters; at most {LARGEST:,} are allowed")
    found: list[Term] = []
    open_: list[tuple[int, list[Term]]] = []
    for at, token in _tokens(text):
        if token == "(":
            if len(open_) == DEEPEST:
                raise NotKIF(f"line {_line(text, at)}: more than {DEEPEST} nested parentheses")
            open_.append((at, []))
            continue
        term: Term
        if token == ")":
            if not open_:
                raise NotKIF(f"line {_line(text, at)}: this ')' closes nothing")
            term = tuple(open_.pop()[1])
        else:
            term = token.lower()
        (open_[-1][1] if open_ else found).append(term)
    if open_:
        raise NotKIF(f"line {_line(text, open_[-1][0])}: this '(' is never closed")
    return found


def one(text: str) -> Term:
    """Return the only term of a text.

    Raises:
        NotKIF: it has none, or several.
    """
    found = parse(text)
    if len(found) != 1:
        raise NotKIF(f"expected one term; {text[:60]!r} has {len(found)}")
    return found[0]


def show(term: Term) -> str:
    """Return a term as text.

    >>> show(("cell", "1", ("succ", "x")))
    '(cell 1 (succ x))'
    """
    return term if isinstance(term, str) else f"({' '.join(map(show, term))})"


def order(term: Term) -> tuple[object, ...]:
    """Return a key that sorts terms naturally: numbers by value, words alphabetically.

    >>> sorted(["10", "9", "b", ("a",)], key=order)
    ['9', '10', 'b', ('a',)]
    """
    if isinstance(term, tuple):
        return (2, len(term), tuple(map(order, term)))
    return (0, int(term)) if term.isascii() and term.isdigit() else (1, term)


def words(term: Term) -> Iterator[str]:
    """Yield the words of a term."""
    if isinstance(term, str):
        yield term
    else:
        for part in term:
            yield from words(part)


def variable(term: Term) -> bool:
    """Return whether a term is a variable."""
    return isinstance(term, str) and term[:1] == "?"


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    for match in _TOKEN.finditer(text):
        token = match.group(1) or match.group(2)
        if token:
            yield match.start(), token


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
