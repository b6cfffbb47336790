"""Digests of the code of rows."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dovetail_studies import code
from dovetail_studies.rows import study

TOP = '''"""The work."""

from __future__ import annotations

import dovetail_games_below as below
from dovetail_games_below import half
from math import sin as wave

NAMES = {"won": "games won"}


class Player:
    """A player."""

    skill = 0.5
    """The share of games won."""


def work(unit):
    """Play."""
    from dovetail_games_below import Rate

    # One more.
    return {NAMES["won"]: below.double(unit["seed"]) + half(wave(Player.skill)) - Rate.value}


def draw(done):
    return f"{done}"
'''
BELOW = '''"""The functions."""

FACTOR = 2
UNUSED = 3
FACTORS = []
FACTORS.append(FACTOR)


class Base:
    def rule(self):
        return 1 < 2


class Rate(Base):
    """A rate."""

    value = 1


def double(value):
    """Return twice the value."""
    return FACTOR * value


def half(value):
    return value / FACTOR


def third(value):
    return value / 3
'''

Digest = Callable[[str, str], str]


@pytest.fixture
def digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Digest:
    """Return the function that returns the digest of ``work`` in two modules of these texts."""
    monkeypatch.syspath_prepend(tmp_path)
    work: Any = SimpleNamespace(__module__="dovetail_games_top", __qualname__="work")

    def found(top: str, below: str) -> str:
        (tmp_path / "dovetail_games_top.py").write_text(top)
        (tmp_path / "dovetail_games_below.py").write_text(below)
        invalidate_caches()
        sys.modules.pop("dovetail_games_below", None)
        for each in (code._parsed, code._place, code._is_module):
            each.cache_clear()
        return code.digest(work)

    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""The work."""', '"""One piece of work."""'),
        ('"""A player."""', '"""A player of the game."""'),
        ('    """The share of games won."""\n', ""),
        ('    """Play."""\n', ""),
        ("# One more.", "# The seed is doubled."),
        ('return {NAMES["won"]: ', 'return {\n        NAMES["won"]:\n        '),
        ('    """A rate."""\n', '    """A rate."""\n\n    pass\n'),
        ("UNUSED = 3", "UNUSED = 4"),
        ("value / 3", "value / 4"),
        ('f"{done}"', 'f"{done}."'),
    ],
)
def test_docstrings_comments_layout_and_other_code_do_not_count(
    digest: Digest, old: str, new: str
) -> None:
    assert (TOP + BELOW).count(old) == 1
    assert digest(TOP.replace(old, new), BELOW.replace(old, new)) == digest(TOP, BELOW)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("skill = 0.5", "skill = 0.6"),
        ('"games won"', '"won games"'),
        ("+ half(", "- half("),
        ("sin as wave", "cos as wave"),
        ("import half\n", "import third as half\n"),
        ("below.double", "below.third"),
        ("FACTOR = 2", "FACTOR = 3"),
        ("FACTOR * value", "value * FACTOR"),
        ("FACTORS.append(FACTOR)", "FACTORS.extend([FACTOR])"),
        ("1 < 2", "1 <= 2"),
        ("value = 1\n", "value = 1.0\n"),
    ],
)
def test_code_that_a_function_reaches_counts(digest: Digest, old: str, new: str) -> None:
    assert (TOP + BELOW).count(old) == 1
    assert digest(TOP.replace(old, new), BELOW.replace(old, new)) != digest(TOP, BELOW)


def test_a_digest_is_equal_in_all_versions_of_python() -> None:
    """``type_params``, empty lists and the ends of nested formats differ in ``ast.dump``."""
    more = "def f(a, *, b=None, **c): return lambda: {**c, 'x': -1.5e300, 'y': f'{a:<{b}}'}\n"
    text = code.plain(ast.parse(TOP + BELOW + more))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "cc6c53dadd89e2a2"


def test_arguments_of_a_partial_function_count() -> None:
    work = import_module("dovetail_studies.rlgame.work").pilot
    assert code.digest(work) != code.digest(partial(work, 1)) != code.digest(partial(work, 2))


def test_every_row_has_a_digest_of_its_own_work() -> None:
    tetris = {row.key: code.digest(row.work) for row in study("tetris").rows if row.work}
    assert tetris["run-1"] == tetris["run-2"]
    assert len({tetris[key] for key in ("handmade", "run-1", "goal", "literature")}) == 4
