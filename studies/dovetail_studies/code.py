"""Digests of code, which tell apart results made by different versions of it."""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = ("dovetail_agents", "dovetail_games", "dovetail_studies")
"""The packages that decide a result; the core is left out, since its tests keep episodes
identical."""
EFFECTS = ""
"""The place of a module's statements that bind no name; they run at its import."""
ALL = "*"
"""The place of all statements of a module."""

Place = tuple[str, str]
"""A module and a name that it binds, ``EFFECTS`` or ``ALL``."""


class _Module(NamedTuple):
    imports: dict[str, list[str]]
    """The dotted names of all imports, also those inside functions, by the name they bind."""
    places: dict[str, list[ast.stmt]]
    """The top-level statements other than imports, by the names they bind."""


def digest(work: Callable[..., Any]) -> str:
    """Return a digest of a function and of all definitions of ``PACKAGES`` that it reaches by name.

    Comments, docstrings and layout do not count, nor does the version of Python.
    """
    given = []
    while isinstance(work, partial):
        given.append(repr([*work.args, *work.keywords.items()]))
        work = work.func
    found: dict[Place, str] = {}
    waiting = [(work.__module__, work.__qualname__.partition(".")[0])]
    while waiting:
        place = waiting.pop()
        if place not in found:
            found[place], reached = _place(*place)
            waiting += reached
    text = "\n".join([*given, *(found[place] for place in sorted(found))])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _place(module: str, name: str) -> tuple[str, tuple[Place, ...]]:
    """Return the code at a place, as text, and the places that it reaches."""
    code = _parsed(module)
    if name == ALL:
        return "", tuple((module, each) for each in (EFFECTS, *code.places, *code.imports))
    text = [f"{module}:{name}"]
    reached = [] if name == EFFECTS else [(module, EFFECTS)]
    used = {(name, ALL)} if name in code.imports else set()
    for statement in code.places.get(name, ()):
        text.append(plain(statement))
        used |= set(_used(statement))
    for each, attribute in sorted(used):
        for target in code.imports.get(each, ()):
            text.append(f"{each}={target}")
            reached += _imported(target, attribute)
        if each in code.places and each != name:
            reached.append((module, each))
    if name and name not in code.places and name not in code.imports:
        below = f"{module}.{name}"
        reached.append((below, ALL) if _is_module(below) else (module, ALL))
    return "\n".join(text), tuple(reached)


@cache
def _parsed(module: str) -> _Module:
    spec = find_spec(module)
    found = _Module(defaultdict(list), defaultdict(list))
    if spec is None or spec.origin is None:
        return found
    tree = ast.parse(Path(spec.origin).read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            of = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for each in node.names:
                bound = each.asname or each.name.partition(".")[0]
                found.imports[bound].append(of + each.name)
    for statement in tree.body:
        if not isinstance(statement, ast.Import | ast.ImportFrom) and not _is_empty(statement):
            for name in set(_bound(statement)) or {EFFECTS}:
                found.places[name].append(statement)
    return found


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def _used(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the names that a statement uses, each with the attribute that it takes, or ``ALL``."""
    taken = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            taken.add(node.value)
            yield node.value.id, node.attr
        elif isinstance(node, ast.Name) and node not in taken:
            yield node.id, ALL


def _imported(target: str, attribute: str) -> list[Place]:
    """Return the places that a use of an import reaches: a name, or part of a module."""
    if not target.startswith(PACKAGES):
        return []
    if _is_module(target):
        return [(target, attribute)]
    module, _, name = target.rpartition(".")
    return [(module, name)]


@cache
def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is a module
        return False


def plain(tree: Any) -> str:
    """Return the text of a syntax tree without docstrings, equal in all versions of Python.

    ``ast.dump`` lists fields that only some versions have.

    >>> plain(ast.parse("a = 1").body)
    "[Assign(targets=[Name(id='a',ctx=Store())],value=Constant(value=1))]"
    """
    if isinstance(tree, list):
        return f"[{','.join(plain(each) for each in tree if not _is_empty(each))}]"
    if not isinstance(tree, ast.AST):
        return repr(tree)
    fields = dict(ast.iter_fields(tree))
    if isinstance(tree, ast.JoinedStr):  # some releases of 3.12 end a nested format with ""
        fields["values"] = [each for each in tree.values if getattr(each, "value", None) != ""]
    texts = ((name, plain(each)) for name, each in fields.items() if each is not None)
    whole = ",".join(f"{name}={text}" for name, text in texts if text != "[]")
    return f"{type(tree).__name__}({whole})"


def _is_empty(node: Any) -> bool:
    """Return true for a docstring or a ``pass``."""
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
