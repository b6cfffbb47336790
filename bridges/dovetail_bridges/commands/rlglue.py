"""``dovetail rlglue``: programs of RL-Glue 3 join as they are."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from dovetail.cli.common import (
    ADDRESS,
    Connect,
    KeyFile,
    Set,
    Token,
    UsageError,
    log_to_stderr,
    settings,
)
from dovetail.protocol.errors import DovetailError

HOST = "127.0.0.1"
PORT = 4096


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(rlglue)


def rlglue(
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", metavar="NAME", help="Offer a legacy agent under this name; may be repeated."
        ),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            "--environment", metavar="NAME", help="Offer a legacy environment under this name."
        ),
    ] = None,
    experiment: Annotated[
        bool,
        typer.Option(
            "--experiment",
            help="Serve legacy experiments; --game or --player names the Dovetail side.",
        ),
    ] = False,
    game: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --experiment: the Dovetail game that it plays."),
    ] = None,
    set_: Set = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT",
            help="With --game: the agent of each other seat, in order; may be repeated.",
        ),
    ] = None,
    seat: Annotated[
        int, typer.Option(min=0, help="With --game: the seat that the experiment drives.")
    ] = 0,
    player: Annotated[
        str | None,
        typer.Option(metavar="AGENT", help="With --experiment: the Dovetail agent that it drives."),
    ] = None,
    seed: Annotated[int, typer.Option(help="With --experiment: the seed of game and player.")] = 0,
    mode: Annotated[
        Literal["learn", "evaluate"],
        typer.Option(help="With --experiment: whether native agents learn."),
    ] = "learn",
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            envvar="RLGLUE_PORT",
            help="Where legacy programs connect; each further agent gets the next port. 0 takes free ports.",
        ),
    ] = PORT,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; RL-Glue does not authenticate programs that connect."
        ),
    ] = HOST,
    connect: Connect = ADDRESS,
    token: Token = None,
    key: KeyFile = None,
    observe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOW",
            help="What agents observe: plain, index[:SIZE] (numbered in order of appearance), mask or mask-ints "
            "(with the legal actions); may be repeated.",
        ),
    ] = None,
    illegal: Annotated[
        Literal["retry", "judge", "random", "nearest", "modulo"],
        typer.Option(
            help="An illegal action of an agent: ask again after a penalty, leave it to the run, or replace it."
        ),
    ] = "retry",
    penalty: Annotated[
        float | None,
        typer.Option(
            help="The penalty; default: the game's forfeit, else its lowest reward, else -1."
        ),
    ] = None,
    tries: Annotated[
        int,
        typer.Option(
            min=0, help="Illegal answers to a decision before the run's on_illegal applies."
        ),
    ] = 20,
    end_truncated: Annotated[
        bool,
        typer.Option("--end-truncated", help="Also call agent_end when an episode is truncated."),
    ] = False,
    freeze: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Message to an agent before evaluation; '' for none."),
    ] = None,
    unfreeze: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Message to an agent after evaluation; '' for none."),
    ] = None,
    save: Annotated[
        str, typer.Option(metavar="TEXT", help="Message that saves an agent's policy to {file}.")
    ] = "",
    load: Annotated[
        str, typer.Option(metavar="TEXT", help="Message that loads an agent's policy from {file}.")
    ] = "",
    task_spec: Annotated[
        str, typer.Option(metavar="TEXT", help="Replaces the legacy environment's task spec.")
    ] = "",
    seed_message: Annotated[
        str, typer.Option(metavar="TEXT", help="Message that gives the environment its {seed}.")
    ] = "",
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds in which a lost legacy program may reconnect.")
    ] = 10.0,
    patience: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds to wait for an answer of a legacy program; 0 waits forever."
        ),
    ] = 60.0,
    once: Annotated[
        bool,
        typer.Option("--once", help="As a core: end after the first experiment, as RL-Glue did."),
    ] = False,
) -> None:
    """Connect unchanged RL-Glue 3 programs over their TCP protocol.

    Without a role option it replaces RL-Glue's core and needs no broker.

    Example: dovetail rlglue

    Example: dovetail rlglue --agent white --agent black --observe index

    Example: dovetail rlglue --environment mines

    Example: dovetail rlglue --experiment --agent mine --game connect_four --against random

    Example: dovetail rlglue --experiment --environment mines --player q-learning
    """
    from dovetail_bridges.rlglue.adapters import Table, experiments
    from dovetail_bridges.rlglue.agent import JoinOptions
    from dovetail_bridges.rlglue.core_server import relay
    from dovetail_bridges.rlglue.environment import HostOptions
    from dovetail_bridges.rlglue.listener import Port
    from dovetail_bridges.rlglue.seat import SeatOptions
    from dovetail_bridges.rlglue.seat import observe as how
    from dovetail_bridges.rlglue.serve import Bridge

    log_to_stderr()
    names = agent or []
    if len(set(names)) != len(names):
        raise UsageError("two legacy agents have the same name; give each its own")
    try:
        index, mask = how(observe or [])
    except DovetailError as error:
        raise UsageError(f"--observe: {error}") from None
    for option, template in (("--save", save), ("--load", load)):
        if template and "{file}" not in template:
            raise UsageError(f"{option}: {template!r} has no {{file}}, which stands for the path")
    if seed_message and "{seed}" not in seed_message:
        raise UsageError(f"--seed-message: {seed_message!r} has no {{seed}}")
    view = SeatOptions(index, mask, illegal, penalty, tries)
    usual = JoinOptions()
    joining = JoinOptions(
        view,
        end_truncated,
        usual.freeze if freeze is None else tuple(filter(None, freeze)),
        usual.unfreeze if unfreeze is None else tuple(filter(None, unfreeze)),
        save,
        load,
        grace,
    )
    hosting = HostOptions(task_spec, seed_message, grace)
    waits = patience or None
    bridge = Bridge(connect, token, say=_say)
    if experiment:
        _check_experiment(names, environment, game, player)
    elif game is not None or player is not None or against or set_:
        raise UsageError("--game, --set, --against and --player need --experiment")
    try:
        if experiment:
            table = Table(
                game or "",
                settings(set_),
                tuple(against or ()),
                seat,
                player or "",
                seed,
                mode,
                view,
                connect,
                token,
                waits,
            )
            make, roles = experiments(table)
            world = Port(host, port, roles, waits)
            _say(f"experiment: RLGLUE_PORT={world.number}")
            bridge.run(world, lambda: relay(world, make, roles, once=once))
            bridge.wait()
            return
        if not names and environment is None:
            core = Port(host, port, patience=waits)
            _say(f"core: RLGLUE_PORT={core.number}")
            bridge.run(core, lambda: relay(core, once=once))
        if environment is not None:
            roles = ["environment", "agent"] if names else ["environment"]
            first = Port(host, port, roles, waits)
            bridge.environment(environment, first, hosting)
        for number, name in enumerate(names):
            if number == 0 and environment is not None:
                mine = first
            else:
                mine = Port(host, port and port + number, ["agent"], waits)
            bridge.agent(name, mine, joining)
    except BaseException:
        bridge.close()
        raise
    bridge.wait()


def _check_experiment(
    names: list[str], environment: str | None, game: str | None, player: str | None
) -> None:
    if len(names) > 1:
        raise UsageError("an RL-Glue experiment drives one agent; give --agent once")
    if (environment is None) == (game is None):
        raise UsageError("--experiment needs either --environment NAME or --game NAME")
    if (not names) == (player is None):
        raise UsageError("--experiment needs either --agent NAME or --player AGENT")


def _say(line: str) -> None:
    print(line, flush=True)
