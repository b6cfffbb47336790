"""Where the broker is, unless told otherwise.  Imports nothing, so that ``--help`` is quick."""

from __future__ import annotations

import os

ADDRESS = "tcp://127.0.0.1:5757"
"""Where a broker is, unless told otherwise."""


def broker(address: str | None, token: str | None) -> tuple[str, str | None]:
    """Return where the broker is and its access token: as given, or by DOVETAIL_BROKER and DOVETAIL_TOKEN."""
    return (
        address or os.environ.get("DOVETAIL_BROKER") or ADDRESS,
        token if token is not None else os.environ.get("DOVETAIL_TOKEN"),
    )
