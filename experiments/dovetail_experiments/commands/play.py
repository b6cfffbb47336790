"""``dovetail play``: a person against any agent, in the terminal."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import common
from dovetail.protocol import outside
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive

if TYPE_CHECKING:
    from dovetail.protocol import messages as m


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(play)


def play(
    env: Annotated[str, typer.Argument(metavar="ENV", autocompletion=common.complete_environment)],
    against: Annotated[
        str | None, typer.Option(metavar="AGENT", autocompletion=common.complete_agent)
    ] = None,
    seat: Annotated[int, typer.Option(min=0)] = 0,
    set_: common.Set = None,
    set_agent: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None,
    state: Annotated[str | None, typer.Option(metavar="FILE")] = None,
    state_name: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    seed: Annotated[int | None, common.seed("Seed; the same seed gives the same game.")] = None,
    games: Annotated[int, typer.Option(min=1)] = 1,
    register_: common.Register = None,
    connect: common.MaybeConnect = None,
    token: common.Token = None,
    key: common.KeyFile = None,
) -> None:
    """Play against an agent in the terminal, within this program or through a running broker.

    Example: dovetail play connect_four --against td --seat 1

    Args:
        env: A built-in name, module:Class or path/to/file.py:Class.
        against: Agent for the other seats; default: random.
        seat: Your seat; 0 begins.
        set_agent: Set a parameter of AGENT; may be repeated.
        state: Load a state that AGENT saved: a file, or OUT:AGENT of an experiment.
        state_name: With --connect: load a state of AGENT that the broker stores.
        games: Number of games.
    """
    if state_name is not None and (connect is None or state is not None):
        raise common.UsageError("--state-name needs --connect and cannot be used with --state")
    if register_ and connect is not None:
        raise common.UsageError("--register works only within this program; remove --connect")
    common.register(register_)
    configuration = common.settings(set_)
    parameters = common.settings(set_agent, "--set-agent")
    data = None
    if state is not None:
        with common.refusing():
            data = _read(state)
    if seed is None:
        seed = secrets.randbelow(1 << 53)

    from dovetail_experiments.commands import seating

    rival = against or "random"
    place = (
        seating.here(env, rival, configuration, parameters)
        if connect is None
        else seating.there(env, rival, connect, token)
    )
    with place as (experiment, name, opponent, human_at):
        seats = seating.seats(env, configuration, local=connect is None)
        if seat >= seats:
            raise common.UsageError(f"seat {seat} does not exist; {env} has seats 0 to {seats - 1}")
        if seats == 1 and against:
            raise common.UsageError(
                f"{env} has only one seat, which is yours; remove --against, or write an "
                "experiment file to let an agent play"
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
            lookahead=True,
            check=True,
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


def _read(state: str) -> bytes:
    path = Path(state)
    if path.is_file() and not path.name.endswith(".sqlite"):
        return outside.data(path, outside.STATE)  # avoids importing the database code
    from dovetail_experiments.records.records import read_state

    return read_state(state)


LEFT = "the person left the game"
"""Text by which ``Human`` reports that the person stopped playing, which is not a failure."""


def _score(episode: m.Episode, seat: int) -> str | float:
    """Return a seat's result: a word, or its return if the game has no winners."""
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
