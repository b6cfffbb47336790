"""``python -m bench.compiled``: the compiled core beside the interpreted one, in turns per second.

The rows alternate between two interpreters: ``.venv`` imports the checkout, and ``.venv-compiled``
imports the wheel of ``make compiled``.  ``core`` is the broker's state machine alone, 64 matches
at once: only its own calls are timed, not those that make its peers' answers.  ``in process`` is
everything in one program: core, hosts, the bench's trivial game and its player.  Seconds are those
of the processor, so that other work on the machine counts little.
"""

from __future__ import annotations

import enum
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Raw
from rich.console import Console

from bench import dovetail_rows
from bench.measure import WARM_UP, BenchError, Measurement, alternate
from bench.table import Figure, Row, as_markdown, for_terminal
from dovetail._version import compiled
from dovetail.broker.core.core import Core, Settings
from dovetail.peer.gc_tuning import patient
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Discrete

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/compiled.md"
TURNS, MATCHES = 42, 64
OBSERVATION = Raw(codec.encode("12345678"))
LEGAL = list(range(7))


class Part(enum.StrEnum):
    """What is measured."""

    core = "core"
    inprocess = "in process"


@patient()
def core_alone(seconds: float) -> float:
    """Return the core's turns per second of its own time."""
    core = Core(Settings(), b"")
    said: list[tuple[Any, Any]] = [
        (0, m.Hello(1, "environment", "rules", [m.Offer("trivial")])),
        (1, m.Hello(1, "agent", "first", [m.Offer("first", capacity=MATCHES, instance=True)])),
        (2, m.Hello(1, "experiment", "bench")),
    ]
    run = m.Run(1, "trivial", agents=["first", "first"], episodes=10**9, concurrency=MATCHES)
    said.append((2, run))
    begun, spent, turns, now = time.process_time(), 0.0, 0, 0.0
    while spent < seconds:
        now += 0.001
        before = time.process_time()
        for address, message in said:
            core.receive(address, message, now)
        _, out = core.take()
        after = time.process_time()
        if after - begun > WARM_UP:
            spent += after - before
            turns += sum(type(message) is m.Turn for _, message in said)
        said = [(address, answer) for address, each in out for answer in _answers(each)]
        if not said:
            raise BenchError("the core waits for nothing")
    return turns / spent


def _answers(message: Any) -> list[m.Message]:
    """Return what the bench's peers answer."""
    match message:
        case m.Open():
            space: list[Any] = [Discrete(len(LEGAL))]
            return [m.Spec(message.match, "trivial", 2, space, space, max_turns=TURNS)]
        case m.EnvironmentStart():
            return [_turn(message.episode, 0)]
        case m.EnvironmentStep():
            return [_turn(message.episode, message.turn + 1)]
        case m.AgentStart() | m.AgentStep():
            return [m.Action(message.episode, message.turn, message.seat, 0)]
        case _:
            return []


def _turn(episode: int, number: int) -> m.Turn:
    if number == TURNS:
        ended = [m.View(seat, OBSERVATION) for seat in (0, 1)]
        return m.Turn(episode, number, [], ended, terminated=True, outcome=[0.5, 0.5])
    seat = number % 2
    return m.Turn(episode, number, [seat], [m.View(seat, OBSERVATION, LEGAL)])


def measured_by(python: Path, part: Part, wanted: bool) -> Measurement:
    """Return the measurement of a part by another interpreter."""

    def measure(seconds: float) -> float:
        command = [str(python), "-m", "bench.compiled", "--only", part, "--seconds", str(seconds)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise BenchError((done.stderr.strip().splitlines() or ["it says nothing"])[-1])
        kind, rate = done.stdout.split()
        if (kind == "compiled") is not wanted:
            raise BenchError(f"{python} has the {kind} core")
        return float(rate)

    return measure


def main(
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds for each measurement.")] = 2.0,
    repeats: Annotated[int, typer.Option(min=1, help="Number of measurements of each.")] = 5,
    only: Annotated[
        Part | None, typer.Option(help="Measure one part by this interpreter; print the rate.")
    ] = None,
) -> None:
    """Measure turns per second, compiled and interpreted alternately."""
    if only is not None:
        if only is Part.core:
            rate = core_alone(seconds)
        else:
            rate = dovetail_rows.play_here(dovetail_rows.TRIVIAL, seconds, time.process_time)
        print("compiled" if compiled() else "interpreted", rate)
        return
    pythons = {
        "interpreted": ROOT / ".venv/bin/python",
        "compiled": ROOT / ".venv-compiled/bin/python",
    }
    console = Console(stderr=True)
    rows: list[Row] = []
    for part in Part:
        subjects = {
            name: measured_by(python, part, name == "compiled") for name, python in pythons.items()
        }
        found, failed = alternate(subjects, seconds, repeats, console.print)
        for name, why in failed.items():
            raise SystemExit(f"{part}, {name}: {why}")
        ours, reference = Figure.of(found["compiled"]), Figure.of(found["interpreted"])
        rows.append(Row(f"{part}, compiled", ours, "interpreted", reference))
    notes = [f"each measured {repeats} times for {seconds:g} s of the processor, alternating"]
    notes.append(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")
    command = shlex.join(["python", "-m", "bench.compiled", *sys.argv[1:]])
    RESULTS.write_text(as_markdown(rows, notes, command), encoding="utf-8")
    Console().print(for_terminal(rows))


if __name__ == "__main__":
    typer.run(main)
