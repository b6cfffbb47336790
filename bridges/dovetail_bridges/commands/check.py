"""``dovetail bridges check``: counts the installed foreign games that can be played."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from dovetail.cli.common import OK, UsageError, warn
from dovetail.cli.group import group
from dovetail.cli.standard_streams import reserved
from dovetail.protocol import json_text as jsontext

ABSENT = re.compile(r"\b(DependencyNotInstalled|FailedToImport|ModuleNotFoundError|ImportError)\b")
"""Errors of games whose own packages are missing."""

app = group(name="bridges", help="Try the bridges with what is installed.")


def add(to: typer.Typer) -> None:
    """Add the commands."""
    to.add_typer(app)


@app.callback()
def bridges() -> None:
    """Try the bridges with what is installed."""


@app.command("check")
def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="[BRIDGE]...")] = None,
    module: Annotated[list[str] | None, typer.Option(metavar="MODULE")] = None,
    gdl: Annotated[Path | None, typer.Option(metavar="FOLDER", file_okay=False)] = None,
    seconds: Annotated[float, typer.Option(min=0.1)] = 15.0,
    only: Annotated[str, typer.Option(metavar="TEXT")] = "",
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> int:
    """Play one random episode of each foreign game that is installed, and count those that play.

    Example: dovetail bridges check openspiel

    Example: dovetail bridges check gymnasium --module minigrid

    Example: dovetail bridges check gdl --gdl descriptions

    Args:
        names: gymnasium, pettingzoo, openspiel, textarena, gdl; all.
        module: Registers more of Gymnasium's ids, such as minigrid.
        gdl: Game descriptions, in files *.kif.
        seconds: Processor time for each game.
        only: Games with this in the name.
        json_: Print each game as JSON.
    """
    from dovetail_bridges import trials

    chosen = names or list(trials.BRIDGES)
    for name in chosen:
        if name not in trials.BRIDGES:
            raise UsageError(f"no bridge {name!r} to check; there are {', '.join(trials.BRIDGES)}")
    rows = []
    with reserved() as out:
        for name in chosen:
            package, games_of = trials.BRIDGES[name]
            if package and not trials.installed(name):
                warn(f"{name}: {package} is not installed")
                continue
            if name == "gdl" and gdl is not None:
                games = trials.descriptions(gdl)
            else:
                games = games_of(module or ())
            games = [each for each in games if only in each[0]]
            played = absent = 0
            for trial in trials.run(name, games, seconds):
                played += not trial.problem
                absent += bool(ABSENT.search(trial.problem))
                if json_:
                    print(jsontext.write(msgspec.structs.asdict(trial)), file=out, flush=True)
                elif trial.problem:
                    print(f"  {name} {trial.game}: {trial.problem}"[:200], file=out, flush=True)
            rows.append((name, trials.installed(name), played, len(games), absent))
        if not json_:
            today = datetime.datetime.now(datetime.UTC).date()
            print(f"{today}, one random episode each, {seconds:g} s of processor time:", file=out)
            for name, what, played, count, absent in rows:
                with_ = f" ({what})" if what else ""
                lacking = f"; {absent} need packages that are absent" if absent else ""
                print(f"  {name}{with_}: {played} of {count} play{lacking}", file=out)
    return OK
