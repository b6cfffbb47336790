"""The examples in docstrings are right: those that state what they give."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

TOP = Path(__file__).resolve().parents[1]
ROOTS = {
    "src": "dovetail",
    "protocol": "dovetail_generate",
    "env_servers": "dovetail_games",
    "agent_servers": "dovetail_agents",
    "experiments": "dovetail_experiments",
    "bridges": "dovetail_bridges",
    "web": "dovetail_web",
    "studies": "dovetail_studies",
}


def with_examples() -> list[str]:
    """Return the names of the modules whose docstrings have examples."""
    return sorted(
        path.relative_to(TOP / root).with_suffix("").as_posix().replace("/", ".")
        for root, package in ROOTS.items()
        for path in (TOP / root / package).rglob("*.py")
        if ">>> " in path.read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("name", with_examples())
def test_the_examples_of_a_module_are_right(name: str) -> None:
    module = importlib.import_module(name.removesuffix(".__init__"))
    for each in doctest.DocTestFinder(exclude_empty=True).find(module):
        if any(example.want for example in each.examples):
            assert not doctest.DocTestRunner().run(each).failed, each.name
