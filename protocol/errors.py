"""The errors of the contract.  Each carries a code of SPEC.md and one line for a person."""

from __future__ import annotations

from typing import Literal

Code = Literal[
    "malformed",
    "limit",
    "unknown-type",
    "invalid",
    "hello-first",
    "version",
    "access",
    "name-taken",
    "wrong-state",
    "unknown",
    "illegal",
    "unavailable",
    "crashed",
    "journal",
]


class DovetailError(Exception):
    """Anything a user can meet: ``str(error)`` is one line that says what, where and what to do."""


class ProtocolError(DovetailError):
    """A message that the contract refuses.

    ``code`` is one of SPEC.md's error codes; ``kind`` the message's type and ``about`` what it names
    of ``id``, ``episode``, ``seat`` and ``match``, as far as either can be read.
    """

    def __init__(
        self, code: Code, message: str, kind: str = "", about: dict[str, int] | None = None
    ) -> None:
        super().__init__(message)
        self.code: Code = code
        self.kind = kind
        self.about = about or {}


class Refused(DovetailError):
    """A request that the broker, or whom it was for, refused with an ``error``.

    ``code`` is one of SPEC.md's error codes, or one of a later version.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class IllegalAction(DovetailError):
    """The rules refuse an action; the text names it and what is legal.

    ``seat`` is the seat whose action it is, if it is one seat's.
    """

    def __init__(self, message: str, seat: int | None = None) -> None:
        super().__init__(message)
        self.seat = seat
