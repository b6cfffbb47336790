"""``dovetail rlglue``: connects unchanged RL-Glue 3 programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dovetail.cli import common
from dovetail.cli.group import add_command

if TYPE_CHECKING:
    from dovetail_bridges.rlglue.adapters import NativeSide
    from dovetail_bridges.rlglue.agent import JoinOptions
    from dovetail_bridges.rlglue.seat import SeatOptions
    from dovetail_bridges.rlglue.serve import Bridge

HOST = "127.0.0.1"
PORT = 4096


def add(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, Options, rlglue)


@dataclass(frozen=True)
class Options:
    """The options of ``dovetail rlglue``.

    Args:
        agent: Offer a legacy agent under this name; may be repeated.
        environment: Offer a legacy environment under this name.
        experiment: Serve legacy experiments; --game or --player names the Dovetail side.
        game: With --experiment: the Dovetail game that it plays.
        against: With --game: the agent of each other seat, in order; may be repeated.
        seat: With --game: the seat that the experiment drives.
        player: With --experiment: the Dovetail agent that it drives.
        mode: With --experiment: whether native agents learn.
        port: Where legacy programs connect; each further agent gets the next port. 0 takes free
            ports.
        host: Address to listen on; RL-Glue does not authenticate programs that connect.
        observe: What agents observe: plain, index[:SIZE] (numbered in order of appearance), mask or
            mask-ints (with the legal actions); may be repeated.
        illegal: An illegal action of an agent: ask again after a penalty, leave it to the run, or
            replace it.
        penalty: The penalty; default: the game's forfeit, else its lowest reward, else -1.
        tries: Illegal answers to a decision before the run's on_illegal applies.
        end_truncated: Also call agent_end when an episode is truncated.
        freeze: Message to an agent before evaluation; '' for none.
        unfreeze: Message to an agent after evaluation; '' for none.
        save: Message that saves an agent's policy to {file}.
        load: Message that loads an agent's policy from {file}.
        task_spec: Replaces the legacy environment's task spec.
        seed_message: Message that gives the environment its {seed}.
        grace: Seconds in which a lost legacy program may reconnect.
        patience: Seconds to wait for an answer of a legacy program; 0 waits forever.
        once: As a core: end after the first experiment, as RL-Glue did.
    """

    agent: Annotated[list[str] | None, typer.Option("--agent", metavar="NAME")] = None
    environment: Annotated[str | None, typer.Option("--environment", metavar="NAME")] = None
    experiment: bool = False
    game: Annotated[str | None, typer.Option(metavar="NAME")] = None
    set_: common.Set = None
    against: Annotated[list[str] | None, typer.Option(metavar="AGENT")] = None
    seat: Annotated[int, typer.Option(min=0)] = 0
    player: Annotated[str | None, typer.Option(metavar="AGENT")] = None
    seed: Annotated[int, common.seed("With --experiment: the seed of game and player.")] = 0
    mode: Literal["learn", "evaluate"] = "learn"
    port: Annotated[int, typer.Option(min=0, max=65535, envvar="RLGLUE_PORT")] = PORT
    host: str = HOST
    connect: common.Connect = common.ADDRESS
    token: common.Token = None
    key: common.KeyFile = None
    observe: Annotated[list[str] | None, typer.Option(metavar="HOW")] = None
    illegal: Literal["retry", "judge", "random", "nearest", "modulo"] = "retry"
    penalty: float | None = None
    tries: Annotated[int, typer.Option(min=0)] = 20
    end_truncated: bool = False
    freeze: Annotated[list[str] | None, typer.Option(metavar="TEXT")] = None
    unfreeze: Annotated[list[str] | None, typer.Option(metavar="TEXT")] = None
    save: Annotated[str, typer.Option(metavar="TEXT")] = ""
    load: Annotated[str, typer.Option(metavar="TEXT")] = ""
    task_spec: Annotated[str, typer.Option(metavar="TEXT")] = ""
    seed_message: Annotated[str, typer.Option(metavar="TEXT")] = ""
    grace: Annotated[float, typer.Option(min=0)] = 10.0
    patience: Annotated[float, typer.Option(min=0)] = 60.0
    once: bool = False

    def checked(self) -> None:
        """Refuse conflicting options.

        Raises:
            UsageError: the text names them.
        """
        names = self.agent or []
        if len(set(names)) != len(names):
            raise common.UsageError("two legacy agents have the same name; give each its own")
        for option, template in (("--save", self.save), ("--load", self.load)):
            if template and "{file}" not in template:
                raise common.UsageError(
                    f"{option}: {template!r} has no {{file}}, which stands for the path"
                )
        if self.seed_message and "{seed}" not in self.seed_message:
            raise common.UsageError(f"--seed-message: {self.seed_message!r} has no {{seed}}")
        if not self.experiment:
            if self.game is not None or self.player is not None or self.against or self.set_:
                raise common.UsageError("--game, --set, --against and --player need --experiment")
            return
        if len(names) > 1:
            raise common.UsageError("an RL-Glue experiment drives one agent; give --agent once")
        if (self.environment is None) == (self.game is None):
            raise common.UsageError("--experiment needs either --environment NAME or --game NAME")
        if (not names) == (self.player is None):
            raise common.UsageError("--experiment needs either --agent NAME or --player AGENT")

    def view(self) -> SeatOptions:
        """Return the options of a legacy agent's view of a seat."""
        from dovetail_bridges.rlglue.seat import SeatOptions
        from dovetail_bridges.rlglue.seat import observe as how

        with common.refusing("--observe"):
            index, mask = how(self.observe or [])
        return SeatOptions(index, mask, self.illegal, self.penalty, self.tries)

    def joining(self, view: SeatOptions) -> JoinOptions:
        """Return the options of legacy agents' joining."""
        from dovetail_bridges.rlglue.agent import JoinOptions

        usual = JoinOptions()
        freeze, unfreeze = self.freeze, self.unfreeze
        return JoinOptions(
            view,
            self.end_truncated,
            usual.freeze if freeze is None else tuple(filter(None, freeze)),
            usual.unfreeze if unfreeze is None else tuple(filter(None, unfreeze)),
            self.save,
            self.load,
            self.grace,
        )

    def table(self, view: SeatOptions) -> NativeSide:
        """Return the Dovetail side of a legacy experiment."""
        from dovetail_bridges.rlglue.adapters import NativeSide

        return NativeSide(
            self.game or "",
            common.settings(self.set_),
            tuple(self.against or ()),
            self.seat,
            self.player or "",
            self.seed,
            self.mode,
            view,
            self.connect,
            self.token,
            self.patience or None,
        )


def rlglue(options: Options) -> None:
    """Connect unchanged RL-Glue 3 programs over their TCP protocol.

    Without a role option it replaces RL-Glue's core and needs no broker.

    Example: dovetail rlglue

    Example: dovetail rlglue --agent white --agent black --observe index

    Example: dovetail rlglue --environment mines

    Example: dovetail rlglue --experiment --agent mine --game connect_four --against random

    Example: dovetail rlglue --experiment --environment mines --player q-learning
    """
    from dovetail_bridges.rlglue.serve import Bridge

    common.log_to_stderr()
    view = options.view()
    options.checked()
    bridge = Bridge(options.connect, options.token, say=_say)
    try:
        if options.experiment:
            _relay_experiment(bridge, options, view)
        else:
            _join(bridge, options, view)
    except BaseException:
        bridge.close()
        raise
    bridge.wait()


def _relay_experiment(bridge: Bridge, options: Options, view: SeatOptions) -> None:
    """Serve a legacy experiment."""
    from dovetail_bridges.rlglue.adapters import experiments
    from dovetail_bridges.rlglue.listener import Port
    from dovetail_bridges.rlglue.serve import relay

    make, roles = experiments(options.table(view))
    world = Port(options.host, options.port, roles, options.patience or None)
    _say(f"experiment: RLGLUE_PORT={world.number}")
    bridge.run(world, lambda: relay(world, make, roles, once=options.once))


def _join(bridge: Bridge, options: Options, view: SeatOptions) -> None:
    """Offer legacy agents and environments to a broker, or replace RL-Glue's core."""
    from dovetail_bridges.rlglue.environment import HostOptions
    from dovetail_bridges.rlglue.listener import Port
    from dovetail_bridges.rlglue.serve import relay

    names, environment, patience = (
        options.agent or [],
        options.environment,
        options.patience or None,
    )
    joining = options.joining(view)
    if not names and environment is None:
        core = Port(options.host, options.port, patience=patience)
        _say(f"core: RLGLUE_PORT={core.number}")
        bridge.run(core, lambda: relay(core, once=options.once))
    if environment is not None:
        roles = ["environment", "agent"] if names else ["environment"]
        first = Port(options.host, options.port, roles, patience)
        hosting = HostOptions(options.task_spec, options.seed_message, options.grace)
        bridge.environment(environment, first, hosting)
    for number, name in enumerate(names):
        if number == 0 and environment is not None:
            mine = first
        else:
            port = options.port and options.port + number
            mine = Port(options.host, port, ["agent"], patience)
        bridge.agent(name, mine, joining)


def _say(line: str) -> None:
    print(line, flush=True)
