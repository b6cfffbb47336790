"""The type of the function that renders pages."""

from __future__ import annotations

from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response


class Shown(Protocol):
    """A function that renders a template."""

    def __call__(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        """Return the page."""
