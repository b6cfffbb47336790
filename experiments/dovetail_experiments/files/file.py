"""Experiment files: TOML that lists an environment, agents, phases and evaluations.

docs/experiments.md describes the format; these structs define and validate it.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from dovetail.client.results import ClockPart
from dovetail.peer.config_location import ConfigSource, Step
from dovetail.peer.validation_messages import explained, meant
from dovetail.protocol import outside
from dovetail.protocol.codec import ready
from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError, attempting
from dovetail.protocol.messages import Crash, Mode, PlayRules
from dovetail.protocol.outside import Few, LimitedNatural, LimitedPositive
from dovetail.protocol.seeds import derive
from dovetail_experiments.files.relative_paths import beside
from dovetail_experiments.statistics.sprt import Sprt

Seed = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A seed in the range of a database's integers."""
Secret = Annotated[
    str,
    Meta(
        pattern="^([0-9a-f]{32})?$",
        extra={"form": "32 hexadecimal digits in lower case, or nothing"},
    ),
]


class EnvironmentPart(Struct, frozen=True, forbid_unknown_fields=True):
    """``[environment]``: the game."""

    name: str
    """A built-in environment, ``module:Class``, ``file.py:Class``, or an environment that
    ``command`` offers."""
    configuration: dict[str, Any] = {}
    """Its options; ``dovetail list NAME`` shows them."""
    command: list[str] | None = None
    """A program in any language that offers ``name``, in the form of ``agents.NAME.command``."""
    hosted: bool = False
    """True if it runs inside the broker's process instead of its own; faster, with the same
    results."""


class AgentPart(Struct, frozen=True, forbid_unknown_fields=True):
    """``[agents.NAME]``: an agent."""

    type: str
    """A built-in agent, ``module:Class``, ``file.py:Class``, or an agent that ``command``
    offers."""
    parameters: dict[str, Any] = {}
    """Its options; ``dovetail list NAME`` shows them."""
    seed: Seed | None = None
    """Seed of the agent; by default derived from the experiment's seed and the agent's name."""
    command: list[str] | None = None
    """A program in any language that offers ``type``; ``{address}`` stands for the broker's
    address, which DOVETAIL_BROKER has, too."""
    state: str | None = None
    """A saved state to begin from: a file, or ``OUT:AGENT`` of another experiment."""
    register: list[str] = []
    """Names that its parameters may use, each ``KIND:NAME=FILE.py:THING`` as for ``dovetail agent
    --register``."""
    hosted: bool = False
    """True if the agent runs inside the broker's process; for agents that answer at once, since all
    play waits while it thinks."""


Openings = LimitedNatural | str | list[list[Any]]
"""``auto``, a number of plies, a file, or lines; see ``PlayPart.openings``."""


class PartRules(
    PlayRules, Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=False, kw_only=True
):
    """Rules of play of a part: those of a run, with ``check`` and ``thoughts``."""

    clock: ClockPart = ClockPart()
    check: bool | None = None
    """True to check all episodes against the game's declarations, false none; by default the first
    of each stage, unless learners play stacked turns."""
    thoughts: bool = False
    """True if spectators may see the agents' thoughts about their choices."""

    def rules(self) -> dict[str, Any]:
        """Return the fields shared with a run, by name."""
        return {name: getattr(self, name) for name in (*PlayRules.__struct_fields__, "thoughts")}


class PlayPart(PartRules, frozen=True, kw_only=True):
    """Keys that phases and evaluations share."""

    name: str
    """Name in tables."""
    seats: Annotated[list[str], Meta(min_length=1)]
    """Agents by seat; an agent may have several."""
    episodes: LimitedPositive = 100
    """Number of episodes to play."""
    rotate: bool = False
    """True if every agent moves to the next seat in each episode; the episodes of one full rotation
    share an environment seed."""
    seed: Seed | None = None
    """Master seed; by default derived from the experiment's seed and the name."""
    openings: Openings = 0
    """Number of random opening plies, the same for every seating; or lines of actions; or the name
    of a file with a line each; or ``auto``: random if the players turn out to be deterministic."""
    truncated: Literal["apart", "draw"] = "apart"
    """Scoring of truncated games: in a separate column, or as draws."""
    substitute: str | None = None
    """At a running broker: the agent that takes over from a lost one until it is back."""

    def taking_part(self) -> list[str]:
        """Return the agents that have or may get a seat."""
        return [*self.seats, *([] if self.substitute is None else [self.substitute])]

    @property
    def round(self) -> int:
        """The number of consecutive episodes that share an opening."""
        return len(self.seats) if self.rotate else 1


class Phase(PlayPart, frozen=True, kw_only=True):
    """``[[phases]]``: parts of the experiment, played in order."""

    mode: Mode = "learn"
    """``learn`` if agents may learn, ``evaluate`` if they must not."""
    evaluate_every: LimitedNatural = 0
    """Episodes between evaluations, which are also played at the start and the end; 0 for none."""
    save_every: LimitedNatural = 0
    """Episodes between saves of the learners, as ``states/AGENT@EPISODES.state``, from which an
    interrupted run continues; 0 to save only at evaluations and at the end."""
    frozen: list[str] = []
    """Agents that do not learn in this phase."""
    keep_best: str = ""
    """Evaluation whose mean selects a learner's best state, kept as
    ``states/AGENT@best.state``; empty for none."""

    def stretches(self) -> list[tuple[int, int]]:
        """Return the first episode of each stage, and the number of episodes."""
        steps = [each or self.episodes for each in (self.evaluate_every, self.save_every)]
        cuts = {each for step in steps for each in range(0, self.episodes, step)}
        return list(itertools.pairwise([*sorted(cuts), self.episodes]))


class Evaluation(PlayPart, frozen=True, kw_only=True):
    """``[[evaluations]]``: the same episodes each time, with learning off.

    They are played when a phase's ``evaluate_every`` says so, and always once at the end.
    """

    openings: Openings = "auto"
    """As in phases, but ``auto`` by default."""


class Pairing(PlayPart, frozen=True, kw_only=True):
    """Players of a ``Tournament`` that meet."""

    tournament: str
    round_number: int = 0
    sprt: Sprt | None = None
    best_of: LimitedPositive | None = None
    openings_seed: Seed = 0
    """Seed of the openings, which are the same for all pairings."""


Format = Literal["round-robin", "gauntlet", "knockout", "swiss"]


class Tournament(PartRules, frozen=True, kw_only=True):
    """``[[tournaments]]``: players meet with learning off, after all phases."""

    name: str
    """Name in tables."""
    players: Annotated[list[str], Meta(min_length=1)]
    """Agents that meet; ``NAME@EPISODES`` is a snapshot of a league's learner, ``NAME@*`` all
    of them."""
    format: Format = "round-robin"
    """``round-robin``: all meet all; ``gauntlet``: the first ``challengers`` meet the others;
    ``knockout``: in the file's order, with byes for the first; ``swiss``: ``rounds`` of players
    with similar scores."""
    seats: Annotated[int, Meta(ge=1, le=1_024)] = 2
    """Number of seats in the game.  With one, each player plays alone, all with the same seeds."""
    episodes: LimitedPositive = 100
    """Maximum number of episodes of each meeting, divided evenly among the seatings."""
    rounds: Few | None = None
    """Number of rounds of a Swiss tournament; by default as many as a knockout has."""
    challengers: LimitedPositive = 1
    """In a gauntlet: the number of players, from the first, that meet all the others."""
    sprt: Sprt | None = None
    """Test that ends a meeting early."""
    best_of: LimitedPositive | None = None
    """Number of games; a player with more than half of their points ends the meeting."""
    openings: Openings = "auto"
    """As in phases, but ``auto`` by default; all pairings share one list."""
    parallel: Annotated[int, Meta(ge=0, le=10_000)] = 1
    """Number of simultaneous meetings; 0 for one on each core."""
    truncated: Literal["apart", "draw"] = "apart"
    """Scoring of truncated games: in a separate column, or as draws."""
    cap: float | None = None
    """In games of one seat: the return at which episodes are truncated; their results count as
    lower bounds."""
    on_crash: Crash = "forfeit"
    """As in phases, but ``forfeit`` by default."""

    def taking_part(self) -> list[str]:
        """Return the players."""
        return self.players

    def problem(self) -> str:
        """Return the conflict between options; empty if there is none."""
        if len(set(self.players)) < len(self.players):
            return "a player is named twice"
        if self.seats > 1 and len(self.players) < self.seats and not self.snapshots:
            return f"{self.seats} seats need as many players; there are {len(self.players)}"
        if self.episodes % self.seats:
            word = "a multiple of 2" if self.seats == 2 else f"a multiple of {self.seats}"
            return f"episodes must be {word}, one in each seating, not {self.episodes}"
        if self.seats != 2:
            for key, wrong in (
                ("format", self.format != "round-robin"),
                ("sprt", self.sprt is not None),
                ("best_of", self.best_of is not None),
            ):
                if wrong:
                    return f"{key} is for two seats; remove it, or set seats = 2"
        if self.format == "gauntlet" and self.challengers >= len(self.players):
            return "a gauntlet needs players other than its challengers"
        if self.sprt is not None and self.best_of is not None:
            return "sprt and best_of both end a meeting; remove one"
        if self.best_of is not None and self.best_of > self.episodes:
            return f"best_of = {self.best_of} needs as many episodes; there are {self.episodes}"
        return ""

    @property
    def snapshots(self) -> bool:
        """Return whether any player is a snapshot, which exists only after a league."""
        return any("@" in name for name in self.players)

    def pairing(self, players: Sequence[str], number: int, seed: int) -> Pairing:
        """Return a meeting of players.

        Args:
            players: a player for each seat.
        """
        openings_seed = derive(seed, "openings", self.name)
        again = "" if self.format in ("round-robin", "gauntlet") else f" (round {number + 1})"
        return Pairing(
            name=f"{self.name}: {' - '.join(players)}{again}",
            tournament=self.name,
            round_number=number,
            seats=list(players),
            episodes=self.episodes,
            rotate=self.seats > 1,
            seed=derive(seed, "tournament", self.name) if self.seats == 1 else None,
            openings=0 if self.seats == 1 else self.openings,
            openings_seed=openings_seed,
            truncated=self.truncated,
            sprt=self.sprt,
            best_of=self.best_of,
            check=self.check,
            **self.rules(),
        )


STAGES = 100_000
"""Maximum stages of a part."""

Policy = Literal["latest", "uniform", "prioritised"]


class League(PartRules, frozen=True, kw_only=True):
    """``[[leagues]]``: an agent learns against a pool of other agents and its own earlier
    states."""

    name: str
    """Name in tables."""
    learner: str
    """Agent that learns."""
    pool: list[str] = []
    """Initial opponents; they do not learn."""
    seats: Annotated[int, Meta(ge=2, le=1_024)] = 2
    """Number of seats in the game; opponents fill all but one."""
    policy: Policy = "uniform"
    """Choice of the next opponent: the latest snapshot, any with equal probability, or preferably
    those that win most."""
    episodes: LimitedPositive = 1000
    """Number of episodes that the learner plays."""
    block: LimitedPositive = 100
    """Number of consecutive episodes against the same opponent."""
    snapshot_every: LimitedPositive = 1000
    """Episodes after which the learner's state joins the pool, and the evaluations are played."""
    keep: LimitedPositive = 20
    """Maximum number of snapshots in the pool; the oldest are dropped."""
    rotate: bool = True
    """True if every agent moves to the next seat in each episode."""

    def taking_part(self) -> list[str]:
        """Return the agents that are seated from the start."""
        return [self.learner, *self.pool]

    def kept_at(self) -> list[int]:
        """Return the numbers of episodes after which the learner's state is saved."""
        return sorted({*range(0, self.episodes, self.snapshot_every), self.episodes})


class Block(PlayPart, frozen=True, kw_only=True):
    """Episodes of a ``League`` against one opponent."""

    league: str
    last: bool
    """True if the learner's state joins the pool afterwards."""


Part = PlayPart | League | Tournament
"""A part of a file, or of a stage."""


class Resources(Struct, frozen=True, forbid_unknown_fields=True):
    """``resources``: the resources of a trial, a shard or a learner on a cluster."""

    cpus: Annotated[float, Meta(gt=0)] = 1.0
    """Number of cores."""
    gpus: Annotated[float, Meta(ge=0)] = 0.0
    """Number of graphics processors."""
    memory: Annotated[
        str, Meta(pattern="^([0-9]+(\\.[0-9]+)? ?[kMGT]?B)?$", extra={"form": "bytes such as 2GB"})
    ] = ""
    """Memory, such as ``2GB``; empty to request none."""

    @property
    def bytes(self) -> int:
        """The memory in bytes; 0 to request none."""
        amount = self.memory.removesuffix("B").strip()
        for power, unit in enumerate("kMGT", 1):
            if amount.endswith(unit):
                return int(float(amount.removesuffix(unit)) * 1000**power)
        return int(float(amount or 0))


class ProcessesPart(Struct, frozen=True, forbid_unknown_fields=True):
    """``[processes]``: settings of the local processes."""

    pin: bool = False
    """True to keep all processes on one core: up to three times as fast with one or two matches at
    a time and short turns, but slower for agents that think long."""
    transport: Literal["ipc", "tcp"] = "ipc"
    """Connection between processes: a Unix socket, or a loopback port for ZeroMQ libraries
    without Unix sockets."""
    shards: Few = 1
    """Number of brokers that share the episodes, each on its own core with its own peers; for
    files without learning."""
    environments: Few = 1
    """Number of programs that offer the environment; on a cluster, each on its own node."""
    resources: Resources = Resources()
    """On a cluster: the resources of each trial or shard, or of the learner's broker with its
    agents."""
    ports: Annotated[
        str, Meta(pattern="^([0-9]{1,5}-[0-9]{1,5})?$", extra={"form": "FIRST-LAST"})
    ] = ""
    """On a cluster: the ports at which brokers may listen, as FIRST-LAST; any if empty."""

    @property
    def port_range(self) -> tuple[int, int]:
        """The first and last port; 0 for any."""
        first, _, last = self.ports.partition("-")
        return (int(first), int(last)) if self.ports else (0, 0)


class ExperimentFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A game, its players, and the stages to play."""

    name: Annotated[
        str,
        Meta(
            pattern="^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
            extra={"form": "letters, digits, '.', '_' and '-', without '.' at its beginning"},
        ),
    ]
    """Name of the folder in ``out/``."""
    environment: EnvironmentPart
    """The game."""
    agents: dict[str, AgentPart]
    """Agents, by the names that the rest of the file uses."""
    phases: list[Phase] = []
    """Phases, played first and in order."""
    evaluations: list[Evaluation] = []
    """Evaluations, played during the phases and after them."""
    tournaments: list[Tournament] = []
    """Tournaments, played last."""
    leagues: list[League] = []
    """Leagues, played after the phases."""
    description: str = ""
    """Text for readers."""
    seed: Seed = 0
    """Master seed, from which all other seeds derive."""
    processes: ProcessesPart = ProcessesPart()
    """Settings of the local processes."""
    secret: Secret | None = None
    """Secret from which, with ``seed``, all seeds derive; empty to use ``seed`` alone. See
    ``secrets``."""
    derivation: Annotated[int, Meta(ge=1, le=2)] = 2
    """Version of seed derivation (SPEC.md, Seeds); 1 repeats the episodes of earlier versions."""

    @property
    def root(self) -> int:
        """Master seed of all random choices during play."""
        return self._root(self.seed)

    def _root(self, seed: int) -> int:
        return keyed(self.secret, seed) if self.secret and self.derivation > 1 else seed

    def parts(self) -> list[Phase | Evaluation]:
        """The phases and evaluations, whose games do not depend on results."""
        return [*self.phases, *self.evaluations]

    def agent_seed(self, name: str) -> int:
        seed = self.agents[name].seed
        return derive(self.root, "agent", name) if seed is None else seed

    def play_seed(self, part: PlayPart) -> int:
        """Return the master seed of a phase's or evaluation's runs."""
        if part.seed is None:
            return derive(self.root, kind_of(part), part.name)
        root = self._root(part.seed)
        return root if root == part.seed else derive(root, "part")

    def used(self) -> list[str]:
        """Return the agents that have a seat in any part, in the order of the file."""
        parts: list[Part] = [*self.parts(), *self.leagues, *self.tournaments]
        seated = {base(name) for part in parts for name in part.taking_part()}
        return [name for name in self.agents if name in seated]

    def learners(self) -> list[str]:
        """Return the agents that learn in any phase or league."""
        learning = {
            name
            for phase in self.phases
            if phase.mode == "learn"
            for name in phase.seats
            if name not in phase.frozen
        } | {league.learner for league in self.leagues}
        return [name for name in self.agents if name in learning]


ready(ExperimentFile)


def text(file: ExperimentFile) -> str:
    """Return an experiment as text for the store.

    Keys that earlier versions did not have are left out while they have their defaults, so that
    runs interrupted under such a version can be resumed.
    """
    table = msgspec.to_builtins(file)
    if file.derivation == 1 and file.secret is None:
        del table["secret"], table["derivation"]
    usual = msgspec.to_builtins(ProcessesPart())
    for key in ("environments", "resources", "ports"):
        if table["processes"][key] == usual[key]:
            del table["processes"][key]
    for phase in table["phases"]:
        for key in ("save_every", "keep_best"):
            if not phase[key]:
                del phase[key]
    return msgspec.json.encode(table).decode()


def stored(text: str) -> ExperimentFile:
    """Return an experiment from the text in the store.

    Raises:
        msgspec.ValidationError: another version of Dovetail wrote it.
    """
    return msgspec.convert({"derivation": 1, **msgspec.json.decode(text)}, ExperimentFile)


def base(name: str) -> str:
    """Return the agent that a snapshot such as ``first@1000`` was taken of."""
    return name.partition("@")[0]


def kind_of(part: PlayPart) -> str:
    """Return ``phase``, ``league``, ``evaluation`` or ``tournament``."""
    kinds = {Phase: "phase", Block: "league", Pairing: "tournament"}
    return kinds.get(type(part), "evaluation")


APART = ("seeds", "repeats", "sweep", "report")
"""Keys that ``sweep`` reads; they multiply or summarise executions."""


class Mistake(DovetailError):
    """A mistake in an experiment file; ``located`` prefixes it with the path in ``steps``."""

    def __init__(self, message: str, *steps: Step) -> None:
        super().__init__(message)
        self.steps = steps


@contextmanager
def located(source: ConfigSource) -> Iterator[None]:
    """Add the location in the file to each mistake raised in the block."""
    try:
        yield
    except Mistake as error:
        raise DovetailError(f"{source.at(*error.steps)}: {error}") from None


def read(path: Path, overrides: dict[str, Any] | None = None) -> ExperimentFile:
    """Read the experiment in a file, without its seeds and sweep, and with ``overrides`` applied.

    The key of an override is a path such as ``seed``, ``agents.first.parameters.hidden`` or
    ``phases.0.episodes``.

    Raises:
        DovetailError: the file cannot be read or is not an experiment; the message says where.
    """
    found = table(path, overrides or {})
    source = ConfigSource(path, tuple(overrides or ()))
    return made(source, {key: each for key, each in found.items() if key not in APART}, {})


def table(path: Path, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a file, with overrides applied.

    Paths in the file that start with ``./`` are relative to its folder, those in ``overrides`` to
    the current one.

    Raises:
        DovetailError: the file cannot be read, or is not TOML.
    """
    with attempting(f"read {path}"):
        found = outside.table(path)
    if path.suffix == ".json":
        # JSON (``experiment.json``) comes from a run; it has named its derivation since version 2.
        found.setdefault("derivation", 1)
    found = beside(found, path.parent)
    with located(ConfigSource(path, tuple(overrides))):
        for key, value in overrides.items():
            _override(found, key, value)
    return found


def made(
    source: ConfigSource, table: Mapping[str, Any], settings: Mapping[str, Any]
) -> ExperimentFile:
    """Return the experiment that tables describe, with some keys set.

    Args:
        source: the tables' origin, for errors.
        table: the tables; not modified.
        settings: values by key, as for ``read``.

    Raises:
        DovetailError: they do not describe an experiment.
    """
    table = copy.deepcopy(dict(table))
    with located(source):
        for key, value in settings.items():
            _override(table, key, value)
        try:
            file = msgspec.convert(table, ExperimentFile)
        except msgspec.ValidationError as error:
            raise DovetailError(explained(error, ExperimentFile, table, source, APART)) from None
        for mistake in _mistakes(file):
            raise mistake
    return file


def place_of(file: ExperimentFile, part: Part) -> tuple[str, int]:
    """Return the position of a part in its file, as the name of a list and an index."""
    match part:
        case Tournament(name=name) | Pairing(tournament=name):
            kind = "tournaments"
        case League(name=name) | Block(league=name):
            kind = "leagues"
        case Phase(name=name):
            kind = "phases"
        case _:
            kind, name = "evaluations", part.name
    return kind, [each.name for each in getattr(file, kind)].index(name)


def _mistakes(file: ExperimentFile) -> Iterator[Mistake]:
    if not (file.phases or file.tournaments or file.leagues or file.evaluations):
        yield Mistake(
            "there is nothing to play; add [[phases]], [[leagues]], [[evaluations]] or "
            "[[tournaments]]"
        )
    for what, seated, *steps in _seated(file):
        for name in seated:
            if name not in file.agents:
                hint = meant(name, file.agents) or f"; there are {', '.join(file.agents)}"
                yield Mistake(
                    f"{what!r} seats {name!r}, but there is no [agents.{line(name)}]{hint}", *steps
                )
    if file.derivation == 1 and file.secret:
        yield Mistake("derivation 1 has no secret; remove one of the two", "secret")
    yield from _contradictions(file)
    hosted = "has a command, which cannot be hosted; remove `hosted`"
    if file.environment.hosted and file.environment.command is not None:
        yield Mistake(f"[environment] {hosted}", "environment", "hosted")
    for name, agent in file.agents.items():
        if agent.hosted and agent.command is not None:
            yield Mistake(f"[agents.{name}] {hosted}", "agents", name, "hosted")
        if agent.register and agent.command is not None:
            text = f"[agents.{name}] has a command; put --register into it instead of `register`"
            yield Mistake(text, "agents", name, "register")
    names: set[str] = set()
    for kind in ("phases", "evaluations", "leagues", "tournaments"):
        for number, part in enumerate(getattr(file, kind)):
            if part.name in names:
                kinds = "phases, evaluations, leagues or tournaments"
                text = f"two {kinds} are called {part.name!r}; rename one"
                yield Mistake(text, kind, number, "name")
            names.add(part.name)


def _seated(file: ExperimentFile) -> Iterator[tuple[Any, ...]]:
    """Yield each part that seats agents: its name, the agents, and the path of their names."""
    for part in file.parts():
        yield part.name, part.seats, *place_of(file, part), "seats"
        if part.substitute is not None:
            yield part.name, [part.substitute], *place_of(file, part), "substitute"
    for number, league in enumerate(file.leagues):
        yield league.name, [league.learner], "leagues", number, "learner"
        yield league.name, league.pool, "leagues", number, "pool"
    for number, tournament in enumerate(file.tournaments):
        players = [base(name) for name in tournament.players]
        yield tournament.name, players, "tournaments", number, "players"


def _too_many(kind: str, number: int, part: Phase | League, *keys: str) -> Iterator[Mistake]:
    """Yield a mistake for each key that divides a part into more stages than a run can keep."""
    for key in keys:
        step = getattr(part, key)
        if step and part.episodes // step > STAGES:
            text = (
                f"{part.name!r}: {part.episodes} episodes with {key} = {step} are "
                f"{part.episodes // step} stages; at most {STAGES} fit"
            )
            yield Mistake(text, kind, number, key)


def _contradictions(file: ExperimentFile) -> Iterator[Mistake]:
    learners = {league.learner for league in file.leagues}
    for number, league in enumerate(file.leagues):
        yield from _too_many("leagues", number, league, "block", "snapshot_every")
    for number, phase in enumerate(file.phases):
        yield from _too_many("phases", number, phase, "evaluate_every", "save_every")
        if phase.keep_best:
            names = [each.name for each in file.evaluations]
            if phase.keep_best not in names:
                hint = meant(phase.keep_best, names) or f"; there are {', '.join(names) or 'none'}"
                text = f"{phase.name!r}: there is no evaluation {phase.keep_best!r}{hint}"
                yield Mistake(text, "phases", number, "keep_best")
            elif not phase.evaluate_every:
                text = f"{phase.name!r}: keep_best needs evaluate_every"
                yield Mistake(text, "phases", number, "keep_best")
        for name in phase.frozen:
            if name not in phase.seats:
                text = f"{phase.name!r} freezes {name!r}, which has no seat in it"
                yield Mistake(f"{text}{meant(name, phase.seats)}", "phases", number, "frozen")
    for number, tournament in enumerate(file.tournaments):
        if problem := tournament.problem():
            yield Mistake(f"{tournament.name!r}: {problem}", "tournaments", number)
        for name in tournament.players:
            if "@" in name and base(name) not in learners:
                text = f"{name!r} is a snapshot, but no league trains {base(name)!r}"
                yield Mistake(f"{tournament.name!r}: {text}", "tournaments", number, "players")
            elif "@" in name and (hint := _unreached(file, name)):
                text = f"{tournament.name!r}: there is no snapshot {name!r}; {hint}"
                yield Mistake(text, "tournaments", number, "players")


def _unreached(file: ExperimentFile, name: str) -> str:
    """Return the existing snapshots if ``name`` is not one of them or a pattern; empty
    otherwise."""
    learner, _, at = name.partition("@")
    leagues = [each for each in file.leagues if each.learner == learner]
    if at == "*" or any(at in map(str, each.kept_at()) for each in leagues):
        return ""
    kept = (
        f"{each.name!r} keeps one every {each.snapshot_every} episodes, from 0 to {each.episodes}"
        for each in leagues
    )
    return ", and ".join(kept)


def _override(table: Any, key: str, value: Any) -> None:
    *path, last = key.split(".")
    done: list[str] = []
    try:
        for part in path:
            table = table[int(part)] if isinstance(table, list) else table.setdefault(part, {})
            done.append(part)
        table[int(last) if isinstance(table, list) else last] = value
    except (ValueError, IndexError, TypeError, AttributeError):
        there = (
            f"; {'.'.join(done)} has {len(table)}, counted from 0"
            if isinstance(table, list)
            else ""
        )
        raise Mistake(f"there is no such place in the file{there}", *path, last) from None


def keyed(secret: str, seed: int) -> int:
    """Return a master seed of 128 bits, derived from a seed and a secret.

    >>> keyed("000102030405060708090a0b0c0d0e0f", 0)
    207621355072544417118116023473277185414
    """
    return int.from_bytes(sha256(f"{secret}/{seed}".encode()).digest()[:16], "big")
