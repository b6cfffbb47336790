"""``dovetail list`` and ``dovetail watch``: show what is connected and what is being played."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli import common
from dovetail.cli.peers import table
from dovetail.cli.standard_streams import reserved
from dovetail.peer.broker_watchdog import GIVE_UP
from dovetail.peer.extras import absent
from dovetail.peer.validation_messages import meant
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.display_text import coloured, line, plain
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seats import player

if TYPE_CHECKING:
    from dovetail.client.client import Experiment
    from dovetail.peer import plugins
    from dovetail.protocol.messages import WatchedTurn

LOST = 5.0
"""Seconds without a turn after which an episode is no longer followed."""


def add(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="list")(list_)
    app.command()(watch)


def observer(address: str, token: str | None, give_up: float = GIVE_UP) -> Experiment:
    """Connect to a broker as an observer."""
    from dovetail.client.client import Experiment
    from dovetail.peer.link import Link
    from dovetail.peer.session import hello

    return Experiment(Link(address, hello("observer", token=token), give_up=give_up))


# -- list --------------------------------------------------------------------------------------


def list_(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", autocompletion=complete_either)
    ] = None,
    connect: Annotated[
        str | None, typer.Option("--connect", metavar="ADDRESS", envvar="DOVETAIL_BROKER")
    ] = None,
    token: common.Token = None,
    key: common.KeyFile = None,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """List the environments and agents that are installed, or those connected to a broker.

    Example: dovetail list

    Example: dovetail list td

    Example: dovetail list --connect tcp://127.0.0.1:5757

    Args:
        name: An environment or agent to show with its options.
        connect: Show what is connected to this broker.
        json_: Print JSON.
    """
    if connect is not None:
        common.log_to_stderr()
        with observer(connect, token) as broker:
            present = broker.catalogue()
        if name is not None:
            present = _only(present, name, connect)
        if json_:
            with reserved() as out:
                print(jsontext.write(present, indent=1, default=repr), file=out)
        else:
            _show_catalogue(connect, present)
        return
    if json_:
        with reserved() as out:
            print(
                jsontext.write([_described(*each) for each in _installed(name)], indent=1), file=out
            )
        return
    found = _installed(name)
    if name is not None:
        for kind, each, made in found:
            common.show(table(kind, each, made))
            common.show(_plain(f"  {_summary(made)}\n"))
            if kind == "environment" and (rules := made.rules()):
                from rich.markdown import Markdown

                common.show(Markdown(rules))
    else:
        _names(found)


def complete_either(incomplete: str) -> list[str]:
    """Complete the name of an environment or agent in a shell."""
    return common.complete_environment(incomplete) + common.complete_agent(incomplete)


def _installed(name: str | None) -> list[tuple[plugins.Kind, str, type[Any]]]:
    """Return the installed environments and agents of a name, or all of them."""
    from dovetail.peer import plugins

    kinds: tuple[plugins.Kind, ...] = ("environment", "agent")
    there = {kind: plugins.names(kind) for kind in kinds}
    if name is not None and ":" in name:
        for kind in kinds:
            try:
                return [(kind, name, plugins.find(kind, name))]
            except DovetailError as error:
                wrong = error
        raise wrong
    every = [each for kind in kinds for each in there[kind]]
    if name is not None and name not in every:
        hint = meant(name, every) or "; `dovetail list` shows all"
        raise common.UsageError(f"no environment or agent {name!r} is installed{hint}")
    found: list[tuple[plugins.Kind, str, type[Any]]] = []
    lacking: dict[str, list[str]] = {}
    for kind in kinds:
        for each in there[kind]:
            if name in (None, each):
                try:
                    found.append((kind, each, plugins.find(kind, each)))
                except DovetailError as error:
                    missing = absent(error.__cause__)
                    if missing is None:
                        common.warn(str(error))
                    else:
                        lacking.setdefault(missing, []).append(each)
    for missing, those in lacking.items():
        common.warn(f"{missing}, for {', '.join(those)}")
    return found


def _summary(found: type[Any]) -> str:
    first = (found.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(first.replace("``", "`").split())


def _described(kind: str, name: str, found: type[Any]) -> dict[str, Any]:
    from dovetail.peer import options

    struct = found.Configuration if kind == "environment" else found.Parameters
    return {
        "kind": kind,
        "name": name,
        "description": _summary(found),
        "options": options.describe(struct),
        **({"rules": found.rules()} if kind == "environment" else {}),
    }


def _names(found: list[tuple[plugins.Kind, str, type[Any]]]) -> None:
    for kind in ("environment", "agent"):
        rows = [(name, _summary(made)) for each, name, made in found if each == kind]
        shown = common.table(("", ""), rows, f"{kind}s", box=None)
        shown.columns[0].no_wrap, shown.columns[0].overflow = True, "ellipsis"
        common.show(shown)
    common.show("`dovetail list NAME` shows options")


def _only(present: dict[str, Any], name: str, address: str) -> dict[str, Any]:
    """Return the part of a catalogue that is about one environment or agent type."""
    kept = {
        key: [each for each in present[key] if each["name"] == name]
        for key in ("environments", "agents")
    }
    if not any(kept.values()):
        names = [each["name"] for key in kept for each in present[key]]
        raise DovetailError(
            f"no program at {address} offers {name!r}; there are {', '.join(names) or 'none'}"
        )
    return {**present, **kept}


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(plain(text))


def _show_catalogue(address: str, present: dict[str, Any]) -> None:
    from rich.markup import escape

    def grid(title: str, columns: list[str], keys: list[str], about: str) -> None:
        rows = [[each[key] for key in keys] for each in present[about]]
        common.show(common.table(columns, rows, title) if rows else f"{escape(title)}: none")

    keys = ["name", "role", "state", "software"]
    grid(f"connected to {address}", keys, keys, "peers")
    present["runs"] = [{**run, "agents": ", ".join(run["agents"])} for run in present["runs"]]
    keys = ["run", "environment", "agents", "state", "finished"]
    grid("runs", [*keys, "of"], [*keys, "episodes"], "runs")
    columns = ["instance", "agent", "at", "episodes now"]
    grid("agents that exist", columns, ["instance", "agent", "peer", "busy"], "instances")
    if present["kept"]:
        common.show(_plain(f"kept: {', '.join(present['kept'])}"))
    for kind in ("environment", "agent"):
        for offer in present[f"{kind}s"]:
            title = f"{kind} {offer['name']} (at {offer['peer']})"
            common.show(common.options_table(title, offer.get("parameters") or {}))


# -- watch -------------------------------------------------------------------------------------


def watch(
    connect: common.Connect = common.ADDRESS,
    run: Annotated[int | None, typer.Option(metavar="N")] = None,
    delay: Annotated[float, typer.Option(min=0.0, metavar="SECONDS")] = 0.0,
    everything: Annotated[bool, typer.Option("--all")] = False,
    give_up: common.GiveUp = GIVE_UP,
    token: common.Token = None,
    key: common.KeyFile = None,
) -> None:
    """Print turns as they are played, one episode at a time; stop with Ctrl-C.

    Example: dovetail watch --delay 0.5

    Args:
        run: Watch only this run, until it is over.
        delay: Pause after each turn.
        everything: Show every turn of all episodes, instead of one episode at a time.
    """
    common.log_to_stderr()
    with observer(connect, token, give_up) as broker:
        broker.watch(run)
        common.warn(f"watching {'all runs' if run is None else f'run {run}'} at {connect}")
        try:
            _follow(broker, run, delay, everything)
        except DovetailError:
            if not broker._connection.departed:
                raise
            common.warn("the broker has left")


def _follow(broker: Experiment, run: int | None, delay: float, everything: bool) -> None:
    followed: int | None = None
    told: dict[int, int] = {}
    """The latest printed turn, by episode."""
    last = time.monotonic()
    while True:
        quiet = True
        for turn in broker.turns(timeout=0.5):
            quiet = False
            now = time.monotonic()
            if not everything:
                if followed is None or (followed != turn.episode and now - last > LOST):
                    followed = turn.episode
                if followed != turn.episode:
                    continue
            last = now
            if turn.reason is None and told.get(turn.episode) == turn.turn:
                continue  # only its clocks are new
            told[turn.episode] = turn.turn
            print(coloured(describe(turn)), flush=True)
            over = turn.terminated or turn.truncated or turn.reason is not None
            if over:
                del told[turn.episode]
            if delay:
                time.sleep(delay)
            if over and not everything:
                followed = None
                broker._turns.clear()  # continue with what is played now
        if (
            quiet
            and run is not None
            and not any(each["run"] == run for each in broker.catalogue()["runs"])
        ):
            return


def describe(turn: WatchedTurn) -> str:
    """Return a turn as text: the actions, the position, and the result."""
    lines = [f"-- run {turn.run}, episode {turn.index}, turn {turn.turn}"]
    if turn.turn == 0:
        lines[0] += ": " + " against ".join(turn.agents)
    for seat, action in turn.actions:
        name = f" ({turn.agents[seat]})" if 0 <= seat < len(turn.agents) else ""
        lines.append(f"{player(seat)}{name}: {line(str(action))}")
    if any(turn.rewards):
        lines.append(f"rewards: {', '.join(f'{reward:g}' for reward in turn.rewards)}")
    if turn.text:
        lines.append(common.position(turn.text))
    reason = turn.reason or (
        "terminated" if turn.terminated else "truncated" if turn.truncated else None
    )
    if reason is not None:
        lines.append(ending(reason, turn.outcome))
    return "\n".join(lines)


def ending(reason: str, outcome: list[float] | None) -> str:
    """Return how an episode ended, in one line."""
    if outcome is None:
        return f"over: {reason}"
    return f"over: {reason}, outcome {', '.join(f'{score:g}' for score in outcome)}"
