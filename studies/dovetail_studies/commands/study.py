"""``dovetail study``: run the tables and figures of the five studies and write their pages."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.common import UsageError, show

if TYPE_CHECKING:
    from rich.table import Table

    from dovetail_studies.pages import RowState


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("study")(study)


def study(
    name: Annotated[
        str | None,
        typer.Argument(
            help=(
                "rlgame, amazons, dominion, tetris or dots; across for the table of all "
                "learners, best for the strongest learner of each game."
            )
        ),
    ] = None,
    row: Annotated[str | None, typer.Argument(help="One of its rows; all if not given.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run in a minute or two.")] = False,
    part: Annotated[
        bool, typer.Option("--part", help="Run at a size between --quick and the study's.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings of each row; their seeds are 1, 2, ...")
    ] = None,
    first_seed: Annotated[
        int,
        typer.Option(
            min=1,
            help=(
                "The lowest seed; with another than 1, say how many figures lie where those of "
                "the page predict them."
            ),
        ),
    ] = 1,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of processes; default: one for each core.")
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            help="Do the pieces on a cluster: `ray` for the one of this machine, or ray:HOST:PORT.",
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Run every study, across and best.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the rows and run nothing.")] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Measure all again, train only learners whose states are not kept, and compare.",
        ),
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Run nothing; write studies/pages from the runs so far.")
    ] = False,
) -> None:
    """Reproduce a published study and compare its figures with ours.

    Finished work is kept in out/studies; an interrupted run continues from there.

    Example: dovetail study dominion bots-2 --quick
    """
    from dovetail_studies import alike, pages, rows, working

    if quick and part:
        raise UsageError("--quick and --part cannot be used together")
    if name is not None and all_:
        raise UsageError(f"--all runs every study, {name} too; leave out one of them")
    if name is None and not all_:
        raise UsageError(f"give a study or --all; the studies are {', '.join(rows.ALL)}")
    ignored = {"--quick": quick, "--part": part, "--seeds": seeds, "--again": again}
    ignored["--first-seed"] = first_seed > 1
    for given in [row, *(option for option, value in ignored.items() if value)]:
        if page and given is not None:
            raise UsageError(
                f"--page writes the page of all rows from the runs so far; leave out {given}"
            )
    if again and first_seed > 1:
        raise UsageError(
            "--again repeats kept results, which begin at seed 1; leave out --first-seed"
        )
    if again and on is not None:
        raise UsageError("--again reads states that are kept on this machine; leave out --on")
    studies = [rows.study(each) for each in (rows.ALL if name is None else (name,))]
    if page:
        for whole in studies:
            typer.echo(f"{pages.write(whole.name)} is written")
        return
    size: rows.SizeName = "quick" if quick else "part" if part else "study"
    chosen = [(whole, whole.rows if row is None else [whole.row(row)]) for whole in studies]
    if listed:
        for whole, some in chosen:
            show(_listing(whole.name, [pages.find(whole, one) for one in some]))
        return
    if row is None:
        chosen = [(whole, [one for one in some if one.runs]) for whole, some in chosen]
    with tempfile.TemporaryDirectory(prefix="dovetail-again-") as folder:
        # A private folder keeps two such commands at once from disturbing each other.
        own = Path(folder) if again else None
        # Pages use the seeds from 1 on; other seeds have their own folder.
        out = working.OUT if first_seed == 1 else working.OUT / f"from-seed-{first_seed}"
        working.run(
            *(chosen, size, seeds, jobs if on is not None else jobs or os.cpu_count() or 1),
            told=lambda line: typer.echo(line, err=True),
            again=own,
            first=first_seed,
            out=out,
            on=on,
        )
        for whole, some in chosen:
            for one in some:
                found = pages.at(whole, one, working.pick(one, size), seeds, own or out, first_seed)
                typer.echo("\n".join(pages.section(whole, found)))
                if again:
                    typer.echo(pages.compared(whole, found))
                    typer.echo(alike.said(whole, one))
                if first_seed > 1:
                    typer.echo(pages.fresh(whole, found))


def _listing(name: str, found: list[RowState]) -> Table:
    from rich.table import Table

    from dovetail_studies import pages

    table = Table(title=name, title_justify="left", title_style="bold")
    for column in ("row", "result", "sizes", "run at", "compared with the study"):
        table.add_column(column, overflow="fold")
    for each in found:
        sizes = ", ".join(each.row.sizes) or "none"
        table.add_row(each.row.key, each.row.title, sizes, pages.ran(each), pages.verdict(each))
    return table
