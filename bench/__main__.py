"""``python -m bench``: measure Dovetail and its references, print a table and save it."""

from __future__ import annotations

import functools
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import report
from bench.driven import measure, trees
from bench.groups import GROUPS
from bench.report import Result

HERE = Path(__file__).resolve().parent
RESULTS, HISTORY = HERE / "results.md", HERE / "history.jsonl"
MINUTES = 13.0
"""Duration of a complete run, in minutes."""


def main(
    rows: Annotated[
        list[str] | None,
        typer.Option(help=f"Only these rows, of {', '.join(GROUPS)}; may be repeated."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds of each burst.")] = 0.8,
    rounds: Annotated[int, typer.Option(min=1, help="Number of bursts of each subject.")] = 5,
    minutes: Annotated[
        float, typer.Option(min=0.1, help="Minutes in all; a short time means fewer rounds.")
    ] = MINUTES,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the table, beside which `curves.svg` goes; `bench/results.md` for a whole run."
        ),
    ] = None,
) -> None:
    """Measure turns per second against references on this machine, with the plan's targets."""
    console = Console(stderr=True, highlight=False)
    wanted = rows or list(GROUPS)
    if unknown := set(wanted) - set(GROUPS):
        console.print(f"no rows {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
        raise typer.Exit(2)
    chosen = {name: GROUPS[name] for name in GROUPS if name in wanted}
    load = os.getloadavg()[0]
    found: list[Result] = []
    begun = time.monotonic()
    with trees(chosen) as there:
        to_do = sum(group.bursts for group in chosen.values())
        for name, group in chosen.items():
            now = time.monotonic()
            until = now + (begun + 60 * minutes - now) * group.bursts / to_do
            to_do -= group.bursts
            tell = functools.partial(console.print, f"  {name}:", style="dim", markup=False)
            rates = measure(group, there, seconds, rounds, until, tell)
            found += report.results(group, rates)

    took = (time.monotonic() - begun) / 60
    notes = [
        f"at most {rounds} rounds of {seconds:g} s a subject, after 0.3 s that do not count; {took:.1f} minutes in all",
        f"load of the machine before it: {load:.1f}",
        *(group.note for group in chosen.values() if group.note),
    ]
    print(*report.as_table(found), *notes, sep="\n")
    target = out or (None if rows else RESULTS)
    if target is not None:
        command = shlex.join(["python", "-m", "bench", *sys.argv[1:]])
        curves = target.with_name("curves.svg")
        report.draw(found, curves)
        if target == RESULTS:
            report.remember(found, HISTORY)
        page = report.as_markdown(found, notes, command, curves.name)
        target.write_text(page, encoding="utf-8")
        print(f"written to {target} and {curves}")
    if not any(row.ratio for row in found):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
