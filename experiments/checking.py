"""Options of an experiment file and the files that it names, checked before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.experiments import openings
from dovetail.experiments.file import ExperimentFile, Mistake, Pairing, PlayPart, located, place_of
from dovetail.experiments.records import read_state
from dovetail.experiments.schedule import Stage, stages
from dovetail.experiments.sweep import Plan
from dovetail.peer import options, plugins
from dovetail.peer.source import Step
from dovetail.protocol.errors import DovetailError


def check(plan: Plan) -> None:
    """Check what a plan sets in each environment and agent that is written in Python and on this machine.

    Raises:
        DovetailError: a name or an option is wrong; one line says where and what.
    """
    for values in plan.corners():
        with plan.trying(values), located(plan.source):
            _check(plan.trials(values, 1)[0].file)


def _check(file: ExperimentFile) -> None:
    environment = file.environment
    if environment.command is None:
        configured(environment.name, environment.configuration, "environment", game="name")
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


def _enough(file: ExperimentFile, stage: Stage, count: int) -> None:
    part = stage.part
    if isinstance(part, Pairing) and part.sprt is not None and 2 * count < stage.episodes:
        raise Mistake(
            f"{part.tournament}: sprt counts each opening once, so {count} openings decide within "
            f"{2 * count} games; set episodes = {2 * count}, or give openings for all {stage.episodes}",
            *place_of(file, part),
            "episodes",
        )


def first_states(file: ExperimentFile) -> dict[str, bytes]:
    """Return the states that agents begin with, by name.

    Raises:
        Mistake: one cannot be read.
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
    """Return the openings that are written out or in a file that is named; None if they are to be drawn.

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
    """Check an environment and what configures it; return its class.

    Args:
        name: its name; from the local user, never from a peer.
        configuration: its options.
        steps: the table of the file that has both.
        game: the key of the name there.

    Raises:
        Mistake: one of them is wrong.
    """
    kind = _found("environment", name, *steps, game)
    _read(kind.Configuration, configuration, f"environment {name}", *steps, "configuration")
    return kind


def parametrised(name: str, parameters: dict[str, Any], *steps: Step) -> None:
    """Check an agent's type and its parameters; as ``configured``."""
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
    """Return the option that an error of another program names, as the last step of its place."""
    found = [name for name in given if repr(name) in error]
    return tuple(sorted(found, key=lambda name: error.index(repr(name)))[:1])
