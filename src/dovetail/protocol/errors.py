"""The errors of the contract.  Each carries a code of SPEC.md and one line for a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, get_args

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
    "seats",
    "lookahead",
    "timeout",
    "cancelled",
    "crashed",
    "journal",
]
CODES: Final = frozenset(get_args(Code))


class DovetailError(Exception):
    """The base of all errors; ``str(error)`` is one line: what failed, where, and what to do."""


@contextmanager
def attempting(what: str) -> Iterator[None]:
    """Turn an error of the system in the context into ``cannot WHAT: ...``, in one line."""
    try:
        yield
    except OSError as error:
        raise DovetailError(f"cannot {what}: {error.strerror}") from None


class ProtocolError(DovetailError):
    """A message that the contract refuses.

    ``code`` is one of SPEC.md's error codes.  If they can be read, ``kind`` is the message's type
    and ``about`` holds its ``version``, ``id``, ``match``, ``episode``, ``turn``, ``seat``,
    ``answers`` and ``seq``.
    """

    def __init__(
        self, code: Code, message: str, kind: str = "", about: dict[str, int] | None = None
    ) -> None:
        super().__init__(message)
        self.code: Code = code
        self.kind = kind
        self.about = about or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, str(self), self.kind, self.about)


class Refused(DovetailError):
    """A request that the broker or its addressee refused with an ``error``.

    ``code`` is one of SPEC.md's error codes, or one of a later version.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, str(self))


class Forfeit(Refused):
    """Raised by an agent at a decision if its player, such as an engine, failed.

    Args:
        code: ``timeout`` if the player was too slow, which counts as a late answer;
            ``unavailable`` if it is gone or does not answer, which loses the game.
        message: one line that says which player failed, and how.
    """


class NoLookahead(DovetailError):
    """An environment does not support lookahead here; the text says why."""


class IllegalAction(DovetailError):
    """The rules refuse an action; the text names it and what is legal.

    ``seat`` is the seat that acted, if it is a single one.
    """

    def __init__(self, message: str, seat: int | None = None) -> None:
        super().__init__(message)
        self.seat = seat
