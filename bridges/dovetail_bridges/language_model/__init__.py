"""Agents that ask a language model.

``prompt`` writes the question and parses the answer, ``endpoint`` sends it to a server with an
OpenAI-style interface, and ``agent`` is the agent.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["LanguageModel"]


def __getattr__(name: str) -> Any:
    if name != "LanguageModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("dovetail_bridges.language_model.agent").LanguageModel
