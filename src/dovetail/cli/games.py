"""``dovetail play``: a person against any agent, in the terminal."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.common import (
    MaybeConnect,
    Register,
    Set,
    Token,
    UsageError,
    complete_agent,
    complete_environment,
    register,
    settings,
)
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive

if TYPE_CHECKING:
    from dovetail.protocol import messages as m


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

    from dovetail.cli import seating

    rival = against or "random"
    place = (
        seating.here(env, rival) if connect is None else seating.there(env, rival, connect, token)
    )
    with place as (experiment, name, opponent, human_at):
        seats = seating.seats(env, configuration, local=connect is None)
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
                raise DovetailError(f"the game was interrupted: {text}")
            scores.append(_score(episode, seat))
        if games > 1 and scores:
            print(_tally(scores))


LEFT = "the person left the game"
"""What ``Human`` says of a person who stops playing; this is not a failure."""


def _score(episode: m.Episode, seat: int) -> str | float:
    """Return how a game went for a seat: a word, or its return in a game without winners."""
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
