"""Digests of code, which tell apart results made by different versions of it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dovetail.peer import provenance

PACKAGES = ("dovetail_agents", "dovetail_games", "dovetail_studies")
"""The packages that decide a result; the core is left out, since its tests keep episodes
identical."""


def digest(work: Callable[..., Any]) -> str:
    """Return a digest of a function's module and of all modules of ``PACKAGES`` that it imports.

    Comments, docstrings and layout do not count.
    """
    while isinstance(work, partial):
        work = work.func
    return _digest(work.__module__)


@cache
def _digest(module: str) -> str:
    return provenance.digest(module, _parsed)[:16]


@cache
def _parsed(module: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a digest of a module's code and the names of all modules that it imports."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return b"", ()
    tree = ast.parse(Path(spec.origin).read_bytes())
    imported = tuple(_imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [each for each in node.body if not _is_text(each)]
    return hashlib.sha256(ast.dump(tree).encode()).digest(), imported


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGES):
            assert node.module is not None
            yield node.module
            for each in node.names:
                if _is_module(name := f"{node.module}.{each.name}"):
                    yield name


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is a module
        return False
