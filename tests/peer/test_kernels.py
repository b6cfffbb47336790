"""The kernels that numba keeps on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

CALLER = """
from dovetail.peer.kernels import njit
from dovetail.called import (
    NUMBER,
    called,
)

@njit(cache=True)
def calls():
    return called() + NUMBER

print(calls(), sum(calls.stats.cache_hits.values()))
"""
CALLED = """
from dovetail.peer.kernels import njit
from dovetail.numbers_of_it import NUMBER

@njit(cache=True)
def called():
    return {}
"""


def run(folder: Path) -> tuple[int, int]:
    """Return what the kernel returns in a program of its own, and how often it was found on
    disk."""
    code = f"import dovetail; dovetail.__path__.append({str(folder)!r}); import dovetail.calls"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    value, hits = done.stdout.split()
    return int(value), int(hits)


def test_a_kernel_is_compiled_again_if_what_it_calls_has_changed(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(CALLER)
    (tmp_path / "called.py").write_text(CALLED.format(1))
    (tmp_path / "numbers_of_it.py").write_text("NUMBER = 10")
    assert run(tmp_path) == (11, 0)
    assert run(tmp_path) == (11, 1)
    (tmp_path / "called.py").write_text(CALLED.format(2))
    assert run(tmp_path) == (12, 0)
    (tmp_path / "numbers_of_it.py").write_text(
        "NUMBER = 20"
    )  # of a module that only the called one imports
    assert run(tmp_path) == (22, 0)
    assert run(tmp_path) == (22, 1)


TAKES = """
from typing import NamedTuple
from dovetail.peer.kernels import njit

class {name}(NamedTuple):
    number: int

@njit(cache=True)
def calls(pair):
    return pair.number

print(calls({name}(7)), sum(calls.stats.cache_hits.values()))
"""


def test_what_is_kept_of_older_code_may_name_classes_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(TAKES.format(name="Old"))
    assert run(tmp_path) == (7, 0)
    assert run(tmp_path) == (7, 1)
    (tmp_path / "calls.py").write_text(TAKES.format(name="New"))
    assert run(tmp_path) == (7, 0)
