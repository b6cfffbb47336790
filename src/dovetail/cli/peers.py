"""``dovetail env`` and ``dovetail agent``: programs that serve environments or agents."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from dovetail.cli import common
from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError

if TYPE_CHECKING:
    from dovetail.peer import plugins
    from dovetail.protocol import messages as m

ShowOptions = Annotated[bool, typer.Option("--options", help="Print the options and exit.")]
Name = Annotated[
    str, typer.Option("--name", help="Name of this program at the broker; must be unique there.")
]


class _Peer(TyperCommand):
    """A command whose ``--help`` also shows the options of the named environments or agents."""

    kind: plugins.Kind

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["dovetail.words"] = [each for each in args if not each.startswith("-")]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        from dovetail.peer import plugins

        for word in ctx.meta.get("dovetail.words", ()):
            if word in plugins.names(self.kind) or (":" in word and "://" not in word):
                try:
                    found = plugins.find(self.kind, word)
                except DovetailError:
                    continue
                about = inspect.cleandoc(found.__doc__ or "").replace("``", "`")
                if about:
                    print(f"{about}\n")
                common.show(table(self.kind, word, found))


class _EnvironmentPeer(_Peer):
    kind = "environment"


class _AgentPeer(_Peer):
    kind = "agent"


def add(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(cls=_EnvironmentPeer)(env)
    app.command(cls=_AgentPeer)(agent)


def table(kind: plugins.Kind, name: str, found: type[Any]) -> Any:
    """Return the table of options of an environment or agent."""
    from dovetail.peer import options

    struct = found.Configuration if kind == "environment" else found.Parameters
    return common.options_table(f"{kind} {name}", options.describe(struct))


def env(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", autocompletion=common.complete_environment)
    ],
    connect: common.Connect = common.ADDRESS,
    name: Name = "",
    token: common.Token = None,
    key: common.KeyFile = None,
    set_: common.Set = None,
    show_options: ShowOptions = False,
) -> None:
    """Serve environments to a broker; --set gives defaults that experiments can override.

    Example: dovetail env connect_four

    Example: dovetail env gdl --set file=breakthrough.kif

    Args:
        names: Built-in names, module:Class or path/to/file.py:Class.
    """
    given = common.settings(set_)
    if given and len(names) != 1:
        raise common.UsageError("--set sets options of one environment; name just one")
    if show_options:
        common.show(
            *(table("environment", each, common.environment(each, given)) for each in names)
        )
        return
    types = [common.served("environment", each, given) for each in names]
    from dovetail.peer.environments.serve import serve
    from dovetail.peer.registry import type_name

    common.log_to_stderr()
    offered = _unique([type_name(each) for each in types])
    serve(types, connect, name=name, token=token, ready=_ready("environment", offered, connect))


def agent(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", autocompletion=common.complete_agent)
    ],
    connect: common.Connect = common.ADDRESS,
    name: Name = "",
    token: common.Token = None,
    key: common.KeyFile = None,
    as_one: bool = False,
    seed: Annotated[int | None, common.seed("With --as-one: the agent's seed.")] = None,
    set_: common.Set = None,
    register_: common.Register = None,
    show_options: ShowOptions = False,
) -> None:
    """Serve agents to a broker; experiments create instances of them.

    --set gives defaults that experiments can override.

    Example: dovetail agent random td

    Example: dovetail agent recorded --set journal=games.journal

    Example: dovetail agent td --as-one --name teacher --seed 7 --set hidden=64

    Example: dovetail agent q-learning --register encoder:coins=coins.py:turn_and_coins

    Args:
        names: Built-in names, module:Class or path/to/file.py:Class.
        as_one: Serve one agent; experiments refer to it by name (--name, or its type).
    """
    common.register(register_)
    given = common.settings(set_)
    if given and len(names) != 1:
        raise common.UsageError("--set sets options of one agent; name just one")
    if show_options:
        common.show(*(table("agent", each, common.agent(each, given)) for each in names))
        return
    from dovetail.peer.agents.serve import serve
    from dovetail.peer.registry import type_name

    common.log_to_stderr()
    if not as_one:
        if seed is not None:
            raise common.UsageError(
                "--seed needs --as-one; otherwise experiments set it for each agent"
            )
        types = [common.served("agent", each, given) for each in names]
        offered = _unique([type_name(each) for each in types])
        serve(types, connect, name=name, token=token, ready=_ready("agent", offered, connect))
        return
    if len(names) != 1:
        raise common.UsageError("--as-one serves one agent; name just one")
    one = common.made(names[0], given, seed or 0)
    ready = _ready("agent", [name or type_name(type(one))], connect)
    serve(one, connect, name=name, token=token, ready=ready)


def _unique(names: list[str]) -> list[str]:
    for each in names:
        if names.count(each) > 1:
            raise common.UsageError(f"{each!r} is named twice")
    return names


def _ready(kind: str, offered: list[str], address: str) -> Any:
    def ready(welcome: m.Welcome) -> None:
        text = f"{kind} {', '.join(offered)} ready at {address} as {welcome.name}"
        print(line(text), flush=True)

    return ready
