"""``dovetail study``: run the tables and figures of the five studies, and write their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.common import UsageError, show

if TYPE_CHECKING:
    from rich.table import Table

    from dovetail.experiments.studies.pages import Found


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("study")(study)


def study(
    name: Annotated[
        str | None,
        typer.Argument(
            help="rlgame, amazons, dominion, tetris, dots, or across for all at one table."
        ),
    ] = None,
    row: Annotated[str | None, typer.Argument(help="One of its rows; all if not given.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run in a minute or two.")] = False,
    part: Annotated[
        bool, typer.Option("--part", help="Run at a size between --quick and the study's.")
    ] = False,
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke",
            help="Run one piece of each kind of work at the size of --quick; draw nothing.",
        ),
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings of each row, with seeds from 1 on.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    all_: Annotated[bool, typer.Option("--all", help="Run every study.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the rows and run nothing.")] = False,
    page: Annotated[
        bool,
        typer.Option("--page", help="Run nothing; write docs/studies from what has been run."),
    ] = False,
) -> None:
    """Run what a study printed again, and show its figures beside ours.

    What has been done is kept in out/studies, and a run that was stopped continues.

    Example: dovetail study dominion bots-2 --quick
    """
    from dovetail.experiments.studies import pages, rows, working

    if quick + part + smoke > 1:
        raise UsageError("--quick, --part and --smoke exclude each other; give one of them")
    if (name is None) == (not all_):
        raise UsageError(f"give a study or --all; the studies are {', '.join(rows.STUDIES)}")
    names = rows.STUDIES if name is None else (name,)
    size: rows.SizeName = "quick" if quick or smoke else "part" if part else "study"
    for each in names:
        whole = rows.study(each)
        chosen = [whole.row(row)] if row is not None else list(whole.rows)
        if listed:
            show(_listing(whole.name, [pages.find(whole, one) for one in chosen]))
            continue
        if page:
            typer.echo(f"{pages.write(each)} is written")
            continue
        able = chosen if row is not None else [one for one in chosen if one.runs]
        if smoke:  # the first row of each kind of work
            able = list({one.work: one for one in reversed(able)}.values())[::-1]
        working.run(
            *(whole, able, size, seeds, jobs),
            told=lambda line: typer.echo(line, err=True),
            most=1 if smoke else None,
        )
        for one in () if smoke else able:
            found = pages.at(whole, one, working.pick(one, size), seeds)
            typer.echo("\n".join(pages.section(whole, found)))


def _listing(name: str, found: list[Found]) -> Table:
    from rich.table import Table

    from dovetail.experiments.studies import pages

    table = Table(title=name, title_justify="left", title_style="bold")
    for column in ("row", "result", "sizes", "run at", "compared with the study"):
        table.add_column(column, overflow="fold")
    for each in found:
        sizes = ", ".join(each.row.sizes) or "none"
        table.add_row(each.row.key, each.row.title, sizes, pages.ran(each), pages.verdict(each))
    return table
