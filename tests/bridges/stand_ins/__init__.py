"""Small stand-ins for packages that are not in the lock, where the real ones are absent."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest


def installed(name: str) -> bool:
    """Return whether the real package is there."""
    found = sys.modules.get(name)
    return importlib.util.find_spec(name) is not None if found is None else True


def stand_in(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the real package, or have the stand-in take its place."""
    if installed(name):
        return importlib.import_module(name)
    made = importlib.import_module(f"{__name__}.{name}")
    monkeypatch.setitem(sys.modules, name, made)
    return made
