"""The tables of an arena.  Raise ``VERSION`` with every change."""

from __future__ import annotations

import sqlalchemy as sa

VERSION = 5
"""Version 2 added ``seasons.final``, 3 ``units.software``, 4 presence, games on request,
submissions and the origin of log lines, and 5 two indices of ``units``."""

metadata = sa.MetaData()

arena = sa.Table("arena", metadata, sa.Column("version", sa.Integer, primary_key=True))
"""A single row with the version of the tables."""

entrants = sa.Table(
    "entrants",
    metadata,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("token", sa.String, nullable=False, unique=True),
    sa.Column("invited", sa.Float, nullable=False),
    sa.Column("state", sa.String, nullable=False, server_default="active"),
    sa.Column("why", sa.Text, nullable=False, server_default=""),
)
"""The invited entrants; ``token`` is the SHA-256 of the access token in hexadecimal, or a public
key."""

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
"""Programs in a ladder; a baseline has no ``entrant``. ``faults`` counts consecutive losses by
fault. ``since`` is when an online program connected, ``seen`` when it was last online, and
``address`` its address."""

seasons = sa.Table(
    "seasons",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("ended", sa.Float),
    sa.Column("final", sa.Float),
)
"""Seasons; ``final`` is the start of the final, a round robin that ends the season."""

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
"""Games that count together: all seatings of the same players, on one seed. ``played`` numbers
finished units in order, ``dropped`` is why a unit will not be played, and ``software`` the version
of the arena that played it. ``asked`` is who requested an unrated unit."""

sa.Index("ix_units_played", units.c.season, units.c.ladder, units.c.played)
sa.Index(
    "ix_units_pending",
    units.c.season,
    sqlite_where=units.c.played.is_(None) & units.c.dropped.is_(None),
)

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
"""Events with their subjects and reasons: pauses, bans, notes, seasons. Times are in seconds since
1970, UTC; ``by`` is the origin of the action."""

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
"""Versions of uploaded agents: the file's name, its SHA-256, and the state
(``submissions.SubmissionState``)."""
