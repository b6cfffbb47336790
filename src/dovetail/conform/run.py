"""Runs cases, each with its own process, and reports the results."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import zmq
from msgspec import Struct

from dovetail.conform.agent import AgentCases
from dovetail.conform.case import Case, Failed, Level, cases
from dovetail.conform.environment import EnvironmentCases
from dovetail.conform.experiment import ExperimentCases
from dovetail.conform.program import Program, transcript
from dovetail.protocol.messages import Role

CASES: dict[Role, list[Case]] = {
    "agent": cases(AgentCases()),
    "environment": cases(EnvironmentCases()),
    "experiment": cases(ExperimentCases()),
}
LAST = 8
"""Frames that a report shows for a failed case."""


class CaseResult(Struct, frozen=True):
    """The result of a case; ``expected`` is empty if it passed."""

    name: str
    rules: str
    rule: str
    level: Level
    passed: bool
    expected: str = ""
    got: str = ""
    frames: list[str] = []
    """All frames, each as JSON and as bytes."""
    stderr: str = ""


def play(
    case: Case, command: Sequence[str], role: Role, context: zmq.Context[Any], patience: float
) -> CaseResult:
    """Play one case.

    Raises:
        OSError: the program cannot be started.
    """
    program = Program(context, command, role, patience)
    expected = got = ""
    try:
        program.hello()
        if case.greet:
            program.greet()
            if role == "experiment":
                program.line("welcome")
        if not case.groups or any(e.get("stacked") for e in program.greeted.get("offers", [])):
            case.play(program)
    except Failed as failed:
        expected, got = failed.expected, failed.got
    except Exception as error:  # the program said what no case foresaw
        where = traceback.extract_tb(error.__traceback__)[-1]
        expected = "what the case can read"
        got = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
    finally:
        program.close()
    return CaseResult(
        case.name,
        case.rules,
        case.rule,
        case.level,
        not expected,
        expected,
        got,
        transcript(program.said),
        "" if not expected else program.stderr()[-600:],
    )


def probe(role: Role, command: Sequence[str], patience: float = 10.0) -> str:
    """Start the program once; return why it is not a conformer, in one line, or nothing.

    Raises:
        OSError: the program cannot be started.
    """
    with zmq.Context() as context:
        program = Program(context, command, role, patience)
        try:
            program.hello()
        except Failed as failed:
            said = program.stderr().strip().splitlines()
            return f"it says no hello (got {failed.got})" + (
                f"; its last words: {said[-1]}" if said else ""
            )
        finally:
            program.close()
    if program.greeted.get("role") != role:
        return f"it says hello as {program.greeted.get('role')}, not as {role}"
    offers = [str(each.get("name")) for each in program.greeted.get("offers", [])]
    if role != "experiment" and "conformer" not in offers:
        return (
            f"it offers {', '.join(offers) or 'nothing'}; the kit needs the {role} type conformer"
        )
    return ""


def select(role: Role, only: str = "", level: int = 2) -> list[Case]:
    """Return the cases of a role, up to a level of conformance, whose name contains a text."""
    return [each for each in CASES[role] if only in each.name and each.level <= level]


def run(
    role: Role, command: Sequence[str], cases: Sequence[Case], jobs: int = 4, patience: float = 10.0
) -> Iterator[CaseResult]:
    """Yield the result of each case, in order.

    Raises:
        OSError: the program cannot be started.
    """
    with zmq.Context() as context, ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(play, case, command, role, context, patience) for case in cases]
        try:
            for each in waiting:
                yield each.result()
        finally:
            for each in waiting:
                each.cancel()
