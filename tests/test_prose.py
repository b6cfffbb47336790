"""The check of prose finds what CONTRIBUTING.md bans, and spares what it does not; and a name means
one thing."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parents[1]


def check() -> Any:
    """Return the check as a module."""
    loader = importlib.machinery.SourceFileLoader("prose", str(TOP / ".ci/prose"))
    spec = importlib.util.spec_from_loader("prose", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('"""What a peer is."""\n', ["begins with 'What'"]),
        ('class A:\n    b: int = 1\n    """Whether it is on."""\n', ["begins with 'Whether'"]),
        ('def f():\n    """Return up to so many items."""\n', ["'so many'"]),
        ('def f():\n    """So many matches at once."""\n', ["'So many'"]),
        ('"""The sum of what was made so."""\n', ["'what was made so'"]),
        ('"""One alone: one alone has every seat."""\n', ["'one alone has'"]),
        ('"""Sit, against: who has the other seats."""\n', ["'who has the other seats'"]),
        ('"""A request that whom it was for refused."""\n', ["'whom it was for'"]),
        ('"""Return what would travel."""\n', ["'would travel'"]),
        ('"""The seat that is to blame."""\n', ["'is to blame'"]),
        ('def f():\n    """Return as far\n    as it goes."""\n', ["'as far as'"]),
        (
            '"""Play.\n\n    Args:\n        seed: of the game.\n    """\n',
            ["an argument's fragment"],
        ),
        ('"""Play.\n\n    Args:\n        fast: whether it is.\n    """\n', []),
        ("# Who is told.\n", ["begins with 'Who'"]),
        ("x = 1  #" + "y" * 100 + "\n", ["108 columns"]),
        ("# https://example.org/" + "y" * 100 + "\n", []),
        ('def f():\n    """Return what was sent; whether it arrived is unknown."""\n', []),
        ('def f():\n    """Return an item."""\n    return "What is so many?"\n', []),
        ('def f():\n    """Raise it, but not so much."""\n', []),
    ],
)
def test_docstrings_and_widths(text: str, kinds: list[str]) -> None:
    assert [kind for _, kind, _ in check().python("src/a.py", text)] == kinds


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("    /// Whether it is on.", True),
        ("/** Whether it is on. */", True),
        ("//! Whether it is on.", True),
        (" * Whether it is on.", True),
        ("/** True if it is on. Whether it was is unknown. */", True),
        ("/// What the seat sees.", True),
        ("  x = 1; // Who is to move", True),
        ("/* Whose agent it is */", True),
        (" * A list.  What it names is new.", True),
        ("// Return what the seat sees, and whose it is.", False),
        ("// Who is to move? The first seat.", False),
        ('say("Whether");', False),
        ('get("http://a.example/ What");', False),
    ],
)
def test_comments_of_other_languages(line: str, found: bool) -> None:
    assert bool(check().COMMENTED.search(line)) == found


MOST = 35
"""Limit on public names of several classes: lower it whenever it can be."""
PACKAGES = (
    "src",
    "protocol",
    "env_servers",
    "agent_servers",
    "experiments",
    "bridges",
    "web",
    "studies",
)


def statements() -> Iterator[tuple[str, ast.stmt]]:
    """Yield what the modules of all packages declare, each with its file."""
    for path in (each for package in PACKAGES for each in sorted((TOP / package).rglob("*.py"))):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            yield path.relative_to(TOP).as_posix(), node


def shared() -> dict[str, list[str]]:
    """Return the names of several classes, each with the files that declare them."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, node in statements():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            places[node.name].append(path)
    return {name: files for name, files in places.items() if len(files) > 1}


def test_few_names_stand_for_more_than_one_class() -> None:
    found = shared()
    lines = [f"{name}: {', '.join(files)}" for name, files in sorted(found.items())]
    assert len(found) <= MOST, "\n".join(lines)


def test_a_name_of_a_value_within_bounds_stands_for_nothing_else() -> None:
    bounds: dict[str, list[str]] = defaultdict(list)
    classes: dict[str, str] = {}
    for path, node in statements():
        match node:
            case ast.ClassDef(name=name):
                classes[name] = path
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Subscript(value=ast.Name(id="Annotated")) as kind,
            ) if "Meta(" in ast.unparse(kind) and not name.startswith("_"):
                bounds[name].append(path)
    assert {"Natural", "Count"} <= set(bounds)
    assert {name: files for name, files in bounds.items() if len(files) > 1} == {}
    assert {name: classes[name] for name in bounds if name in classes} == {}
