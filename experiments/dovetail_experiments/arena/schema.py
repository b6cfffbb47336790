"""The tables of an arena.  A change of a table is a new version: raise ``VERSION``."""

from __future__ import annotations

import sqlalchemy as sa

VERSION = 4
"""Version 1 knew no finals: ``seasons`` had no column ``final``; 2 did not know which code played a
unit; 3 knew neither presence, games by request, submissions nor who did what."""

metadata = sa.MetaData()

arena = sa.Table("arena", metadata, sa.Column("version", sa.Integer, primary_key=True))
"""One row: the version of the tables."""

entrants = sa.Table(
    "entrants",
    metadata,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("token", sa.String, nullable=False, unique=True),
    sa.Column("invited", sa.Float, nullable=False),
    sa.Column("state", sa.String, nullable=False, server_default="active"),
    sa.Column("why", sa.Text, nullable=False, server_default=""),
)
"""The entrants that may connect agents; ``token`` is the SHA-256 of the access token, in
hexadecimal, or a public key."""

players = sa.Table(
    "players",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("ladder", sa.String, nullable=False),
    sa.Column("entrant", sa.String, nullable=False),
    sa.Column("program", sa.String, nullable=False),
    sa.Column("state", sa.String, nullable=False, server_default="active"),
    sa.Column("why", sa.Text, nullable=False, server_default=""),
    sa.Column("faults", sa.Integer, nullable=False, server_default="0"),
    sa.Column("entered", sa.Float, nullable=False),
    sa.Column("since", sa.Float),
    sa.Column("seen", sa.Float),
    sa.Column("address", sa.String),
    sa.UniqueConstraint("ladder", "entrant", "program"),
)
"""A program in a ladder; a baseline has no ``entrant``. ``faults`` counts losses by fault in a row;
``since`` is when it connected, if it is there, ``seen`` when it was last there, and ``address``
from where."""

seasons = sa.Table(
    "seasons",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("ended", sa.Float),
    sa.Column("final", sa.Float),
)
"""``final`` is when the final began: a round robin, after which the season ends."""

units = sa.Table(
    "units",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("season", sa.ForeignKey("seasons.number"), nullable=False, index=True),
    sa.Column("ladder", sa.String, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("planned", sa.Float, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
    sa.Column("played", sa.Integer, unique=True),
    sa.Column("finished", sa.Float),
    sa.Column("dropped", sa.Text),
    sa.Column("software", sa.String, nullable=False, server_default=""),
    sa.Column("asked", sa.String, index=True),
)
"""Games that count together: all rotations of the same players, on one seed. ``played`` numbers
those that count in the order in which they ended; ``dropped`` says why another will not be played,
``software`` what the arena was that played it, and ``asked`` who asked for it: such a unit rates
nothing."""

places = sa.Table(
    "places",
    metadata,
    sa.Column("unit", sa.ForeignKey("units.id"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True),
    sa.Column("player", sa.ForeignKey("players.id"), nullable=False, index=True),
    sa.Column("points", sa.Float),
    sa.Column("mu", sa.Float),
    sa.Column("sigma", sa.Float),
)
"""The players of a unit, and their ratings after it."""

games = sa.Table(
    "games",
    metadata,
    sa.Column("unit", sa.ForeignKey("units.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("episode", sa.Integer, nullable=False),
    sa.Column("reason", sa.String, nullable=False),
    sa.Column("blame", sa.Integer),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("opening", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
)

seats = sa.Table(
    "seats",
    metadata,
    sa.Column("unit", sa.ForeignKey("units.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("seat", sa.Integer, primary_key=True),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("score", sa.Float, nullable=False),
    sa.Column("return", sa.Float, nullable=False),
    sa.Column("decisions", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
)

log = sa.Table(
    "log",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("what", sa.String, nullable=False),
    sa.Column("about", sa.String, nullable=False, server_default=""),
    sa.Column("text", sa.Text, nullable=False, server_default=""),
    sa.Column("by", sa.String),
)
"""The events of the arena, with their subjects and reasons: pauses, bans, notes, seasons; times in
seconds since 1970, UTC; ``by`` is where the act came from."""

submissions = sa.Table(
    "submissions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("entrant", sa.String, nullable=False),
    sa.Column("program", sa.String, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("file", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("why", sa.Text, nullable=False),
    sa.UniqueConstraint("entrant", "program", "version"),
)
"""Agents that entrants have uploaded: each version, the file it was uploaded as, its SHA-256, and
what has become of it (``submissions.SubmissionState``)."""
