"""Experiment files: TOML that names environment, agents, phases and evaluations.

docs/experiments.md describes the form; these structs are what it must be.
"""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Breach, ClockRule, Mode
from dovetail.protocol.seeds import derive

Positive = Annotated[int, Meta(ge=1)]


class EnvironmentPart(Struct, frozen=True, forbid_unknown_fields=True):
    """``[environment]``."""

    name: str
    """A built-in environment, or ``module:Class`` or ``file.py:Class``; or what ``command`` offers."""
    configuration: dict[str, Any] = {}
    command: list[str] | None = None
    """A program in any language that offers ``name``; as for agents."""


class AgentPart(Struct, frozen=True, forbid_unknown_fields=True):
    """``[agents.NAME]``."""

    type: str
    """A built-in agent, or ``module:Class`` or ``file.py:Class``; or what ``command`` offers."""
    parameters: dict[str, Any] = {}
    seed: int | None = None
    """Derived from the experiment's seed and the agent's name if not given."""
    command: list[str] | None = None
    """A program in any language that offers ``type``; ``{address}`` stands for the broker's, which is also in
    the environment variable DOVETAIL_BROKER."""
    state: str | None = None
    """A file with a saved state to begin from."""
    register: list[str] = []
    """What its parameters may name, each ``KIND:NAME=FILE.py:THING`` as for ``dovetail agent --register``."""


class PlayPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What phases and evaluations share."""

    name: str
    seats: Annotated[list[str], Meta(min_length=1)]
    """Agents by seat; an agent may have several."""
    episodes: Positive = 100
    concurrency: Positive = 1
    rotate: bool = False
    """Seats move on by one each episode."""
    seed: int | None = None
    """Derived from the experiment's seed and the name if not given."""
    clock: ClockRule = ClockRule()
    max_turns: Positive | None = None
    on_timeout: Breach = "forfeit"
    on_illegal: Breach = "forfeit"
    lookahead: bool = False
    """Whether agents may ask the environment what would follow."""


class Phase(PlayPart, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[[phases]]``: played one after the other."""

    mode: Mode = "learn"
    evaluate_every: Annotated[int, Meta(ge=0)] = 0
    """Episodes between evaluations, also before the first and after the last; 0 for none."""


class Evaluation(PlayPart, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[[evaluations]]``: played with learning off, the same episodes each time."""


class Pairing(PlayPart, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Two players of a tournament; the file's form of it is ``Tournament``."""

    tournament: str


class Tournament(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[[tournaments]]``: each player meets each other, with learning off, after all phases."""

    name: str
    players: Annotated[list[str], Meta(min_length=2)]
    episodes: Annotated[int, Meta(ge=2, multiple_of=2)] = 100
    """Of each pair, half of them in either order of seats."""
    concurrency: Positive = 1
    clock: ClockRule = ClockRule()
    max_turns: Positive | None = None
    on_timeout: Breach = "forfeit"
    on_illegal: Breach = "forfeit"
    lookahead: bool = False

    def pairings(self) -> list[Pairing]:
        """Return what is played."""
        return [
            Pairing(
                name=f"{self.name}: {one} - {other}",
                tournament=self.name,
                seats=[one, other],
                episodes=self.episodes,
                concurrency=self.concurrency,
                rotate=True,
                clock=self.clock,
                max_turns=self.max_turns,
                on_timeout=self.on_timeout,
                on_illegal=self.on_illegal,
                lookahead=self.lookahead,
            )
            for one, other in itertools.combinations(self.players, 2)
        ]


class ProcessesPart(Struct, frozen=True, forbid_unknown_fields=True):
    """``[processes]``: how the local processes run."""

    pin: bool = False
    """Keep all on one core; faster where turns are short, for waking a core costs more."""
    transport: Literal["ipc", "tcp"] = "ipc"
    """What they talk over: a Unix socket, or a loopback port, since not every language's ZeroMQ has the former."""


class ExperimentFile(Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment."""

    name: Annotated[str, Meta(pattern="^[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
    environment: EnvironmentPart
    agents: dict[str, AgentPart]
    phases: list[Phase] = []
    evaluations: list[Evaluation] = []
    tournaments: list[Tournament] = []
    description: str = ""
    seed: int = 0
    processes: ProcessesPart = ProcessesPart()

    def parts(self) -> list[Phase | Evaluation | Pairing]:
        """Return everything that is played."""
        pairings = [each for tournament in self.tournaments for each in tournament.pairings()]
        return [*self.phases, *self.evaluations, *pairings]

    def agent_seed(self, name: str) -> int:
        """Return the seed of an agent."""
        seed = self.agents[name].seed
        return derive(self.seed, "agent", name) if seed is None else seed

    def play_seed(self, part: PlayPart) -> int:
        """Return the master seed of a phase's or evaluation's runs."""
        kind = kind_of(part)
        return derive(self.seed, kind, part.name) if part.seed is None else part.seed

    def used(self) -> list[str]:
        """Return the agents that have a seat anywhere, in the order of the file."""
        seated = {name for part in self.parts() for name in part.seats}
        return [name for name in self.agents if name in seated]

    def learners(self) -> list[str]:
        """Return the agents that learn in some phase."""
        learning = {name for phase in self.phases if phase.mode == "learn" for name in phase.seats}
        return [name for name in self.agents if name in learning]


def kind_of(part: PlayPart) -> str:
    """Return ``phase``, ``evaluation`` or ``tournament``."""
    return {Phase: "phase", Pairing: "tournament"}.get(type(part), "evaluation")


def read(path: Path, overrides: dict[str, Any] | None = None) -> ExperimentFile:
    """Return the experiment in a file, with some of its keys overridden.

    An override's key is a path such as ``seed`` or ``agents.first.parameters.hidden`` or
    ``phases.0.episodes``.

    Raises:
        DovetailError: the file cannot be read or is not an experiment; one line says what and where.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DovetailError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DovetailError(f"{path} is not valid TOML: {error}") from None
    for key, value in (overrides or {}).items():
        _override(table, key, value)
    try:
        file = msgspec.convert(table, ExperimentFile)
    except msgspec.ValidationError as error:
        raise DovetailError(f"{path}: {error}") from None
    parts = file.parts()
    if not file.phases and not file.tournaments:
        raise DovetailError(f"{path}: there is nothing to play; add [[phases]] or [[tournaments]]")
    for part in parts:
        for name in part.seats:
            if name not in file.agents:
                raise DovetailError(
                    f"{path}: {part.name!r} seats {name!r}, but there is no [agents.{name}]; "
                    f"there are {', '.join(file.agents)}"
                )
    for name, agent in file.agents.items():
        if agent.register and agent.command is not None:
            raise DovetailError(
                f"{path}: [agents.{name}] has a command; put --register into it instead of `register`"
            )
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise DovetailError(
                f"{path}: two phases, evaluations or tournaments are called {name!r}"
            )
    return file


def _override(table: Any, key: str, value: Any) -> None:
    *path, last = key.split(".")
    try:
        for part in path:
            table = table[int(part)] if isinstance(table, list) else table.setdefault(part, {})
        table[int(last) if isinstance(table, list) else last] = value
    except (ValueError, IndexError, TypeError, AttributeError):
        raise DovetailError(f"--set {key}: there is no such place in the file") from None
