"""Agent files written for Kaggle's environments, as agents here.

``worker`` is the program that runs such a file, ``process`` talks to it, ``views`` makes the
observations that the files expect, and ``agent`` is the Dovetail agent.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Kaggle"]


def __getattr__(name: str) -> Any:
    if name != "Kaggle":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("dovetail_bridges.kaggle.agent").Kaggle
