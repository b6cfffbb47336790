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
from dovetail.peer.plugins import offered_name
from dovetail.peer.quoting import command
from dovetail.peer.validation_messages import explained
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import GameRules
from dovetail_experiments.files.checking import configured, named, parametrised
from dovetail_experiments.files.file import Mistake, Seed, located, table

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
"""The form of names of entrants, ladders and baselines, which stand in addresses of pages and in
labels."""
SUBMITTED = "submissions"
"""The folder with the agents that entrants have uploaded, in an arena's folder."""
JOURNAL, TOKEN = "journal", "token"
"""Files in an arena's folder: every game, and the access token of its broker and its operator."""
SOCKET = "broker"
"""The Unix socket at which submitted agents reach the broker, in a folder of this run."""
BROKER_KEY, OWN_KEY = "broker.key", "arena.key"
"""Files in the folder of an arena with keys: the broker's key, and that of the arena's own
programs."""
OWN = ":arena"
"""The name of that key; no invited entrant is called so."""
Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Baseline(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[ladders.baselines]]``: an agent that the arena runs itself."""

    name: str
    """Its name in the table."""
    type: str
    """A built-in agent, or ``module:Class`` or ``file.py:Class``; or what ``command`` offers."""
    parameters: dict[str, Any] = {}
    """Its options; ``dovetail list NAME`` shows them."""
    command: list[str] | None = None
    """A program in any language that offers ``type``; the environment variables DOVETAIL_BROKER and
    DOVETAIL_TOKEN say where, as for entrants."""


class Ladder(
    GameRules, Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=False, kw_only=True
):
    """``[[ladders]]``: a game, its rules of play, and its entrants."""

    name: str
    """Letters, digits, ``_``, ``-`` and ``.``."""
    game: str
    """A built-in environment, or ``module:Class`` or ``file.py:Class``; or what ``command``
    offers."""
    configuration: dict[str, Any] = {}
    """Its options; ``dovetail list NAME`` shows them."""
    seats: Positive = 2
    """Of the game as it is configured."""
    command: list[str] | None = None
    """A program in any language that offers ``game``."""
    clock: ClockPart = ClockPart()
    """The seats' clocks."""
    answer_timeout: Annotated[float, Meta(gt=0)] = 30.0
    """Seconds for any answer without a clock."""
    openings: Annotated[int, Meta(ge=0)] = 0
    """Number of random first turns, the same in all games of a unit."""
    entrants: list[str] = msgspec.field(default_factory=lambda: ["*"])
    """The entrants that are admitted; ``*`` is everyone who has been invited."""
    programs: Positive = 8
    """How many programs of an entrant may play at once; newcomers play first, so more would keep
    others waiting."""
    mode: Literal["evaluate", "learn"] = "evaluate"
    """``learn``: agents may learn from these games; ``evaluate``: they must not."""
    window: Positive | None = None
    """Rate only the latest ``window`` units; for agents that learn."""
    pinned: str = ""
    """The baseline fixed at rating 0; if empty, the mean is."""
    width: Annotated[float, Meta(gt=0)] = 1.0
    """How far apart opponents are, in standard deviations of all ratings."""
    uniform: Share = 0.1
    """The share of opponents that are drawn without regard to ratings."""
    baselines: list[Baseline] = []
    """Agents that the arena runs itself."""
    thoughts: bool = False
    """True if everyone who watches may see what the agents think of their choices."""

    def rules(self) -> dict[str, Any]:
        """Return the rules of play by name."""
        return {name: getattr(self, name) for name in (*GameRules.__struct_fields__, "thoughts")}

    @property
    def offered(self) -> str:
        """The name of the game in the program that plays it."""
        return self.game if self.command else offered_name(self.game, "environment")

    @property
    def players(self) -> int:
        """How many meet in a unit; a game of one seat is played by two, each alone on the same
        seed."""
        return max(2, self.seats)

    def admits(self, entrant: str) -> bool:
        """Return whether an entrant may play here."""
        return "*" in self.entrants or entrant in self.entrants


class SeasonPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[seasons]]``: a season that begins by itself."""

    name: str
    """Its name in tables."""
    begins: datetime
    """When it begins, and ends the one before, such as ``2027-03-01T08:00:00``; in local time if it
    names no other."""
    final: datetime | None = None
    """When its final begins."""
    rounds: Positive = 1
    """How often all meet each other in the final."""


class SubmissionLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """``[submissions]``: entrants may upload agents, which the arena runs under limits."""

    memory: Positive = 1024
    """MiB of memory of an agent."""
    processor: Positive = 100
    """Percent of a processor that an agent may take; only where systemd manages the arena."""
    processes: Positive = 64
    """Processes and threads of an agent."""
    disk: Positive = 64
    """MiB of files that an agent may have for itself while it runs."""
    upload: Annotated[int, Meta(ge=1, le=64)] = 8
    """MiB of an upload."""
    agents: Positive = 4
    """Agents that an entrant may have here."""
    waiting: Positive = 10
    """Versions of an entrant that may wait to be started."""
    at_once: Positive = 40
    """How many agents run at once; the others wait in the queue."""


class Arena(Struct, frozen=True, forbid_unknown_fields=True):
    """The competition, and where agents reach it."""

    name: str
    """Its name on the pages."""
    ladders: Annotated[list[Ladder], Meta(min_length=1)]
    """The games that are played."""
    seed: Seed = 0
    """The master seed, from which all random choices are derived, together with 128 random bits
    that the arena draws for each season."""
    seasons: list[SeasonPlan] = []
    """In the order in which they begin; without them an operator begins seasons."""
    bind: str = ADDRESS
    """Where the arena's broker listens."""
    address: str = ""
    """Where agents reach it, if that is not ``bind``."""
    folder: str = ""
    """Where everything is kept; beside the file, under its name, if not given."""
    games: Positive = 2
    """How many units are played at once."""
    faults: Positive = 3
    """How many losses by fault in a row pause an agent."""
    keys: bool = False
    """True if each entrant has a pair of keys instead of an access token, and everything is
    encrypted."""
    insecure: bool = False
    """Listen beyond this machine although nothing is encrypted."""

    submissions: SubmissionLimits | None = None
    """The limits of agents that entrants upload; without them no one may."""

    @property
    def sizes(self) -> dict[str, int]:
        """How many meet in a unit, by ladder."""
        return {each.name: each.players for each in self.ladders}

    def ladder(self, name: str) -> Ladder:
        """Return a ladder.

        Raises:
            DovetailError: there is none of this name.
        """
        for each in self.ladders:
            if each.name == name:
                return each
        there = ", ".join(each.name for each in self.ladders)
        raise DovetailError(f"there is no ladder {name!r}; there are {there}")


def read(path: Path) -> Arena:
    """Return the arena that a file describes.

    Raises:
        DovetailError: the file cannot be read or does not describe an arena; one line says what and
            where.
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
                "baselines, in a "
                "game of at most two seats"
            )
        for name in names:
            _named(path, f"baseline of {ladder.name!r}", name, names)
    return arena


def check(path: Path, arena: Arena) -> None:
    """Check games, agents and their options where they are written in Python and on this machine.

    Raises:
        DovetailError: a name or an option is wrong; one line says where and what.
    """
    with located(ConfigSource(path)):
        for number, ladder in enumerate(arena.ladders):
            if ladder.command is None:
                _playable(ladder, number)
            for at, each in enumerate(ladder.baselines):
                if each.command is None:
                    parametrised(each.type, each.parameters, "ladders", number, "baselines", at)


def _playable(ladder: Ladder, number: int) -> None:
    """Make a ladder's game once."""
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
    """Return where a program on the same machine reaches an arena's broker."""
    transport, _, rest = arena.bind.partition("://")
    host, _, port = rest.rpartition(":")
    anywhere = transport == "tcp" and host in ("0.0.0.0", "*", "[::]")
    return f"tcp://127.0.0.1:{port}" if anywhere else arena.bind


def token(path: Path, arena: Arena) -> str:
    """Return the access token of an arena's broker.

    Raises:
        DovetailError: the arena was never run, or is another user's.
    """
    try:
        return (folder(path, arena) / TOKEN).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise DovetailError(
            f"cannot read {error.filename}: {error.strerror}; run `{command('arena', path)}` first"
        ) from None
