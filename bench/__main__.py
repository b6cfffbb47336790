"""``python -m bench``: measure Dovetail beside bare references, print a table and save it."""

from __future__ import annotations

import enum
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import dovetail_rows, pettingzoo_reference, references
from bench.measure import Measurement, alternate, isolated
from bench.references import Transport
from bench.table import Figure, Row, as_markdown, for_terminal, machine

RESULTS = Path(__file__).resolve().parent / "results.md"
MATCHES = (1, 8, 64, 256)
STACKED = (256, 1024)
"""Matches at once of the rows of stacked turns."""


class Rows(enum.StrEnum):
    """The available rows."""

    one = "1"
    eight = "8"
    many = "64"
    most = "256"
    stacked = "stacked"
    inprocess = "inprocess"
    memory = "memory"


class Via(enum.StrEnum):
    """The transport between the processes."""

    tcp = "tcp"
    ipc = "ipc"


class Play(enum.StrEnum):
    """What is played."""

    trivial = "trivial"
    connect_four = "connect_four"


@dataclass
class Bench:
    """One run of the bench."""

    seconds: float
    repeats: int
    games: list[dovetail_rows.Game]
    console: Console
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: bool = False

    def tell(self, text: str) -> None:
        """Report progress on stderr."""
        self.console.print(f"  {text}", style="dim", highlight=False)

    def note(self, text: str) -> None:
        """Keep a line for the report."""
        self.notes.append(text)
        self.console.print(text, markup=False, highlight=False)

    def compare(
        self, case: str, ours: dict[str, Measurement], others: dict[str, Measurement]
    ) -> None:
        """Measure ours and the references alternately; add a row for each pair."""
        figures, failed = alternate(
            {**ours, **others},
            self.seconds,
            self.repeats,
            lambda text: self.tell(f"{case}: {text}"),
        )
        for name, why in failed.items():
            self.failed = True
            self.note(f"{case}, {name}: failed: {why}")
        found = {name: Figure.of(values) for name, values in figures.items()}
        for name in list(ours) or [""]:
            if name in failed:
                continue
            title = f"{case}, {name}" if name else case
            for other in list(others) or [""]:
                self.rows.append(Row(title, found.get(name), other, found.get(other)))

    def networked(self, transport: Transport, matches: int) -> None:
        """Measure this many matches at once, with a process per role."""
        ours = {
            game.title: dovetail_rows.networked(game, transport, matches) for game in self.games
        }
        others = {"bare pyzmq relay": references.relay(transport, matches, bundle=False)}
        if matches == 1:
            name = "raw TCP" if transport == "tcp" else "raw Unix sockets"
            others[name] = references.sockets(transport)
        else:
            others["bare pyzmq relay, bundled"] = references.relay(transport, matches, bundle=True)
        plural = "1 match, lock-step" if matches == 1 else f"{matches} matches at once"
        self.compare(f"{plural}, {transport}", ours, others)

    def stacked(self, transport: Transport) -> None:
        """Measure matches in groups beside 256 single ones, with a process per role."""
        for game in self.games:
            as_arrays = dovetail_rows.STACKED_TRIVIAL if game is dovetail_rows.TRIVIAL else game
            ours = {
                f"{slots} matches": dovetail_rows.stacked(as_arrays, transport, slots)
                for slots in STACKED
            }
            single = {"256 single matches": dovetail_rows.networked(game, transport, 256)}
            self.compare(f"stacked, {game.title}, {transport}", ours, single)

    def in_process(self) -> None:
        """Measure everything in one process."""
        ours = {game.title: dovetail_rows.in_process(game) for game in self.games}
        others = {}
        absent = pettingzoo_reference.missing()
        if absent is None:
            measure = isolated(pettingzoo_reference.moves_per_second)
            others[pettingzoo_reference.NAME] = measure
        else:
            self.note(absent)
        if ours or others:
            self.compare("in process", ours, others)

    def memory(self, game: dovetail_rows.Game, transport: Transport, total: int) -> None:
        """Measure the broker's resident set over many turns."""
        try:
            samples = dovetail_rows.memory(game, transport, total, total // 10, tell=self.tell)
        except Exception as error:
            self.failed = True
            self.note(f"memory: failed: {error}")
            return
        megabytes = [Figure.of([each.kilobytes / 1024]) for each in samples]
        case = f"broker memory after {samples[-1].turns:,} turns, {game.title}"
        for when, figure in (
            ("at the start", megabytes[0]),
            (f"after {samples[1].turns:,} turns", megabytes[1]),
        ):
            self.rows.append(Row(case, megabytes[-1], when, figure, " MB"))
        each = ", ".join(f"{s.kilobytes / 1024:.1f}" for s in samples)
        self.note(
            f"memory in MB at the start, after every {total // 10:,} turns, and at the end: {each}"
        )


def main(
    rows: Annotated[
        list[Rows] | None, typer.Option(help="Only these rows; may be repeated.")
    ] = None,
    transport: Annotated[
        list[Via] | None, typer.Option(help="Only this transport; may be repeated.")
    ] = None,
    game: Annotated[
        list[Play] | None, typer.Option(help="Only this game; may be repeated.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds for each measurement.")] = 2.0,
    repeats: Annotated[int, typer.Option(min=1, help="Number of measurements of each.")] = 3,
    quick: Annotated[
        bool, typer.Option("--quick", help="Half a second each, tcp only, 100,000 turns of memory.")
    ] = False,
    references_only: Annotated[
        bool, typer.Option("--references-only", help="Measure the bare references alone.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File for the table; `bench/results.md` for a whole run.")
    ] = None,
) -> None:
    """Measure turns per second beside bare references on this machine."""
    console = Console(stderr=True)
    wanted = set(rows or Rows)
    vias: list[Transport] = [each.value for each in transport or ([Via.tcp] if quick else Via)]
    bench = Bench(min(seconds, 0.5) if quick else seconds, repeats, [], console)
    for each in [] if references_only else (game or list(Play)):
        chosen = dovetail_rows.GAMES[each]
        absent = dovetail_rows.missing(chosen)
        if absent is None:
            bench.games.append(chosen)
        else:
            bench.note(absent)
    for matches in MATCHES:
        if str(matches) in wanted:
            for via in vias:
                bench.networked(via, matches)
    if Rows.stacked in wanted:
        bench.stacked(vias[-1])
    if Rows.inprocess in wanted:
        bench.in_process()
    if Rows.memory in wanted and bench.games:
        first = vias[0]
        bench.memory(bench.games[0], first, 100_000 if quick else 1_000_000)

    bench.notes.insert(
        0,
        f"each measured {repeats} times for {bench.seconds:g} s, alternating between the subjects",
    )
    shown = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    shown.print(for_terminal(bench.rows))
    for line in (*machine(), *bench.notes):
        shown.print(line, markup=False)
    whole = not (rows or transport or game or quick or references_only)
    target = out or (RESULTS if whole else None)
    if target is not None:
        command = shlex.join(["python", "-m", "bench", *sys.argv[1:]])
        target.write_text(as_markdown(bench.rows, bench.notes, command))
        shown.print(f"written to {target}", markup=False)
    if bench.failed:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
