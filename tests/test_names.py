"""A name means one thing: few class names stand for more than one class."""

from __future__ import annotations

import ast
from collections import defaultdict
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


def shared() -> dict[str, list[str]]:
    """Return the names of several classes, each with the files that declare them."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in (each for package in PACKAGES for each in sorted((TOP / package).rglob("*.py"))):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(TOP).as_posix())
    return {name: files for name, files in places.items() if len(files) > 1}


def test_few_names_stand_for_more_than_one_class() -> None:
    found = shared()
    lines = [f"{name}: {', '.join(files)}" for name, files in sorted(found.items())]
    assert len(found) <= MOST, "\n".join(lines)
