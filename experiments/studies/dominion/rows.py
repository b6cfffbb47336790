"""The rows of the Dominion study; section and table numbers are those of its own text."""

from __future__ import annotations

from dovetail.experiments.studies.dominion import transfer
from dovetail.experiments.studies.dominion.kingdom import CARDS_ADDED, LAST_VERSION
from dovetail.experiments.studies.dominion.scripted import SCRIPTED
from dovetail.experiments.studies.dominion.versions import (
    COUNTED,
    FIRST_VALUES,
    TWO_PLAYERS,
    VERSIONS,
)
from dovetail.experiments.studies.rows import Row, Study

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
        Row(
            "optimal",
            "Whether the strategy is optimal",
            "the author believes it (section 5.9); nothing is measured.",
            missing="it is a belief; the nearest measurement, Big Money with one or two Smithies as a yardstick, has no player yet",
        ),
    ),
    "The learner sits last, and ties are fair unless a row says otherwise. A purchase earns its victory points.",
)
