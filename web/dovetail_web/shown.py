"""The maker of pages, for the modules that have some."""

from __future__ import annotations

from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response


class Shown(Protocol):
    """Returns a page made from a template."""

    def __call__(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        """Return it."""
