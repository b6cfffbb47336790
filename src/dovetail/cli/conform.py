"""``dovetail conform``: check a program in any language against the contract."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.common import FAILED, OK, UsageError, show
from dovetail.protocol import json_text as jsontext

if TYPE_CHECKING:
    from dovetail.conform.run import CaseResult


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command(context_settings={"ignore_unknown_options": True})(conform)


def conform(
    role: str,
    command: Annotated[list[str] | None, typer.Argument(metavar="-- CMD...")] = None,
    only: str = "",
    level: Annotated[int, typer.Option(min=1, max=2)] = 2,
    list_: Annotated[bool, typer.Option("--list")] = False,
    verbose: Annotated[bool, typer.Option("--show")] = False,
    report: Annotated[Path | None, typer.Option("--json")] = None,
    jobs: Annotated[int, typer.Option(min=1)] = 4,
    patience: Annotated[float, typer.Option(min=0.1)] = 10.0,
) -> int:
    """Act as the broker for a program and check its answers against SPEC.md.

    docs/conformance.md describes the program that it needs.

    Example: dovetail conform agent -- ./conformer agent

    Args:
        role: agent, environment or experiment.
        command: The program under test and its arguments.
        only: Run only cases whose name contains this text.
        level: 1: for peers that ignore malformed frames and never resume a session.
        list_: List the cases and their rules.
        verbose: Print every frame.
        report: Write the results to a file as JSON.
        jobs: Number of cases to run in parallel.
        patience: Seconds to wait for each expected frame.
    """
    import msgspec
    from rich.markup import escape

    from dovetail.conform import run as kit
    from dovetail.peer.validation_messages import among

    if role not in kit.CASES:
        there = f"use {', '.join(kit.CASES)}"
        raise UsageError(f"unknown role {role!r}{among(role, kit.CASES, there)}")
    cases = kit.select(role, only, level)
    if not cases:
        raise UsageError(f"no case for {role} has {only!r} in its name; --list shows all cases")
    if list_:
        for each in cases:
            show(f"[bold]{each.name}[/] ({each.rules}, level {each.level}): {escape(each.rule)}")
        return OK
    if not command:
        raise UsageError(
            "name the program after --, as in: dovetail conform agent -- ./conformer agent"
        )
    if report is not None and not report.parent.is_dir():
        raise UsageError(f"--json: folder {report.parent} does not exist")
    results = []
    try:
        problem = kit.probe(role, command, patience)
        if problem:
            raise UsageError(
                f"{' '.join(command)} cannot be tested: {problem}; docs/conformance.md "
                "specifies what the program must do"
            )
        for result in kit.run(role, command, cases, jobs, patience):
            results.append(result)
            _tell(result, verbose)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror}") from None
    passed = sum(each.passed for each in results)
    show(f"{role}, level {level}: {passed} of {len(results)} cases passed")
    if report is not None:
        about: dict[str, Any] = {"role": role, "level": level, "command": command}
        about["passed"] = passed == len(results)
        about["cases"] = [msgspec.to_builtins(each) for each in results]
        report.write_text(jsontext.write(about, indent=1) + "\n")
    return OK if passed == len(results) else FAILED


def _tell(result: CaseResult, verbose: bool) -> None:
    from rich.markup import escape

    from dovetail.conform import run as kit

    mark = "[green]passed[/]" if result.passed else "[red]FAILED[/]"
    show(f"{mark} {result.name}")
    if not result.passed:
        show(f"  {result.rules}: {escape(result.rule)}")
        show(f"  expected {escape(result.expected)}")
        show(f"  got {escape(result.got)}")
    shown = result.frames if verbose else [] if result.passed else result.frames[-kit.LAST :]
    for frame in shown:
        typer.echo(f"    {frame}")  # unwrapped, so that it can be copied
    if result.stderr.strip():
        show(f"  on standard error: {escape(result.stderr.strip())}")
