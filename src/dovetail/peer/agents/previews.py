"""The environment's answer to a lookahead, as agents get it."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError


class _View(m.View):
    """A view whose values have been decoded."""

    observation: Any = None
    afterstates: Any = None
    scene: Any = None


class _Preview(m.Preview):
    seats: list[_View] = msgspec.field(default_factory=list)  # type: ignore[assignment]


def read(body: Any, lines: int) -> list[m.Preview]:
    """Return the positions in a reply; its unknown fields are ignored.

    Args:
        body: of the reply: objects, or within one process the positions themselves.
        lines: how many were asked about.

    Raises:
        DovetailError: it is something else, or has another number of positions.
    """
    found: list[m.Preview]
    if isinstance(body, list) and all(isinstance(each, m.Preview) for each in body):
        found = body
    else:
        try:
            found = [*msgspec.convert(body, list[_Preview])]
        except msgspec.ValidationError as error:
            raise DovetailError(
                f"the environment's answer to a lookahead cannot be read: {error}"
            ) from None
    if len(found) != lines:
        raise DovetailError(f"{len(found)} answers to {lines} lines")
    return found
