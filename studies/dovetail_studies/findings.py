"""Conclusions of the studies and their verdicts here, from ``findings.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Literal, NamedTuple

import msgspec

from dovetail.protocol.errors import DovetailError

Tables = Mapping[str, Sequence[Sequence[str]]]
"""Lines of each row's table, by the row's key."""
_FIGURE = re.compile(r"\{([^{}|]+)\|([^{}|]+)(?:\|(\d+))?\}")
_SIGNS = re.compile(" [≈≠]")


class Finding(NamedTuple):
    """A conclusion of a study."""

    says: str
    """Sentence of the study."""
    holds: Literal["yes", "no", "in part", "open", "-"]
    """Verdict here; a dash if the study draws no conclusion."""
    here: str
    """Finding here, with the row that shows it and placeholders of figures."""

    def rests_on(self, row: str) -> bool:
        """Return true if the finding names a row."""
        return f"`{row}`" in self.here

    def filled(self, tables: Tables) -> Finding:
        """Return the finding with its figures, taken from the study's tables.

        Raises:
            DovetailError: a table has no such line or column.
        """

        return self._replace(here=filled(self.here, tables))


class LiteratureLine(msgspec.Struct, forbid_unknown_fields=True):
    """A game's strongest player, compared with the literature."""

    game: str
    row: str
    """Row that measured the player."""
    player: str
    figure: str
    """Meaning of the figure, and its placeholder."""
    literature: str
    missing: str
    """Known difference between the two."""


def filled(text: str, tables: Tables) -> str:
    """Fill the placeholders of a text with figures from tables.

    Raises:
        DovetailError: a table has no such line or column.
    """

    def figure(found: re.Match[str]) -> str:
        row, name, column = found.groups()
        try:
            [line] = (line for line in tables[row] if line[0] == name)
            return _SIGNS.sub("", line[int(column or -1)])
        except (KeyError, IndexError, ValueError):
            raise DovetailError(f"findings.toml: the tables have no figure {found[0]}") from None

    return _FIGURE.sub(figure, text)


class _File(msgspec.Struct, forbid_unknown_fields=True):
    terms: dict[str, str]
    texts: dict[str, str]
    uncompared: dict[str, dict[str, str]]
    rlgame: list[dict[str, Any]]
    amazons: list[dict[str, Any]]
    dominion: list[dict[str, Any]]
    tetris: list[dict[str, Any]]
    dots: list[dict[str, Any]]
    beside: list[LiteratureLine]


_FILE = msgspec.toml.decode(
    resources.files("dovetail_studies").joinpath("findings.toml").read_bytes(), type=_File
)
TERMS: Mapping[str, str] = _FILE.terms
"""Glossary of the studies' tables and conclusions."""
TEXTS: Mapping[str, str] = _FILE.texts
"""Text of the pages, with figures by name."""
UNCOMPARED: Mapping[str, Mapping[str, str]] = _FILE.uncompared
"""Reasons why rows have no compared figure, if not that the study gives its result in words."""
FINDINGS: Mapping[str, Sequence[Finding]] = {
    name: [Finding(**each) for each in getattr(_FILE, name)]
    for name in ("rlgame", "amazons", "dominion", "tetris", "dots")
}
BESIDE: Sequence[LiteratureLine] = _FILE.beside
"""Strongest players, for studies/pages/best.md."""
