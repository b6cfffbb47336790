"""The rows of the Dominion study; table and figure numbers are those of its own text."""

from __future__ import annotations

from dovetail_studies.dominion import transfer, yardstick
from dovetail_studies.dominion.kingdom import CARDS_ADDED, LAST_VERSION
from dovetail_studies.dominion.scripted import SCRIPTED
from dovetail_studies.dominion.versions import COUNTED, FIRST_VALUES, TWO_PLAYERS, VERSIONS
from dovetail_studies.rows import Study

STUDY = Study(
    "dominion",
    "Q-learning and forced exploration in Dominion",
    (
        *SCRIPTED,
        *COUNTED,
        *VERSIONS,
        transfer.ROW,
        TWO_PLAYERS,
        *LAST_VERSION,
        *CARDS_ADDED,
        FIRST_VALUES,
        yardstick.ROW,
    ),
    (
        "The learner sits last, and ties are fair unless a row says otherwise. A purchase earns "
        "its "
        "victory points."
    ),
)
