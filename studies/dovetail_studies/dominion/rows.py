"""The rows of the Dominion study, whose tables and figures are cited by their numbers."""

from __future__ import annotations

from dovetail_studies.dominion import kingdom, network, scripted, transfer, versions, yardstick
from dovetail_studies.rows import declared

STUDY = declared(
    "dominion",
    {
        **scripted.CODE,
        **versions.CODE,
        **kingdom.CODE,
        "transfer": transfer.CODE,
        "optimal": yardstick.CODE,
        "network": network.CODE,
    },
)
