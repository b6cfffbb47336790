"""A limit on the log lines that peers cause."""

from __future__ import annotations

import logging
import time

MAX_LINES = 10
"""Lines in a period; others are counted."""
PERIOD = 10.0
"""Seconds."""
KNOWN = 100
"""Lines in a period about peers that have a session."""


class Lines:
    """Writes warnings, and counts those beyond ``most`` in a period; the next line says how
    many."""

    def __init__(self, log: logging.Logger, most: int = MAX_LINES) -> None:
        self._log = log
        self._most = most
        self._began = 0.0
        self._written = 0
        """Since the period began."""
        self._omitted = 0
        """Since the last line that was written."""

    def warn(self, text: str) -> None:
        """Write a line, or count it."""
        now = time.monotonic()
        if now - self._began >= PERIOD:
            self._began, self._written = now, 0
        if self._written >= self._most:
            self._omitted += 1
            return
        self._written += 1
        if self._omitted:
            text += f" ({self._omitted:,} lines like this one were left out)"
            self._omitted = 0
        self._log.warning("%s", text)
