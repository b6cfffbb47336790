"""Groups of commands, and their help: plain, since Rich loads slowly, and from docstrings."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

T = TypeVar("T")
_ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def documented(options: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a command, or of a dataclass of options, as Typer reads it.

    The docstring's ``Args`` gives the help of parameters that have none.  One that is False by
    default is a flag, which ``--no-`` does not negate.
    """
    section = inspect.cleandoc(options.__doc__ or "").partition("\n\nArgs:\n")[2]
    words = {name: " ".join(text.split()) for name, text in _ARGUMENT.findall(section)}
    hints = get_type_hints(options, include_extras=True)

    def described(each: inspect.Parameter) -> inspect.Parameter:
        hint = hints.get(each.name, each.annotation)
        if each.name in words:
            kind, *given = get_args(hint) if get_origin(hint) is Annotated else [hint]
            make = typer.Argument if each.default is each.empty else typer.Option
            flag = [f"--{each.name.replace('_', '-')}"] if each.default is False else []
            about = copy.copy(given[0]) if given else make(*flag)
            about.help = words[each.name]
            hint = Annotated[kind, about]
        return each.replace(annotation=hint)

    signature = inspect.signature(options)
    return signature.replace(parameters=[*map(described, signature.parameters.values())])


def help_of(command: Callable[..., Any]) -> str:
    """Return a command's docstring without ``Args``."""
    return inspect.cleandoc(command.__doc__ or "").partition("\n\nArgs:\n")[0]


def add_command(app: typer.Typer, options: type[T], run: Callable[[T], None]) -> None:
    """Add a command that calls ``run`` with its options, a dataclass, and has its name and help."""

    def command(**given: Any) -> None:
        run(options(**given))

    command.__signature__ = documented(options)  # type: ignore[attr-defined]
    command.__name__, command.__doc__ = run.__name__, run.__doc__
    app.command()(command)


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
