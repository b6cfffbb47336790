"""``dovetail dataset``: an agent's games as a dataset for offline learning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.common import RecordedEnv
from dovetail_experiments.commands.results import journals, labels, open_records

if TYPE_CHECKING:
    from dovetail.protocol.journal import EpisodeRecord


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(dataset)


def dataset(
    out: Annotated[Path, typer.Argument(metavar="OUT")],
    name: Annotated[str, typer.Argument(metavar="DATASET")],
    agent: Annotated[str, typer.Option(metavar="NAME")],
    stage: Annotated[str, typer.Option(metavar="NAME")] = "",
    seat: Annotated[int | None, typer.Option(min=0)] = None,
    env: RecordedEnv = None,
) -> None:
    """Write an agent's games as a dataset for offline learning, in Minari's format.

    Minari keeps it in MINARI_DATASETS_PATH; minari.load_dataset(DATASET) reads it.

    Example: dovetail dataset out/connect_four_two_learners connect-four/td-v0 --agent first

    Args:
        out: The folder of an experiment (out/NAME).
        name: Minari's name, such as connect-four/td-v0.
        agent: Agent whose decisions to write: NAME of [agents.NAME].
        stage: Only games of this phase or evaluation.
        seat: Only games in which the agent has this seat.
    """
    from dovetail.cli.records import recorded
    from dovetail.peer.registry import register
    from dovetail_bridges.gymnasium.datasets import create
    from dovetail_experiments.reports import games

    with open_records(str(out)) as records:
        known = labels(records)
    loaded: set[str] = set()

    def chosen() -> Iterator[tuple[EpisodeRecord, int]]:
        for journal in journals(out):
            for _, record in games.counted(journal):
                played = known.get(record.label)
                if played is None or stage not in ("", played.stage):
                    continue
                for number, whose in enumerate(games.players(record, played)):
                    if whose != agent or seat not in (None, number):
                        continue
                    if record.environment not in loaded:
                        kind = recorded(record.environment, env)
                        register("environment", record.environment, kind)
                        loaded.add(record.environment)
                    yield record, number

    made = create(name, agent, chosen())
    print(
        f"{name}: {made.total_episodes:,} episodes with {made.total_steps:,} steps in "
        f"{made.storage.data_path}"
    )
