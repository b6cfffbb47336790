"""Shared by the commands: exit codes, one-line errors, common options and tables."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.standard_streams import forgiving
from dovetail.peer.address import ADDRESS, BROKER
from dovetail.peer.extras import absent, provided
from dovetail.protocol import json_text as jsontext
from dovetail.protocol import outside
from dovetail.protocol.display_text import line, plain
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys

if TYPE_CHECKING:
    from rich.table import Table

    from dovetail.peer import plugins
    from dovetail.peer.agents.agent import Agent
    from dovetail.peer.environments.environment import Environment

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130


@dataclass
class CommonOptions:
    """The values of the options that apply to every command."""

    debug: bool = False


state = CommonOptions()


class UsageError(DovetailError):
    """The command line is invalid."""


@contextmanager
def refusing(option: str = "") -> Iterator[None]:
    """Turn a DovetailError into one about the command line, or about an option of it."""
    try:
        yield
    except DovetailError as error:
        raise UsageError(f"{option}: {error}" if option else str(error)) from None


def complain(error: Exception) -> int:
    """Report an error in one line; return the exit code."""
    if state.debug:
        traceback.print_exception(error)
    # Typer's usage errors are Click's, whose module differs between versions.
    describe = getattr(error, "format_message", None)
    if describe is not None:
        text, code = describe(), getattr(error, "exit_code", USAGE)
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            print(text, file=sys.stderr)
            return USAGE
        text = " ".join(text.split())
        if context is not None:
            text = f"{text.removesuffix('.')}; see `{context.command_path} --help`"
    elif isinstance(error, DovetailError):
        text, code = str(error), USAGE if isinstance(error, UsageError) else FAILED
    elif (missing := absent(error)) is not None:
        text, code = missing, FAILED
    else:
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        text += "" if state.debug else " (run with --debug for the traceback)"
        code = FAILED
    print(f"dovetail: {plain(text)}", file=sys.stderr)
    return int(code)


def command(app: typer.Typer, name: str, arguments: list[str] | None = None) -> int:
    """Run a command-line application with arguments, or this process's; return its exit code."""
    forgiving()
    try:
        code = app(arguments, prog_name=name, standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        return complain(error)
    return code if isinstance(code, int) else OK


def warn(text: str) -> None:
    """Print one line on stderr."""
    print(f"dovetail: {plain(text)}", file=sys.stderr, flush=True)


def position(text: str) -> str:
    """Return a game's text indented, so that no line of it looks like one of a command."""
    return indent(text.rstrip(), "  ")


def log_to_stderr() -> None:
    """Send a server's log to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("dovetail: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


class _Plain(logging.Formatter):
    """Puts each message on one line, since it may quote other programs' names and errors."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        return plain(super().format(record))


# -- options of several commands ------------------------------------------------------


Connect = Annotated[
    str,
    typer.Option("--connect", metavar="ADDRESS", envvar=BROKER, help="Address of the broker."),
]
MaybeConnect = Annotated[
    str | None,
    typer.Option(
        "--connect",
        metavar="ADDRESS",
        help="Address of a running broker to use. Without it the command plays by itself, "
        "whatever DOVETAIL_BROKER says.",
    ),
]


def _read_token(file: str | None) -> str | None:
    """Return the access token from a file or DOVETAIL_TOKEN; `ps` would show an argument."""
    if file is None:
        return os.environ.get("DOVETAIL_TOKEN") or None
    try:
        token = outside.text(Path(file), outside.SHORT).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"--token-file: cannot read {file}: {why}") from None
    if not token or len(token.splitlines()) > 1:
        raise UsageError(
            f"--token-file: {file} has no single line; expected the access token alone"
        )
    return token


Token = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        metavar="PATH",
        callback=_read_token,
        help="File with the broker's access token; without it, DOVETAIL_TOKEN.",
    ),
]


def _use_key(file: str | None) -> str | None:
    """Set the key of all connections of this command and of the programs that it starts.

    It does so through the environment variable, the default wherever a connection is opened.
    """
    if file is not None:
        os.environ[keys.FILE] = file
    return file


KeyFile = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="PATH",
        callback=_use_key,
        help="File with your key, for a broker that requires keys; without it, DOVETAIL_KEY.",
    ),
]
GiveUp = Annotated[
    float,
    typer.Option(
        "--give-up",
        min=1.0,
        metavar="SECONDS",
        help="Give up after the broker has been silent for this long.",
    ),
]
RecordedEnv = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="NAME",
        help="The environment, if it is not installed: module:Class or file.py:Class.",
    ),
]


def seed(help_: str) -> Any:
    """Return an option that takes a seed, one that every generator takes."""
    return typer.Option(min=0, max=(1 << 63) - 1, help=help_)


Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set an option; may be repeated. Write lists and tables as JSON, e.g. KEY='[3, 4]'.",
    ),
]

Register = Annotated[
    list[str] | None,
    typer.Option(
        "--register",
        metavar="KIND:NAME=FILE.py:THING",
        help="Make your own object available to parameters: an encoder, evaluation, reward, "
        "algorithm or environment, policy:NAME=FILE, or engine:NAME=COMMAND; may be repeated.",
    ),
]

__all__ = ["ADDRESS"]


def register(given: Sequence[str] | None) -> None:
    """Register what the command line names.

    Raises:
        UsageError: an entry has the wrong form, or names something that does not exist.
    """
    from dovetail.peer import plugins

    for each in given or ():
        with refusing("--register"):
            plugins.register(each)


def settings(given: Sequence[str] | None, option: str = "--set") -> dict[str, Any]:
    """Return ``KEY=VALUE`` texts as a mapping; values are JSON if possible, otherwise text.

    Raises:
        UsageError: an entry has no ``=``, or a key is given twice.
    """
    from dovetail.protocol import codec

    found: dict[str, Any] = {}
    for each in given or ():
        key, equals, text = each.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"{option} {each!r} is not of the form KEY=VALUE")
        if key in found:
            raise UsageError(f"{option} {key} is given twice")
        try:
            found[key] = json.loads(text)
        except codec.UNREADABLE:
            found[key] = text
    return found


def environment(name: str, given: Mapping[str, Any] | None = None) -> type[Environment]:
    """Return an environment's class, with options that the local user has set as its defaults."""
    found: type[Environment] = _preset("environment", name, given)
    return found


def agent(name: str, given: Mapping[str, Any] | None = None) -> type[Agent]:
    """Return an agent's class, with options that the local user has set as its defaults."""
    found: type[Agent] = _preset("agent", name, given)
    return found


def _preset(kind: plugins.Kind, name: str, given: Mapping[str, Any] | None) -> Any:
    from dovetail.peer.presets import preset

    found = _find(kind, name)
    with refusing():
        return preset(found, dict(given or {}), f"{kind} {name}")


def served(kind: plugins.Kind, name: str, given: Mapping[str, Any]) -> Any:
    """Return a class to be served, with the options that the local user has set."""
    from dovetail.peer.presets import tried

    found = _preset(kind, name, given)
    provided(found, f"{kind} {name}")
    if given:
        with refusing():
            tried(found, f"{kind} {name}")
    return found


def made(name: str, given: Mapping[str, Any], seed: int) -> Agent:
    """Return an agent with options that the local user has set."""
    from dovetail.peer import options

    kind = agent(name, given)
    with refusing():
        parameters = options.read(kind.Parameters, {}, f"agent {name}")
    return kind(parameters, seed)


def _find(kind: plugins.Kind, name: str) -> Any:
    from dovetail.peer import plugins

    try:
        return plugins.find(kind, name)
    except DovetailError as error:
        if error.__cause__ is not None:  # it exists, and failed to load
            raise
        raise UsageError(str(error)) from None


def complete_environment(incomplete: str) -> list[str]:
    """Complete the name of an environment in a shell."""
    return _complete("environment", incomplete)


def complete_agent(incomplete: str) -> list[str]:
    """Complete the name of an agent in a shell."""
    return _complete("agent", incomplete)


def _complete(kind: plugins.Kind, incomplete: str) -> list[str]:
    from dovetail.peer import plugins

    return [name for name in plugins.names(kind) if name.startswith(incomplete)]


# -- tables ----------------------------------------------------------------------------------


def table(
    columns: Iterable[str], rows: Iterable[Iterable[Any]], title: str = "", **look: Any
) -> Table:
    """Return a table of values as text, each shown as it is."""
    from rich.markup import escape
    from rich.table import Table

    named = escape(title) if title else None
    made = Table(title=named, title_justify="left", title_style="bold", **look)
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(escape(str(each)) for each in row))
    return made


def options_table(title: str, schema: Mapping[str, Any]) -> Table | str:
    """Return a table of options from their JSON Schemas, or a line that says there are none.

    Invalid parts of the schemas, which come from other programs, are left out.
    """
    from rich.markup import escape

    def row(name: str, given: Any) -> list[str]:
        each = given if isinstance(given, Mapping) else {}
        default = jsontext.option(each["default"]) if "default" in each else "(required)"
        return [name, _type(each), default, _range(each), str(each.get("description", ""))]

    if not schema:
        return f"{escape(title)}: no options"
    columns = ("option", "type", "default", "range", "description")
    return table(columns, (row(*each) for each in schema.items()), title)


def _alternatives(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = schema.get("anyOf")
    if not isinstance(found, list):
        return [schema]
    return [each for each in found if isinstance(each, Mapping)] or [schema]


def _type(schema: Mapping[str, Any]) -> str:
    kinds = []
    for each in _alternatives(schema):
        kind = each.get("type", "choice" if "enum" in each else "any")
        if kind == "array" and isinstance(each.get("items"), Mapping):
            kind = f"array of {_type(each['items'])}"
        kinds.append(" or ".join(map(str, kind)) if isinstance(kind, list) else str(kind))
    return " or ".join(kinds)


def _range(schema: Mapping[str, Any]) -> str:
    parts = []
    for each in _alternatives(schema):
        if isinstance(each.get("enum"), list):
            parts.append(", ".join(jsontext.option(value) for value in each["enum"]))
        for key, sign in (
            ("minimum", "≥"),
            ("exclusiveMinimum", ">"),
            ("maximum", "≤"),
            ("exclusiveMaximum", "<"),
        ):
            limit = each.get(key)
            if isinstance(limit, int | float):
                parts.append(f"{sign} {limit:,}" if isinstance(limit, int) else f"{sign} {limit:g}")
    return ", ".join(parts)


def width() -> int | None:
    """Return the width of the terminal in columns; None if the output goes elsewhere."""
    terminal = sys.stdout.isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size().columns if terminal else None


def show(*things: Any, wide: int | None = None) -> None:
    """Print tables and lines, plain if the output is not a terminal.

    Args:
        things: Rich renderables or text.
        wide: columns; by default those of the terminal, or 120 without one.
    """
    from rich.console import Console
    from rich.text import Text

    class Plain(Console):
        """Drops control characters, since offers and names come from other programs."""

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(plain(text), **options)

    console = Plain(width=wide or width() or 120, highlight=False)
    for thing in things:
        console.print(thing)
