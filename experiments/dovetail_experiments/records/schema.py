"""The tables of the record, and the view for most queries; docs/records.md describes them.

To change a table, raise ``VERSION`` and add a step to ``migrations``.
"""

from __future__ import annotations

import sqlalchemy as sa

VERSION = 4
"""Version of the tables. Version 2 replaced JSON seats and outcomes by tables, 3 added the software
of stages, 4 the writing attempt and ids that are never reused."""

metadata = sa.MetaData()

schema = sa.Table("dovetail_schema", metadata, sa.Column("version", sa.Integer, primary_key=True))
"""A single row with the version of the tables."""

executions = sa.Table(
    "executions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, index=True),
    sa.Column("file", sa.Text, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("started", sa.Float, nullable=False),
    sa.Column("finished", sa.Float),
    sa.Column("trial", sa.Integer),
    sa.Column("variant", sa.String, nullable=False, server_default=""),
    sa.Column("software", sa.String, nullable=False, server_default=""),
    sa.Column("platform", sa.String, nullable=False, server_default=""),
    sa.Column("revision", sa.String, nullable=False, server_default=""),
    sa.Column("python", sa.String, nullable=False, server_default=""),
    sa.Column("numpy", sa.String, nullable=False, server_default=""),
    sa.Column("numba", sa.String, nullable=False, server_default=""),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="1"),
    sa.Column("writer", sa.String, nullable=False, server_default=""),
    sqlite_autoincrement=True,
)
"""An experiment file played once, with one seed; times are in seconds since 1970, UTC.

Only the latest ``attempt``, by ``writer``, may write it.  SQLite would reuse the id of a deleted
row without AUTOINCREMENT, but a writer's id must never become another's.
"""

settings = sa.Table(
    "settings",
    metadata,
    sa.Column("execution", sa.ForeignKey("executions.id"), primary_key=True),
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("value", sa.String, nullable=False),
)
"""A setting of a sweep in an execution: a key of the file, and its value as text."""

stages = sa.Table(
    "stages",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("execution", sa.ForeignKey("executions.id"), nullable=False, index=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("trained", sa.Integer, nullable=False),
    sa.Column("rotate", sa.Boolean, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="1"),
    sa.Column("started", sa.Float),
    sa.Column("finished", sa.Float),
    sa.Column("software", sa.String, nullable=False, server_default=""),
    sqlite_autoincrement=True,
)
"""Part of a phase, or one run of an evaluation, after ``trained`` learning episodes.

``software`` is the version that played it; stages of a resumed execution may differ.
"""

seatings = sa.Table(
    "seatings",
    metadata,
    sa.Column("stage", sa.ForeignKey("stages.id"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True),
    sa.Column("agent", sa.String, nullable=False),
)
"""The agents of a stage in the order of the file; with ``rotate`` they rotate through the seats."""

episodes = sa.Table(
    "episodes",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("stage", sa.ForeignKey("stages.id"), nullable=False, index=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("reason", sa.String, nullable=False),
    sa.Column("blame", sa.Integer),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("scored", sa.Boolean, nullable=False),
    sa.Column("again", sa.Boolean, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("digest", sa.String, nullable=False, server_default=""),
    sa.Column("opening", sa.String, nullable=False, server_default=""),
    sqlite_autoincrement=True,
)
"""One episode; those with ``again`` were interrupted and retried under the same number."""

seats = sa.Table(
    "seats",
    metadata,
    sa.Column("episode", sa.ForeignKey("episodes.id"), primary_key=True),
    sa.Column("seat", sa.Integer, primary_key=True),
    sa.Column("agent", sa.String, nullable=False),
    sa.Column("type", sa.String, nullable=False),
    sa.Column("instance", sa.Integer, nullable=False, server_default="0"),
    sa.Column("return", sa.Float),
    sa.Column("score", sa.Float),
    sa.Column("decisions", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("breaches", sa.Integer, nullable=False),
    sa.Column("ignored", sa.Integer, nullable=False, server_default="0"),
    sa.Column("refused", sa.Integer, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)
"""The results of one seat in one episode; ``score`` is its part of the outcome, if any."""

measures = sa.Table(
    "measures",
    metadata,
    sa.Column("episode", sa.ForeignKey("episodes.id"), primary_key=True),
    sa.Column("seat", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("value", sa.Float),
    sqlite_with_rowid=False,
)
"""The agents' measures: the mean over the episode, NULL if it is not finite."""

states = sa.Table(
    "states",
    metadata,
    sa.Column("execution", sa.ForeignKey("executions.id"), primary_key=True),
    sa.Column("agent", sa.String, primary_key=True),
    sa.Column("stage", sa.Integer, nullable=False),
    sa.Column("state", sa.LargeBinary, nullable=False),
    sa.Column("saved", sa.Float),
)
"""The latest saved state of each learner, and the number of the stage before it."""

RESULTS = """
CREATE VIEW results AS
SELECT executions.id AS execution, executions.name AS experiment, executions.variant AS variant,
  executions.seed AS seed, stages.number AS stage, stages.kind AS kind, stages.name AS played,
  stages.trained AS trained, episodes.number AS episode, episodes.seed AS episode_seed,
  episodes.reason AS reason, episodes.blame AS blame, episodes.turns AS turns,
  episodes.digest AS digest, episodes.opening AS opening, seats.seat AS seat,
  seats.agent AS agent, seats.type AS type, seats."return" AS "return", seats.score AS score,
  seats.decisions AS decisions, seats.seconds AS seconds, seats.breaches AS breaches,
  seats.ignored AS ignored, seats.refused AS refused
FROM seats
JOIN episodes ON seats.episode = episodes.id
JOIN stages ON episodes.stage = stages.id
JOIN executions ON stages.execution = executions.id
WHERE episodes.scored AND NOT episodes.again
"""
"""A row for each seat of each episode that counts."""

VIEWS = {"results": RESULTS}
