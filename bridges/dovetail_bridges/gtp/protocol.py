"""GTP 2 from the side of a controller."""

from __future__ import annotations

import math
import time

from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail_bridges.engine import Engine

PROMPT = 20.0
"""Maximum seconds for any command but ``genmove``."""


class GtpEngine:
    """An engine that answers GTP commands.

    Raises:
        DovetailError: it does not speak GTP 2.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.deadline = math.inf
        """The monotonic time by which all commands of a decision must be answered."""
        if self.ask("protocol_version").strip() not in ("2", ""):
            raise DovetailError(f"{engine.name} does not speak GTP version 2")

    def ask(self, line: str, timeout: float = PROMPT) -> str:
        """Send a command; return the text of its answer.

        Raises:
            DovetailError: the engine refuses it, is too slow, or has exited; after the last two it
                is gone.
        """
        answer: list[str] = []

        def whole(each: str) -> bool:
            if answer or each.startswith(("=", "?")):
                answer.append(each)
            return bool(answer) and not each

        self.engine.say(line)
        left = max(0.0, self.deadline - time.monotonic())
        self.engine.until(whole, round(min(timeout, left), 3))
        text = "\n".join([answer[0][1:].lstrip("0123456789").strip(), *answer[1:-1]])
        if answer[0].startswith("?"):
            raise Forfeit("unavailable", f"{self.engine.name} refuses {line!r}: {text}")
        return text
