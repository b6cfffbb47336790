"""Values that threads may read first at the same time are complete once imported."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from dovetail.protocol.codec import ready

pytestmark = pytest.mark.processes

COMPLETE = """
import gc
from {module} import {name}

assert "StructInfo" in [type(each).__name__ for each in gc.get_referents({name})]
"""


def complete(kind: Any) -> bool:
    """Return whether msgspec has all it needs to read a type, which it keeps with it."""
    return "StructInfo" in [type(each).__name__ for each in gc.get_referents(kind)]


def test_types_and_what_they_hold_are_made_complete() -> None:
    class Inner(msgspec.Struct):
        x: int

    Outer = msgspec.defstruct("Outer", [("inner", list[Inner])])  # noqa: N806
    assert not complete(Outer)
    ready(Outer)
    assert complete(Outer)
    assert complete(Inner)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("dovetail.protocol.scenes", "Scene"),
        ("dovetail.protocol.scenes", "Piece"),
        ("dovetail.protocol.codec", "messages.WatchedTurn"),
        ("dovetail.protocol.codec", "messages.AgentStep"),
        ("dovetail_experiments.files.file", "ExperimentFile"),
    ],
)
def test_a_program_that_imports_them_finds_them_complete(module: str, name: str) -> None:
    first = name.partition(".")[0]
    code = COMPLETE.format(module=module, name=first).replace(f"({first})", f"({name})")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
