"""Games in the Game Description Language, and players of the General Game Playing protocol.

``kif`` parses the text, ``rules`` checks it, ``relations`` and ``program`` evaluate it, and
``game`` is the game and its states; none of them knows Dovetail.  ``environment`` serves a game,
``player`` answers a game manager over HTTP, and ``manager`` is a small game manager.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["GDL"]


def __getattr__(name: str) -> Any:
    if name != "GDL":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("dovetail_bridges.gdl.environment").GDL
