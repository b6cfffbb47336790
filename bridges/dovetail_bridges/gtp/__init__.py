"""GTP: Go engines as agents, and agents as GTP players."""

from __future__ import annotations

from dovetail_bridges.gtp.agent import Gtp

__all__ = ["Gtp"]
