"""A name means one thing: few class names stand for more than one class, and the name of a bounded
value for nothing else."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
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
