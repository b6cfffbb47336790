"""Rows of the Dominion study, which cite its tables and figures by number."""

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
