"""``python -m bench.clients``: an agent and an environment in each language, compared with Python's in the same run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.dovetail_rows import ROOT, Game, networked
from bench.measure import alternate
from bench.table import Figure, Row, as_markdown, for_terminal, machine

RESULTS = Path(__file__).resolve().parent / "clients.md"
MATCHES = (1, 64)
PYTHON = Game("python", "bench.peers:Bench", "bench", "bench.peers:BenchAgent", "bench")


def games() -> dict[str, Game]:
    """Return the bench of each client that is built."""
    found = {}
    for programs in sorted((ROOT / "clients").glob("*/programs.json")):
        name = programs.parent.name
        run = (str(ROOT / "clients" / "run"), name, "bench")
        peers = ((*run, "environment"), (*run, "agent"))
        found[name] = Game(name, "", "bench", "", "bench", peers)
    return found


def main(
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds for each measurement.")] = 3.0,
    repeats: Annotated[int, typer.Option(min=1, help="Number of measurements of each.")] = 3,
    language: Annotated[
        list[str] | None, typer.Option(help="Only this language; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the table; `bench/clients.md` for a whole run.")
    ] = None,
) -> None:
    """Measure turns per second through the broker over tcp; build the clients first (make clients)."""
    console = Console(stderr=True, highlight=False)
    chosen = {name: game for name, game in games().items() if not language or name in language}
    if not chosen:
        console.print(f"unknown client; choose from {', '.join(games())}")
        raise typer.Exit(2)
    rows: list[Row] = []
    notes = [
        f"each measured {repeats} times for {seconds:g} s, alternating between the subjects, over tcp"
    ]
    for matches in MATCHES:
        case = "1 match, lock-step" if matches == 1 else f"{matches} matches at once"
        measured = {
            name: networked(game, "tcp", matches)
            for name, game in {**chosen, "python": PYTHON}.items()
        }

        def tell(text: str, case: str = case) -> None:
            console.print(f"  {case}: {text}")

        figures, failed = alternate(measured, seconds, repeats, tell)
        notes += [f"{case}, {name}: failed: {why}" for name, why in failed.items()]
        python = Figure.of(figures["python"]) if "python" in figures else None
        for name in chosen:
            ours = Figure.of(figures[name]) if name in figures else None
            rows.append(Row(f"{case}, {name}", ours, "python", python))
    shown = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    shown.print(for_terminal(rows))
    for line in (*machine(), *notes):
        shown.print(line, markup=False)
    target = out or (None if language else RESULTS)
    if target is not None:
        command = shlex.join(["python", "-m", "bench.clients", *sys.argv[1:]])
        target.write_text(as_markdown(rows, notes, command))
    if any("failed" in each for each in notes):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
