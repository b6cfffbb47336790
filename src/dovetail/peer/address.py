"""The broker's default address.  Imports nothing, so that ``--help`` is fast."""

from __future__ import annotations

import os

ADDRESS = "tcp://127.0.0.1:5757"
"""A broker's default address."""
BROKER, TOKEN = "DOVETAIL_BROKER", "DOVETAIL_TOKEN"
"""The environment variables with the broker's address and the access token."""
ENVIRONMENTS, AGENTS = "hosted-environments", "hosted-agents"
"""The names of the peers inside a broker's own process."""


def broker(address: str | None, token: str | None) -> tuple[str, str | None]:
    """Return the broker's address and access token: given, or from the environment."""
    return (
        address or os.environ.get(BROKER) or ADDRESS,
        token if token is not None else os.environ.get(TOKEN),
    )
