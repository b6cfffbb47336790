"""``dovetail play``: a person against any agent, in the terminal."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.common import (
    MaybeConnect,
    Register,
    Set,
    Token,
    UsageError,
    complete_agent,
    complete_environment,
    log_to_stderr,
    register,
    settings,
)
from dovetail.cli.common import agent as find_agent
from dovetail.cli.common import environment as find_environment
from dovetail.protocol import messages as m
from dovetail.protocol import options, plugins
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive

if TYPE_CHECKING:
    from dovetail.agent_servers.host import AgentHost
    from dovetail.experiments.client import Experiment
    from dovetail.protocol.link import Link


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(play)


def play(
    env: Annotated[
        str,
        typer.Argument(
            metavar="ENV",
            help="A built-in name, module:Class or path/to/file.py:Class.",
            autocompletion=complete_environment,
        ),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            metavar="AGENT",
            help="Who has the other seats; random if not given.",
            autocompletion=complete_agent,
        ),
    ] = None,
    seat: Annotated[int, typer.Option(min=0, help="Your seat; 0 begins.")] = 0,
    set_: Set = None,
    set_agent: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Set a parameter of AGENT; may be repeated."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Put AGENT into a state that it saved.", dir_okay=False),
    ] = None,
    state_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --connect: a state of AGENT that the broker keeps."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For the same game again.")] = None,
    games: Annotated[int, typer.Option(min=1, help="How many.")] = 1,
    register_: Register = None,
    connect: MaybeConnect = None,
    token: Token = None,
) -> None:
    """Play against an agent here in the terminal; in this program, or at a running broker.

    Example: dovetail play connect_four --against td --seat 1
    """
    if state_name is not None and (connect is None or state is not None):
        raise UsageError("--state-name needs --connect, and excludes --state")
    if register_ and connect is not None:
        raise UsageError("--register is for a game in this program; leave out --connect")
    register(register_)
    configuration = settings(set_)
    parameters = settings(set_agent, "--set-agent")
    data = None
    if state is not None:
        try:
            data = state.read_bytes()
        except OSError as error:
            raise UsageError(f"cannot read {state}: {error.strerror}") from None
    if seed is None:
        seed = secrets.randbelow(1_000_000)

    rival = against or "random"
    place = _here(env, rival) if connect is None else _there(env, rival, connect, token)
    with place as (experiment, name, opponent, human_at):
        seats = _seats(env, configuration, local=connect is None)
        if seat >= seats:
            raise UsageError(f"there is no seat {seat}; {env} has seats 0 to {seats - 1}")
        if seats == 1 and against:
            raise UsageError(
                f"{env} has one seat, and it is yours: leave --against out; an experiment file lets an agent play it"
            )
        print(f"seed {seed}")
        human = experiment.create("human", seed=seed, peer=human_at)
        agents: list[int | str] = [human] * seats
        for number in range(seats):
            if number != seat:
                agents[number] = experiment.create(
                    opponent,
                    seed=derive(seed, "opponent", number),
                    parameters=parameters,
                    state=data,
                    state_name=state_name,
                )
        run = experiment.run(
            name,
            agents,
            configuration=configuration,
            episodes=games,
            seed=seed,
            mode="evaluate",
            answer_timeout=None,
            retries=0,
        )
        scores = []
        for episode in run:
            if not episode.scored or episode.reason == "stalled":
                text = episode.message or episode.reason
                if episode.blame == seat and text == LEFT:
                    break
                raise DovetailError(f"the game was broken off: {text}")
            scores.append(_score(episode, seat))
        if games > 1 and scores:
            print(_tally(scores))


LEFT = "the person left the game"
"""What ``Human`` says of a person who plays no more; that is no failure."""


def _score(episode: m.Episode, seat: int) -> str | float:
    """Return how a game went for a seat: a word, or its return where nobody wins."""
    if episode.outcome is None or len(episode.outcome) < 2:
        return episode.seats[seat].total
    score, best = episode.outcome[seat], max(episode.outcome)
    return "lost" if score < best else "won" if episode.outcome.count(best) == 1 else "drawn"


def _tally(scores: list[str | float]) -> str:
    returns = [each for each in scores if not isinstance(each, str)]
    if returns:
        return f"{len(returns)} games: mean return {sum(returns) / len(returns):g}"
    return f"{len(scores)} games: " + ", ".join(
        f"{scores.count(word)} {word}" for word in ("won", "drawn", "lost")
    )


def _seats(env: str, configuration: dict[str, Any], *, local: bool) -> int:
    """Return how many seats a game has; two if only the broker knows it."""
    try:
        kind = find_environment(env)
    except DovetailError:
        if local:
            raise
        return 2
    try:
        made = kind(options.read(kind.Configuration, configuration, f"environment {env}"))
        seats = made.init().seats
    except DovetailError as error:
        raise UsageError(str(error)) from None
    made.cleanup()
    return seats


Place = tuple["Experiment", str, str, str | None]
"""The experiment, the environment's and the opponent's names in it, and who makes humans."""


@contextmanager
def _here(env: str, against: str) -> Iterator[Place]:
    from dovetail.agent_servers.host import type_name as agent_name
    from dovetail.broker.inprocess import InProcess
    from dovetail.env_servers.host import type_name

    kind, opponent, human = find_environment(env), find_agent(against), find_agent("human")
    types = [human] if opponent is human else [human, opponent]
    with InProcess([kind], types) as experiment:
        yield experiment, type_name(kind), agent_name(opponent), None


@contextmanager
def _there(env: str, against: str, address: str, token: str | None) -> Iterator[Place]:
    from dovetail import __version__
    from dovetail.agent_servers.host import AgentHost
    from dovetail.experiments.client import Experiment
    from dovetail.protocol.link import GIVE_UP, Link

    log_to_stderr()
    host = AgentHost([find_agent("human")])
    software = f"dovetail-python {__version__}"
    hello = m.Hello(m.VERSION, "agent", "", host.offers(), token, software=software)
    # The experiment's connection already tells the person when the broker falls silent.
    seat = Link(address, hello, warn=_silently)
    try:
        assert seat.session.welcome is not None
        name = seat.session.welcome.name
        hello = m.Hello(m.VERSION, "experiment", token=token, software=software)
        link = Link(address, hello, give_up=GIVE_UP)
        with Experiment(_Both(link, seat, host)) as experiment:
            yield experiment, _remote("environment", env), _remote("agent", against), name
    finally:
        seat.close()


def _silently(_: str) -> None:
    pass


def _remote(kind: plugins.Kind, name: str) -> str:
    """Return what a broker calls what is named here; a module or file may be named as well."""
    if ":" not in name:
        return name
    found = plugins.find(kind, name)
    return str(found.name or found.__name__.lower())


class _Both:
    """The experiment's connection, which serves the person's seat while it waits.

    One thread does both, so that Ctrl-C reaches the person's prompt.
    """

    def __init__(self, link: Link, seat: Link, host: AgentHost) -> None:
        self._link, self._seat, self._host = link, seat, host
        self._ended = 0
        """Episodes that the person has heard the end of, less those the experiment has."""

    @property
    def departed(self) -> bool:
        """Whether the broker has said goodbye."""
        return self._link.departed

    def send(self, messages: Sequence[m.Message]) -> None:
        """Send messages to the broker."""
        self._link.send(messages)

    def receive(self, timeout: float | None) -> list[m.Message]:
        """Let the person play; return what came for the experiment.

        A result waits until the person has heard the end of the game, a second at most.
        """
        came = self._link.receive(0.02)
        results = sum(isinstance(each, m.Episode) for each in came)
        end = time.monotonic() + 1.0
        while True:
            asked = self._seat.receive(0.02)
            if asked:
                self._seat.send(self._host.handle(asked))
            self._ended += sum(isinstance(each, m.End) for each in asked)
            if self._ended >= results or time.monotonic() > end:
                self._ended = max(0, self._ended - results)
                return came

    def close(self) -> None:
        """Leave."""
        self._link.close()
