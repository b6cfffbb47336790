"""The bench's cases: subjects that are measured together, and targets for their ratios.

Targets are those of the plan for speed; the base is the commit from which it started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Python = Literal["here", "compiled", "base"]
"""This checkout, this checkout with the compiled core, or a checkout of ``BASE``."""

BASE = "5fb4682"
GLUE = "core in C, raw Python peers"
ORIGINAL = "RL-Glue's own core, raw Python peers"
RELAY = "bare pyzmq relay"
OPEN_ENV = "OpenEnv server, its client"
DM_ENV_RPC = "dm_env_rpc server, its adaptor"
VECTOR = "Gymnasium's AsyncVectorEnv"
KAGGLE = "kaggle-environments' Connect X"
LANGUAGES = ("cpp", "go", "java", "rust", "typescript")


@dataclass(frozen=True)
class Subject:
    """A program that ``bench/subjects.py`` starts."""

    command: str
    python: Python = "here"


@dataclass(frozen=True)
class Bar:
    """Two subjects of a group, and the minimum ratio between them."""

    case: str
    ours: str
    reference: str | float
    """A subject, or turns per second."""
    ratio: float | None = None
    """Minimum ratio; None if there is no target."""


@dataclass(frozen=True)
class Group:
    """Subjects that are measured in turn."""

    subjects: dict[str, Subject]
    rows: list[Bar]
    pin: bool = False
    """True to measure them also with all their processes on one core."""
    note: str = field(default="", kw_only=True)

    @property
    def bursts(self) -> int:
        """Number of bursts in a round."""
        return len(self.subjects) * (1 + self.pin)


def _both(name: str, command: str) -> dict[str, Subject]:
    """Return a subject of this checkout, interpreted and compiled."""
    return {name: Subject(command), f"{name}, compiled": Subject(command, "compiled")}


def _against_base(
    count: int,
    bar: float,
    subjects: Mapping[str, Subject] | None = None,
    rows: Sequence[Bar] = (),
    note: str = "",
) -> Group:
    """Return the group for a number of matches, with more subjects and rows."""
    case = f"{count} matches, tcp"
    return Group(
        {
            "ours": Subject(f"ours.matches tcp {count}"),
            "base": Subject(f"base tcp {count}", "base"),
            RELAY: Subject(f"references.relay tcp {count}"),
            **(subjects or {}),
        },
        [Bar(case, "ours", "base", bar), Bar(case, "ours", RELAY), *rows],
        pin=True,
        note=note,
    )


def _frames(count: int, size: int, bar: float, references: Mapping[str, Subject]) -> Group:
    """Return the group for an observation size; 28,224 bytes are a stack of four frames of
    84x84. The bar is for the first reference."""
    case = f"{count} match{'es' * (count > 1)}, ipc, observations of {size:,} bytes"
    command = f"ours.matches ipc {count} size={size}"
    ours = {
        **_both(case, command),
        f"{case}, --no-durable": Subject(f"{command} broker=--no-durable"),
    }
    return Group(
        {**ours, **references},
        [
            Bar(each, each, name, None if number else bar)
            for each in ours
            for number, name in enumerate(references)
        ],
    )


def _frames_alone(size: int, bar: float) -> Group:
    """Return the group for one match, also beside sockets and other servers."""
    json = {OPEN_ENV: Subject(f"servers.open_env {size}")} if size <= 100_000 else {}
    return _frames(
        1,
        size,
        bar,
        {
            "raw Unix sockets": Subject(f"references.sockets {size}"),
            RELAY: Subject(f"references.relay ipc 1 {size}"),
            **json,
            DM_ENV_RPC: Subject(f"servers.dm_env_rpc {size}"),
        },
    )


def _clients(size: int) -> Group:
    """Return the group of all languages; observations have ``size`` bytes, or are the number 0."""
    seen = f", observations of {size:,} bytes" if size else ""
    option = f" size={size}" if size else ""
    return Group(
        {name: Subject(f"ours.client {name}{option}") for name in ("python", *LANGUAGES)},
        [
            Bar(f"1 match, tcp, {name}{seen}", name, "python", 0.5 if size else 1.0)
            for name in LANGUAGES
        ],
        pin=not size,
        note="" if size else "clients must be built (make clients)",
    )


GROUPS: dict[str, Group] = {
    "1": Group(
        {
            **_both("tcp", "ours.matches tcp 1"),
            **_both("ipc", "ours.matches ipc 1"),
            **_both("hosted", "ours.matches ipc 1 hosted=yes"),
            "base": Subject("base tcp 1", "base"),
            GLUE: Subject("glue_peers.steps"),
            ORIGINAL: Subject("glue_peers.steps original"),
            RELAY: Subject("references.relay ipc 1"),
        },
        [
            Bar("1 match, tcp", "tcp", "base", 2.4),
            Bar("1 match, tcp, compiled", "tcp, compiled", "base"),
            Bar("1 match, ipc", "ipc", GLUE, 0.95),
            Bar("1 match, ipc", "ipc", ORIGINAL, 0.95),
            Bar("1 match, ipc", "ipc", RELAY),
            Bar("1 match, ipc, compiled", "ipc, compiled", GLUE, 1.2),
            Bar("1 match, ipc, compiled", "ipc, compiled", ORIGINAL, 1.2),
            Bar("1 match, ipc, environment in the broker", "hosted", GLUE, 0.8),
            Bar("1 match, ipc, environment in the broker, compiled", "hosted, compiled", GLUE, 2.0),
        ],
        pin=True,
        note=f'"{GLUE}" is bench/rlglue.c, which makes the system calls of RL-Glue\'s own core; that '
        "program is measured, too, if RLGLUE_CORE names it",
    ),
    "8": _against_base(8, 1.8),
    "64": _against_base(
        64,
        1.5,
        {"hosted": Subject("ours.matches tcp 64 hosted=yes", "compiled")},
        [Bar("64 matches, tcp, environment in the broker, compiled", "hosted", "base", 3.0)],
    ),
    "256": _against_base(
        256,
        1.6,
        {
            "stacked 256": Subject("ours.matches ipc 256 game=arrays stacked=yes"),
            "stacked 1,024": Subject("ours.matches ipc 1024 game=arrays stacked=yes"),
            "Connect Four": Subject("ours.matches ipc 1024 game=connect_four stacked=yes"),
        },
        [
            Bar("256 matches, stacked", "stacked 256", "base", 10.0),
            Bar("1,024 matches, stacked", "stacked 1,024", "base", 40.0),
            Bar("1,024 matches, stacked", "stacked 1,024", 1_500_000, 1.0),
            Bar("1,024 matches, stacked, Connect Four", "Connect Four", 200_000, 1.0),
        ],
        note="stacked matches are compared with 256 single ones at the base",
    ),
    "growth": Group(
        {f"{n:,}": Subject(f"ours.crowd {n}") for n in (64, 1_024, 4_096, 10_000)},
        [
            Bar(f"{each} matches, tcp, beside 64", each, "64", 0.9)
            for each in ("1,024", "4,096", "10,000")
        ],
        note="beyond 4,096, which a broker allows each, matches are of several experiments",
    ),
    "inprocess": Group(
        {
            **_both("ours", "ours.in_process"),
            "OpenSpiel's rl_environment": Subject("libraries.rl_environment"),
            "Connect Four": Subject("ours.in_process connect_four"),
            "PettingZoo's Connect Four": Subject("libraries.petting_zoo"),
        },
        [
            Bar("in process", "ours", "OpenSpiel's rl_environment", 1.0),
            Bar("in process, compiled", "ours, compiled", "OpenSpiel's rl_environment", 1.3),
            Bar("in process, Connect Four", "Connect Four", "PettingZoo's Connect Four", 5.0),
        ],
        note="rl_environment plays OpenSpiel's Connect Four in C++, ours the trivial game in Python",
    ),
    "frames-28kB": _frames_alone(28_224, 0.6),
    "frames-100kB": _frames_alone(100_000, 0.6),
    "frames-1MB": _frames_alone(1_000_000, 0.5),
    "frames-64": _frames(64, 28_224, 1.0, {RELAY: Subject("references.relay ipc 64 28224")}),
    "servers": Group(
        {
            **_both("hosted", "ours.matches ipc 1 hosted=yes"),
            OPEN_ENV: Subject("servers.open_env 8"),
            DM_ENV_RPC: Subject("servers.dm_env_rpc 8"),
            **_both("ipc 8", "ours.matches ipc 8"),
            VECTOR: Subject("servers.vector_env 8 8"),
            "Connect Four": Subject("ours.in_process connect_four"),
            KAGGLE: Subject("libraries.kaggle"),
        },
        [
            *(
                Bar(f"1 match, ipc, environment in the broker{form}", f"hosted{form}", name, bar)
                for form in ("", ", compiled")
                for name, bar in ((OPEN_ENV, 5.0), (DM_ENV_RPC, 3.0))
            ),
            Bar("8 matches, ipc", "ipc 8", VECTOR, 1.0),
            Bar("8 matches, ipc, compiled", "ipc 8, compiled", VECTOR, 1.0),
            Bar("in process, Connect Four", "Connect Four", KAGGLE, 10.0),
        ],
        note="other servers play one seat of the trivial game, each in a separate process with its defaults: "
        "OpenEnv under uvicorn and by JSON, dm_env_rpc by gRPC with local credentials, AsyncVectorEnv with a "
        "process for each of 8 environments; kaggle-environments asks for gymnasium 1.2 and is measured only "
        "where it is installed",
    ),
    "frames-stacked": Group(
        {
            "ours": Subject("ours.matches ipc 256 game=arrays size=28224 stacked=yes"),
            "copy": Subject("references.copies 256 28224"),
        },
        [Bar("256 matches, stacked, observations of 28,224 bytes", "ours", "copy", 0.5)],
        note='"copy" is one copy by numpy of all observations of a turn',
    ),
    "costs": Group(
        {
            "neither": Subject("ours.matches tcp 64 broker=--journal=none"),
            "journal": Subject("ours.matches tcp 64"),
            "keys": Subject("ours.matches tcp 64 broker=--journal=none keys=yes"),
            "both": Subject("ours.matches tcp 64 keys=yes"),
        },
        [
            Bar(f"64 matches, tcp, {name}", name, "neither", 0.85)
            for name in ("journal", "keys", "both")
        ],
        note='"neither" has no journal, so it does not survive a kill, and no keys',
    ),
    "openenv": Group(
        {"shared": Subject("servers.shared_game"), OPEN_ENV: Subject("servers.open_env 84")},
        [
            Bar("Connect Four shared by two OpenEnv clients", "shared", 1_000, 1.0),
            Bar("Connect Four shared by two OpenEnv clients", "shared", OPEN_ENV),
        ],
        note="steps of both clients together, each a program that plays at random; its reference is "
        "one client of OpenEnv's own server, alone in a game that does nothing",
    ),
    "store": Group(
        {"ours": Subject("parts.store")},
        [Bar("results of two seats written into SQLite", "ours", 50_000, 1.0)],
        note="episodes a second; a driver of 8 brokers in single messages writes 16,000 (docs/scale.md)",
    ),
    "observers": Group(
        {
            "1 watched": Subject("ours.matches tcp 1 observed=yes"),
            "1 unwatched": Subject("ours.matches tcp 1"),
            "64 watched": Subject("ours.matches tcp 64 observed=yes"),
            "64 unwatched": Subject("ours.matches tcp 64"),
        },
        [
            Bar("20 observers, 1 match", "1 watched", "1 unwatched", 0.8),
            Bar("20 observers, 64 matches", "64 watched", "64 unwatched", 0.85),
        ],
        pin=True,
        note="the observers are one program, which gets the processor time that the others leave",
    ),
    "shards": Group(
        {
            "two shards": Subject("parts.shards 2"),
            "one shard": Subject("parts.shards 1"),
            "one broker, all cores": Subject("ours.matches ipc 64"),
        },
        [
            Bar("two shards, 64 matches each", "two shards", "one shard", 1.9),
            Bar("two shards, 64 matches each", "two shards", "one broker, all cores"),
        ],
        note="a shard is a broker and its peers on one core; the program that deals the episodes shares the cores",
    ),
    "batches": Group(
        {"arrays": Subject("parts.arrays 256"), "pgx": Subject("libraries.pgx 256")},
        [Bar("Connect Four, 256 games as arrays", "arrays", "pgx")],
        note="games in batches are played in one process, without a broker",
    ),
    "clients": _clients(0),
    "clients-28224": _clients(28_224),
    "clients-1000000": _clients(1_000_000),
}
