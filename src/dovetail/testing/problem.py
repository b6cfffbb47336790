"""The error that failed checks raise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dovetail.protocol.errors import DovetailError
from dovetail.transport.process_owner import Owner


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
    try:
        text = " ".join(repr(value).split())
    except Exception as error:
        text = f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


@contextmanager
def no_error(check: str, doing: str, guide: str) -> Iterator[None]:
    """Turn an exception in the code under test into a failed check; DovetailError passes through.

    ``sys.exit`` in it must not decide how the check ends, and a child that it forked ends here.

    Raises:
        CheckFailed: the code raised another exception.
    """
    owner = Owner()
    try:
        try:
            yield
        finally:
            if not owner.here:
                os._exit(1)
    except (CheckFailed, DovetailError, KeyboardInterrupt):
        raise
    except BaseException as error:
        wrong = f"{doing} raised {type(error).__name__}: {short(str(error))}"
        raise CheckFailed(check, wrong, "no exception", guide) from error
