"""GTP 2 from the side of a controller."""

from __future__ import annotations

import time

from dovetail.bridges.engine import Engine
from dovetail.protocol.errors import DovetailError

PROMPT = 20.0
"""Seconds for every command but ``genmove``."""


class GtpEngine:
    """An engine that answers GTP commands.

    Raises:
        DovetailError: it does not speak GTP 2.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        if self.ask("protocol_version").strip() not in ("2", ""):
            raise DovetailError(f"the engine {engine.name} does not speak GTP version 2")

    def ask(self, line: str, timeout: float = PROMPT) -> str:
        """Send a command; return the text of its answer.

        Raises:
            DovetailError: the engine refuses it, is too slow, or is gone.
        """
        self.engine.say(line)
        end = time.monotonic() + timeout
        first = self.engine.until(lambda each: each.startswith(("=", "?")), end - time.monotonic())
        lines = [first[1:].lstrip("0123456789").strip()]
        while more := self.engine.hear(end - time.monotonic()):
            lines.append(more)
        if first.startswith("?"):
            raise DovetailError(f"the engine {self.engine.name} refuses {line!r}: {lines[0]}")
        return "\n".join(lines)
