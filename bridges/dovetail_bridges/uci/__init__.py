"""UCI: chess engines as agents, and agents as chess engines."""

from __future__ import annotations

from dovetail_bridges.uci.agent import Uci

__all__ = ["Uci"]
