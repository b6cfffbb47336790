"""Arena files: TOML that describes a competition; docs/arena.md has every key."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from dovetail.client.results import ClockPart
from dovetail.peer import presets
from dovetail.peer.address import ADDRESS
from dovetail.peer.config_location import ConfigSource
from dovetail.peer.quoting import command
from dovetail.peer.validation_messages import explained
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import GameRules
from dovetail.protocol.outside import Few, LimitedNatural, LimitedPositive
from dovetail_experiments.files.checking import configured, named, offered_name, parametrised
from dovetail_experiments.files.file import Mistake, Seed, located, table

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
"""Valid names of entrants, ladders and baselines; they appear in URLs and in labels."""
SUBMITTED = "submissions"
"""Folder of uploaded agents, inside the arena's folder."""
JOURNAL, TOKEN = "journal", "token"
"""Files in an arena's folder: the journal of all games, and the access token of the broker and the
operator."""
SOCKET = "broker"
"""Name of the Unix socket through which submitted agents reach the broker."""
BROKER_KEY, OWN_KEY = "broker.key", "arena.key"
"""Key files of an arena with keys: the broker's, and the one for the arena's own programs."""
OWN = ":arena"
"""Name of the arena's own key; no entrant can have it."""
Share = Annotated[float, Meta(ge=0, le=1)]


class Baseline(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[ladders.baselines]]``: an agent that the arena runs itself."""

    name: str
    """Name in the table."""
    type: str
    """A built-in agent, ``module:Class``, ``file.py:Class``, or an agent that ``command``
    offers."""
    parameters: dict[str, Any] = {}
    """Its options; ``dovetail list NAME`` shows them."""
    command: list[str] | None = None
    """Command that starts a program, in any language, offering ``type``; it reads DOVETAIL_BROKER
    and DOVETAIL_TOKEN from its environment, as entrants' programs do."""


class Ladder(
    GameRules, Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=False, kw_only=True
):
    """``[[ladders]]``: a game, its rules of play, and its entrants."""

    name: str
    """Name, made of letters, digits, ``_``, ``-`` and ``.``."""
    game: str
    """A built-in environment, ``module:Class``, ``file.py:Class``, or a game that ``command``
    offers."""
    configuration: dict[str, Any] = {}
    """Its options; ``dovetail list NAME`` shows them."""
    seats: Annotated[int, Meta(ge=1, le=1_024)] = 2
    """Number of seats in the game as configured."""
    command: list[str] | None = None
    """Command that starts a program, in any language, offering ``game``."""
    clock: ClockPart = ClockPart()
    """Clocks of the seats."""
    answer_timeout: Annotated[float, Meta(gt=0)] = 30.0
    """Seconds for any answer that no clock limits."""
    openings: LimitedNatural = 0
    """Number of random first turns, the same in all games of a unit."""
    entrants: list[str] = msgspec.field(default_factory=lambda: ["*"])
    """Names of the admitted entrants; ``*`` admits everyone invited."""
    programs: LimitedPositive = 8
    """Maximum number of an entrant's programs playing at once; newcomers play first, so a higher
    limit keeps others waiting longer."""
    mode: Literal["evaluate", "learn"] = "evaluate"
    """``learn`` lets agents learn from these games; ``evaluate`` forbids it."""
    window: LimitedPositive | None = None
    """Rate only the latest ``window`` units; meant for agents that learn."""
    pinned: str = ""
    """Baseline fixed at rating 0; if empty, the mean of the baselines is, or of the active agents
    where no baseline has a rating."""
    width: Annotated[float, Meta(gt=0)] = 1.0
    """Distance between opponents, in standard deviations of all ratings."""
    uniform: Share = 0.1
    """Share of opponents drawn regardless of rating."""
    baselines: list[Baseline] = []
    """Agents that the arena runs itself."""
    thoughts: bool = False
    """True if spectators may see the agents' thoughts about their choices."""

    def rules(self) -> dict[str, Any]:
        """Return the rules of play by name."""
        return {name: getattr(self, name) for name in (*GameRules.__struct_fields__, "thoughts")}

    @property
    def offered(self) -> str:
        """The name under which the program offers the game."""
        return self.game if self.command else offered_name(self.game, "environment")

    @property
    def players(self) -> int:
        """Players per unit; a one-seat game has two, each playing alone on the same seed."""
        return max(2, self.seats)

    def admits(self, entrant: str) -> bool:
        """Return whether an entrant may play here."""
        return "*" in self.entrants or entrant in self.entrants


class SeasonPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[seasons]]``: a season that starts on a date."""

    name: str
    """Name in tables."""
    begins: datetime
    """Start of the season and end of the one before, such as ``2027-03-01T08:00:00``; local time
    unless it has an offset."""
    final: datetime | None = None
    """Start of its final."""
    rounds: Few = 1
    """Meetings of each pair of players in the final."""


class SubmissionLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """``[submissions]``: entrants may upload agents, which the arena runs under limits."""

    memory: LimitedPositive = 1024
    """Memory per agent, in MiB."""
    processor: LimitedPositive = 100
    """CPU limit per agent, in percent of one processor; needs systemd."""
    processes: LimitedPositive = 64
    """Maximum processes and threads per agent."""
    disk: LimitedPositive = 64
    """Disk space for an agent's own files while it runs, in MiB."""
    upload: Annotated[int, Meta(ge=1, le=64)] = 8
    """Maximum size of an upload, in MiB."""
    agents: Few = 4
    """Maximum agents per entrant."""
    waiting: Few = 10
    """Maximum versions that an entrant may have waiting to start."""
    at_once: Few = 40
    """Maximum agents that run at once; the others wait in the queue."""


class Arena(Struct, frozen=True, forbid_unknown_fields=True):
    """A competition and the address at which agents reach it."""

    name: str
    """Name shown on the pages."""
    ladders: Annotated[list[Ladder], Meta(min_length=1)]
    """Ladders, one for each game."""
    seed: Seed = 0
    """Master seed; every random choice derives from it and from 128 random bits drawn for each
    season."""
    seasons: list[SeasonPlan] = []
    """Planned seasons, in order of their start; if empty, an operator starts seasons."""
    bind: str = ADDRESS
    """Address on which the arena's broker listens."""
    address: str = ""
    """Address at which agents reach the broker, if not ``bind``."""
    folder: str = ""
    """Folder for all data; by default beside the file, with the file's name."""
    games: Few = 2
    """Maximum units played at once."""
    faults: LimitedPositive = 3
    """Consecutive losses by fault after which an agent is paused."""
    keys: bool = False
    """True if entrants have key pairs instead of access tokens, and all traffic is encrypted."""
    insecure: bool = False
    """Allow unencrypted connections from other machines."""

    submissions: SubmissionLimits | None = None
    """Limits for uploaded agents; without them uploads are disabled."""

    @property
    def sizes(self) -> dict[str, int]:
        """Players per unit, by ladder."""
        return {each.name: each.players for each in self.ladders}

    def ladder(self, name: str) -> Ladder:
        """Return the ladder with this name.

        Raises:
            DovetailError: no ladder has this name.
        """
        for each in self.ladders:
            if each.name == name:
                return each
        there = ", ".join(each.name for each in self.ladders)
        raise DovetailError(f"there is no ladder {name!r}; there are {there}")


def read(path: Path) -> Arena:
    """Read an arena file.

    Raises:
        DovetailError: the file cannot be read or is not a valid arena file.
    """
    found = table(path, {})
    try:
        arena = msgspec.convert(found, Arena)
    except msgspec.ValidationError as error:
        raise DovetailError(explained(error, Arena, found, ConfigSource(path))) from None
    _dated(path, arena.seasons)
    ladders = [each.name for each in arena.ladders]
    for name in ladders:
        _named(path, "ladder", name, ladders)
    for ladder in arena.ladders:
        names = [each.name for each in ladder.baselines]
        if ladder.pinned and (ladder.pinned not in names or ladder.seats > 2):
            raise DovetailError(
                f"{path}: the ladder {ladder.name!r} pins {ladder.pinned!r}; name one of its "
                "baselines, in a game of at most two seats"
            )
        for name in names:
            _named(path, f"baseline of {ladder.name!r}", name, names)
    return arena


def check(path: Path, arena: Arena) -> None:
    """Check the games, agents and options that are implemented in Python on this machine.

    Raises:
        DovetailError: a name or an option is wrong; the message says where.
    """
    with located(ConfigSource(path)):
        for number, ladder in enumerate(arena.ladders):
            if ladder.command is None:
                _playable(ladder, number)
            for at, each in enumerate(ladder.baselines):
                if each.command is None:
                    parametrised(each.type, each.parameters, "ladders", number, "baselines", at)


def _playable(ladder: Ladder, number: int) -> None:
    """Create a ladder's game once to check it."""
    given = ladder.configuration
    kind = configured(ladder.game, given, "ladders", number)
    owner = f"environment {ladder.game}"
    try:
        presets.tried(presets.preset(kind, given, owner), owner)
    except DovetailError as error:
        steps = ("ladders", number, "configuration", *named(str(error), given))
        raise Mistake(str(error), *steps) from None


def _dated(path: Path, seasons: list[SeasonPlan]) -> None:
    names = [each.name for each in seasons]
    for name in names:
        _named(path, "season", name, names)
    dates = [
        when.astimezone()
        for each in seasons
        for when in (each.begins, each.final)
        if when is not None
    ]
    if dates != sorted(dates):
        raise DovetailError(
            f"{path}: the seasons are not in order; each must begin after the final of the one "
            "before"
        )


def _named(path: Path, what: str, name: str, names: list[str]) -> None:
    if not NAME.fullmatch(name):
        raise DovetailError(
            f"{path}: the {what} is called {name!r}; use up to 40 letters, digits, '_', '-' or '.'"
        )
    if names.count(name) > 1:
        raise DovetailError(f"{path}: two {what}s are called {name!r}; rename one")


def folder(path: Path, arena: Arena) -> Path:
    """Return the folder of an arena whose file is at ``path``."""
    return path.parent / (arena.folder or path.stem)


def reached(arena: Arena) -> str:
    """Return the address at which programs on this machine reach an arena's broker."""
    transport, _, rest = arena.bind.partition("://")
    host, _, port = rest.rpartition(":")
    anywhere = transport == "tcp" and host in ("0.0.0.0", "*", "[::]")
    return f"tcp://127.0.0.1:{port}" if anywhere else arena.bind


def token(path: Path, arena: Arena) -> str:
    """Return the access token of an arena's broker.

    Raises:
        DovetailError: the arena has never run, or belongs to another user.
    """
    try:
        return (folder(path, arena) / TOKEN).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise DovetailError(
            f"cannot read {error.filename}: {error.strerror}; run `{command('arena', path)}` first"
        ) from None
