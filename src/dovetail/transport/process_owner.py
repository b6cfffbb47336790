"""The process that owns a handle: a copy in a forked child must do nothing.

A copy shares sockets, files and child processes with the original: what it said or closed would be
said or closed in the name of the parent.
"""

from __future__ import annotations

import os

from dovetail.protocol.errors import DovetailError

_process = os.getpid()
"""This process; ``os.getpid`` would be a call to the system each time."""


def _forked() -> None:
    global _process
    _process = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Owner:
    """The process that made a handle."""

    __slots__ = ("process",)

    def __init__(self) -> None:
        self.process = _process

    @property
    def here(self) -> bool:
        """True in that process, False in a child that was forked from it."""
        return self.process == _process

    def check(self, what: str, instead: str) -> None:
        """Refuse a handle of the parent.

        Args:
            what: the handle in words, such as ``this connection``.
            instead: the advice for a child.

        Raises:
            DovetailError: this is a child of the process that made it.
        """
        if self.process != _process:
            raise DovetailError(
                f"{what} belongs to process {self.process}, from which this one was "
                f"forked; {instead}"
            )
