"""``dovetail check``: check an environment or agent as Dovetail's tests check its own."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ParamSpec, cast

import typer

from dovetail.cli import common
from dovetail.cli.group import group
from dovetail.protocol.errors import DovetailError

P = ParamSpec("P")

app = group(name="check", help="Check an environment or agent.")

Episodes = Annotated[int | None, typer.Option(min=1, help="Episodes to play for each check.")]


RETURNED = "DOVETAIL_CHECK_RETURNED"
"""The variable that names the file into which a child writes that its command returned."""


def _in_child(command: Callable[P, int]) -> Callable[P, int]:
    """Run a command in a child: the code under test may end its process, with any exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        if file := os.environ.pop(RETURNED, ""):
            try:
                return command(*args, **kwargs)
            finally:
                Path(file).write_text("yes", encoding="utf-8")
        context = cast("typer.Context", kwargs["context"])  # Typer passes all by name
        with tempfile.TemporaryDirectory() as folder:
            returned = Path(folder) / "returned"
            line = [sys.executable, "-m", "dovetail", *_arguments(context)]
            code = subprocess.run(line, env={**os.environ, RETURNED: str(returned)}).returncode
            if returned.exists():
                return code
        how = signal.strsignal(-code) if code < 0 else f"exit code {code}"
        raise DovetailError(f"the code under test ended its process ({how})")

    return run


def _arguments(context: typer.Context) -> list[str]:
    """Return the arguments with which a command was called."""
    words = [*["--debug"] * common.state.debug, "check", context.info_name or ""]
    for each in context.command.params:
        value = context.params[each.name or ""]
        for one in value if isinstance(value, list | tuple) else [value]:
            if each.param_type_name == "argument":
                words.append(one)
            elif one is True:
                words.append(each.opts[0])
            elif one not in (None, False):
                words.append(f"{each.opts[0]}={one}")
    return words


def add(to: typer.Typer) -> None:
    """Add the commands."""
    to.add_typer(app)


@app.command("env")
@_in_child
def env(
    context: typer.Context,
    name: Annotated[str, typer.Argument(autocompletion=common.complete_environment)],
    set_: common.Set = None,
    episodes: Episodes = None,
    strict: bool = False,
) -> int:
    """Check an environment: spaces, rewards, seeds, illegal actions, forks, and more.

    Example: dovetail check env nim.py:Nim --set heap=12

    Args:
        name: An environment's name, or file.py:Class.
        strict: Also check what Dovetail requires of its own games.
    """
    from dovetail.testing.environments import CHECKS, check_environment

    options = common.settings(set_)
    kind = common.environment(name, options)
    return _each(
        list(CHECKS),
        lambda check: check_environment(
            kind, options, episodes=episodes or 12, strict=strict, only=check
        ),
        basic="turns_are_what_the_spec_says",
    )


@app.command("agent")
@_in_child
def agent_(
    context: typer.Context,
    name: Annotated[str, typer.Argument(autocompletion=common.complete_agent)],
    set_: common.Set = None,
    game: Annotated[str, typer.Option("--env", metavar="NAME")] = "connect_four",
    env_set: Annotated[list[str] | None, typer.Option("--env-set", metavar="KEY=VALUE")] = None,
    episodes: Episodes = None,
    register_: common.Register = None,
) -> int:
    """Check an agent: legal play, seeds, evaluation, saving and loading.

    Example: dovetail check agent td --env rlgame --env-set size=5

    Args:
        name: An agent's name, or file.py:Class.
        game: Game in which to check it: a name, or file.py:Class.
        env_set: Set an option of the game.
    """
    from dovetail.testing.agents import CHECKS, check_agent

    common.register(register_)
    parameters, configuration = common.settings(set_), common.settings(env_set, "--env-set")
    kind, where = common.agent(name, parameters), common.environment(game)
    return _each(
        list(CHECKS),
        lambda check: check_agent(
            kind,
            parameters,
            environment=where,
            configuration=configuration,
            episodes=episodes or 4,
            only=check,
        ),
        basic="it_plays",
    )


def _each(names: list[str], check: Callable[[str], list[str] | None], basic: str = "") -> int:
    """Run checks and show each result; stop if the ``basic`` one fails."""
    from rich.markup import escape

    from dovetail.testing.problem import CheckFailed

    passed = left = 0
    for number, name in enumerate(names, 1):
        try:
            skipped = check(name)
        except CheckFailed as error:
            common.show(f"[red]FAILED[/] {escape(str(error))}")
            if name == basic:
                common.show(
                    f"{passed} of {number} checks passed; the other {len(names) - number} "
                    f"need {name}"
                )
                return common.FAILED
        else:
            if skipped:
                left += 1
                common.show(f"[yellow]skipped[/] {escape(skipped[0])}")
            else:
                passed += 1
                common.show(f"[green]passed[/] {name}")
    common.show(f"{passed} of {len(names)} checks passed" + f", {left} skipped" * bool(left))
    return common.OK if passed + left == len(names) else common.FAILED
