"""Checks an experiment file's options, and the files it names, before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.peer import options, plugins
from dovetail.peer.config_location import Step
from dovetail.peer.error_origin import FAILURES
from dovetail.peer.presets import declared
from dovetail.peer.registry import type_name
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files import openings
from dovetail_experiments.files.file import (
    Block,
    ExperimentFile,
    League,
    Mistake,
    Pairing,
    Part,
    Phase,
    PlayPart,
    Tournament,
    base,
    located,
    place_of,
)
from dovetail_experiments.files.sweep import SweepPlan
from dovetail_experiments.records.records import read_state
from dovetail_experiments.stages.schedule import Stage, stages


def check(plan: SweepPlan) -> None:
    """Check the options of all environments and agents whose Python code is on this machine.

    Raises:
        DovetailError: a name or an option is wrong; the message says where.
    """
    for values in plan.corners():
        with plan.trying(values), located(plan.source):
            for trial in plan.trials(values, 1)[:: len(plan.seeds)]:
                check_file(trial.file)


def check_file(file: ExperimentFile) -> None:
    """Check an experiment as ``check`` does.

    Raises:
        Mistake: a name or an option is wrong.
    """
    environment = file.environment
    game = None
    if environment.command is None:
        game = configured(environment.name, environment.configuration, "environment", game="name")
    for name in file.used():
        part = file.agents[name]
        if part.command is not None:
            continue
        try:
            parametrised(part.type, part.parameters, "agents", name)
        except Mistake as error:
            raise Mistake(f"[agents.{name}]: {error}", *error.steps) from None
    first_states(file)
    for stage in stages(file):
        book = written(file, stage.part)
        if book is not None:
            _enough(file, stage, len(book.lines))
    if game is not None:
        seating(file, game)


def seating(file: ExperimentFile, game: type[Any]) -> None:
    """Check that the agents of each stage can play the game, before play starts.

    Raises:
        Mistake: an agent cannot play.
    """
    environment = file.environment
    try:
        given = options.read(game.Configuration, environment.configuration, environment.name)
        spec = declared(game(given))
        spec.name = spec.name or offered_name(environment.name, "environment")
    except FAILURES:
        return  # its own program will report it
    parts: list[Part] = [*file.parts(), *file.leagues, *file.tournaments]
    for part in parts:
        seats = part.seats if isinstance(part.seats, int) else len(part.seats)
        if seats != spec.seats:
            has = f"{spec.name} has {spec.seats} {'seat' if spec.seats == 1 else 'seats'}"
            text = f"{part.name}: {has} as configured, not {seats}; set `seats` of {_called(part)}"
            raise Mistake(text, *place_of(file, part), "seats")
        for name in dict.fromkeys(map(base, part.taking_part())):
            agent = file.agents[name]
            if agent.command is not None or agent.register:  # known only to its program
                continue
            kind = plugins.find("agent", agent.type)
            parameters = options.read(kind.Parameters, agent.parameters, agent.type)
            try:
                kind.needs.check(offered_name(agent.type), spec)
                kind.check_game(parameters, spec, part.lookahead)
            except DovetailError as error:
                raise unseated(file, part, error, f"{part.name}: {error}") from None


def unseated(file: ExperimentFile, part: Part, error: DovetailError, text: str) -> Mistake:
    """Return the error of an agent that cannot take its seat, with a remedy if there is one."""
    if getattr(error, "code", "") == "lookahead":
        text += f", or `lookahead = true` in {_called(part)}"
    return Mistake(text, *place_of(file, part))


def _called(part: Part) -> str:
    """Return a part of a file, or the part a stage belongs to, as text for an error."""
    match part:
        case Tournament(name=name) | Pairing(tournament=name):
            return f"the tournament {name!r}"
        case League(name=name) | Block(league=name):
            return f"the league {name!r}"
    return f"the {'phase' if isinstance(part, Phase) else 'evaluation'} {part.name!r}"


def _enough(file: ExperimentFile, stage: Stage, count: int) -> None:
    part = stage.part
    if isinstance(part, Pairing) and part.sprt is not None and 2 * count < stage.episodes:
        raise Mistake(
            f"{part.tournament}: sprt counts each opening once, so {count} openings decide within "
            f"{2 * count} games; set episodes = {2 * count}, or give openings for all "
            f"{stage.episodes}",
            *place_of(file, part),
            "episodes",
        )


def first_states(file: ExperimentFile) -> dict[str, bytes]:
    """Return the agents' initial states, by name.

    Raises:
        Mistake: a state cannot be read.
    """
    found = {}
    for name in file.used():
        path = file.agents[name].state
        if path is not None:
            try:
                found[name] = read_state(path)
            except DovetailError as error:
                raise Mistake(f"[agents.{name}]: {error}", "agents", name, "state") from None
    return found


def written(file: ExperimentFile, part: PlayPart) -> openings.Book | None:
    """Return a part's openings from the file or the list it gives; None if they are drawn at
    random.

    Raises:
        Mistake: the file cannot be read, or a line is not an opening.
    """
    if isinstance(part.openings, list):
        return openings.given(part.openings)
    if not isinstance(part.openings, str) or part.openings == "auto":
        return None
    try:
        return openings.read(Path(part.openings))
    except DovetailError as error:
        place = place_of(file, part)
        raise Mistake(f"{part.name}: {error}", *place, "openings") from None


def configured(
    name: str, configuration: dict[str, Any], *steps: Step, game: str = "game"
) -> type[Any]:
    """Check an environment and its configuration; return its class.

    Args:
        name: its name; from the local user, never from a peer.
        steps: the path of their table in the experiment file.
        game: the key of the name in that table.

    Raises:
        Mistake: the name or an option is wrong.
    """
    kind = _found("environment", name, *steps, game)
    _read(kind.Configuration, configuration, f"environment {name}", *steps, "configuration")
    return kind


def parametrised(name: str, parameters: dict[str, Any], *steps: Step) -> None:
    """Check an agent's type and its parameters, like ``configured``."""
    kind = _found("agent", name, *steps, "type")
    _read(kind.Parameters, parameters, f"agent {name}", *steps, "parameters")


def _found(kind: plugins.Kind, name: str, *steps: Step) -> type[Any]:
    try:
        return plugins.find(kind, name)
    except DovetailError as error:
        raise Mistake(str(error), *steps) from None


def _read(struct: type[Any], given: dict[str, Any], owner: str, *steps: Step) -> None:
    try:
        options.read(struct, given, owner)
    except options.WrongOption as error:
        raise Mistake(str(error), *steps, error.option) from None


def named(error: str, given: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return the option named in another program's error, as the last step of its path."""
    found = [name for name in given if repr(name) in error]
    return tuple(sorted(found, key=lambda name: error.index(repr(name)))[:1])


def offered_name(name: str, kind: plugins.Kind = "agent") -> str:
    """Return the public name of a class that a program serves as ``name``.

    Args:
        name: as for ``find``, from the local user.
        kind: environment or agent.

    Raises:
        DovetailError: as for ``find``, if it names a module or file.
    """
    if ":" not in name:
        return name
    return type_name(plugins.find(kind, name))
