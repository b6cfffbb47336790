"""The error that failed checks raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dovetail.protocol.errors import DovetailError


class CheckFailed(AssertionError):
    """An environment or agent breaks a rule; the text names it, the rule and its guide.

    Args:
        check: the name of the check.
        wrong: the fault.
        expected: the expectation.
        guide: the section of the guide that explains the rule.
    """

    def __init__(self, check: str, wrong: str, expected: str, guide: str) -> None:
        self.check = check
        super().__init__(f"{check}: {wrong}; expected {expected}; see {guide}")


def short(value: Any, limit: int = 80) -> str:
    """Return a value in one line of limited length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


@contextmanager
def no_error(check: str, doing: str, guide: str) -> Iterator[None]:
    """Turn an exception in the code under test into a failed check; DovetailError passes through.

    Raises:
        CheckFailed: the code raised another exception.
    """
    try:
        yield
    except (CheckFailed, DovetailError):
        raise
    except Exception as error:
        wrong = f"{doing} raised {type(error).__name__}: {short(str(error))}"
        raise CheckFailed(check, wrong, "no exception", guide) from error
