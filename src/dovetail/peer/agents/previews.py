"""Decodes the environment's answer to a lookahead."""

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
    """Return the positions in a reply to a number of lines, in process as they are; ignore unknown
    fields.

    Raises:
        DovetailError: it is invalid, or has another number of positions.
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
