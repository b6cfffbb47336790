"""The version, in a module of its own so that asking for it imports next to nothing."""

from __future__ import annotations

from importlib.util import find_spec

__version__ = "0.2.0"


def compiled() -> bool:
    """Return whether the broker's core is an extension module."""
    found = find_spec("dovetail.broker.core.core")
    return found is not None and not str(found.origin).endswith(".py")
