"""Groups of commands with plain help: loading Rich takes longer than most commands."""

from __future__ import annotations

import inspect
from typing import Any

import typer
from typer.core import TyperGroup

from dovetail.cli.command_options import documented, help_of


def summary(text: str | None) -> str:
    """Return the first paragraph of a help text, in one line."""
    return " ".join(inspect.cleandoc(text or "").partition("\n\n")[0].split())


class CommandGroup(TyperGroup):
    """Lists commands with their whole summaries, which Typer would cut off."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, summary(command.help)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class _Application(typer.Typer):
    """Takes the help of parameters from the docstrings of commands."""

    def command(self, name: str | None = None, **options: Any) -> Any:
        def add(function: Any) -> Any:
            function.__signature__ = documented(function)
            words = {"help": help_of(function), **options}
            return super(_Application, self).command(name, **words)(function)

        return add


def group(cls: type[CommandGroup] = CommandGroup, **options: Any) -> typer.Typer:
    """Return a Typer application for a group of commands."""
    return _Application(
        cls=cls,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        **options,
    )
