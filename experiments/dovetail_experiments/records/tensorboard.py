"""Write a record as TensorBoard logs: learning curves and the agents' measures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from dovetail.peer.extras import needed
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.records import schema as s
from dovetail_experiments.records.records import Records

MARK = "dovetail.txt"
"""File that marks our folders of logs, as only these may be overwritten."""


def write(records: Records, logdir: Path) -> Iterator[tuple[Path, int]]:
    """Write the logs of each execution to its own folder; yield the folder and its number of
    values.

    The step of an evaluation is the number of learning episodes before it, that of a measure the
    episode in the learning phases.  Earlier logs are replaced.

    Args:
        logdir: the folder that ``tensorboard --logdir`` reads.

    Raises:
        DovetailError: tensorboardX is not installed, or a folder is not ours or cannot be written.
    """
    module = needed("tensorboardX")
    for execution in records.rows("executions"):
        title = "-".join(filter(None, (execution["name"], execution["variant"])))
        title = "".join(each if each.isalnum() or each in "-_.=" else "-" for each in title)
        folder = logdir / f"{execution['id']:03}-{title}-seed-{execution['seed']}"
        try:
            _cleared(folder)
            writer = module.SummaryWriter(str(folder))
            count = 0
            for name, value, step in _values(records, execution["id"]):
                writer.add_scalar(name, value, step, walltime=execution["started"])
                count += 1
            writer.close()
        except OSError as error:
            raise DovetailError(f"cannot write {folder}: {error.strerror or error}") from None
        yield folder, count


def _values(records: Records, execution: int) -> Iterator[tuple[str, float, int]]:
    """Yield names, values and steps: evaluations first, then measures."""
    where = [f"execution={execution}"]
    keys = ["played", "agent", "trained"]
    for row in records.rows(by=keys, where=[*where, "kind=evaluation"]):
        for what in ("score", "return", "turns"):
            if row[what] is not None:
                yield f"{row['played']}/{row['agent']}/{what}", row[what], row["trained"]
    m, e, t, g = s.measures, s.episodes, s.seats, s.stages
    learning = (
        sa.select(
            e.c.id, sa.func.row_number().over(order_by=[g.c.number, e.c.number]).label("step")
        )
        .join(g, e.c.stage == g.c.id)
        .where(g.c.execution == execution, g.c.kind != "evaluation", ~e.c.again)
        .subquery()
    )
    query = (
        sa.select(m.c.name, t.c.agent, m.c.value, learning.c.step)
        .join(learning, m.c.episode == learning.c.id)
        .join(t, (t.c.episode == m.c.episode) & (t.c.seat == m.c.seat))
        .where(m.c.value.is_not(None))
        .order_by(learning.c.step)
    )
    with records.connection() as connection:
        for name, agent, value, step in connection.execute(query):
            yield f"{agent}/{name}", value, step


def _cleared(folder: Path) -> None:
    """Empty a folder that is new or has earlier logs."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise DovetailError(f"{folder} has other files; choose another LOGDIR or remove them")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("events.out.tfevents.*"):
        old.unlink()
    (folder / MARK).write_text("written by `dovetail tensorboard`\n")
