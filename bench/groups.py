"""The bench's cases: subjects that are measured together, and targets for their ratios.

Targets are those of the plan for speed; the base is the commit from which it started.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    pin: bool = True
    """True to measure them also with all their processes on one core."""
    note: str = field(default="", kw_only=True)

    @property
    def bursts(self) -> int:
        """Number of bursts in a round."""
        return len(self.subjects) * (1 + self.pin)


def _against_base(count: int, bar: float) -> Group:
    return Group(
        {
            "ours": Subject(f"matches tcp {count}"),
            "base": Subject(f"matches tcp {count}", "base"),
            RELAY: Subject(f"relay tcp {count}"),
        },
        [
            Bar(f"{count} matches, tcp", "ours", "base", bar),
            Bar(f"{count} matches, tcp", "ours", RELAY),
        ],
    )


def _frames(count: int, size: int, bar: float, servers: Mapping[str, Subject]) -> Group:
    """Return the group for an observation size; 28,224 bytes are a stack of four frames of
    84x84."""
    case = f"{count} match{'es' * (count > 1)}, ipc, observations of {size:,} bytes"
    references = {
        **({"raw Unix sockets": Subject(f"sockets {size}")} if count == 1 else {}),
        RELAY: Subject(f"relay ipc {count} {size}"),
        **servers,
    }
    ours = {
        case: Subject(f"frames {count} {size}"),
        f"{case}, compiled": Subject(f"frames {count} {size}", "compiled"),
        f"{case}, --no-durable": Subject(f"frames {count} {size} --no-durable"),
    }
    return Group(
        {**ours, **references},
        [
            Bar(each, each, name, None if number else bar)
            for each in ours
            for number, name in enumerate(references)
        ],
        pin=False,
    )


def _servers(size: int) -> dict[str, Subject]:
    json = {OPEN_ENV: Subject(f"server open_env {size}")} if size <= 100_000 else {}
    return {**json, DM_ENV_RPC: Subject(f"server dm_env_rpc {size}")}


GROUPS: dict[str, Group] = {
    "1": Group(
        {
            "tcp": Subject("matches tcp 1"),
            "ipc": Subject("matches ipc 1"),
            "hosted": Subject("matches ipc 1 hosted"),
            "hosted, compiled": Subject("matches ipc 1 hosted", "compiled"),
            "tcp, compiled": Subject("matches tcp 1", "compiled"),
            "ipc, compiled": Subject("matches ipc 1", "compiled"),
            "base": Subject("matches tcp 1", "base"),
            GLUE: Subject("rl_glue"),
            ORIGINAL: Subject("rl_glue original"),
            RELAY: Subject("relay ipc 1"),
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
        note=f'"{GLUE}" is bench/rlglue.c, which makes the system calls of RL-Glue\'s own core; that '
        "program is measured, too, if RLGLUE_CORE names it",
    ),
    "8": _against_base(8, 1.8),
    "64": Group(
        {
            **_against_base(64, 1.5).subjects,
            "hosted, compiled": Subject("matches tcp 64 hosted", "compiled"),
        },
        [
            *_against_base(64, 1.5).rows,
            Bar(
                "64 matches, tcp, environment in the broker, compiled",
                "hosted, compiled",
                "base",
                3.0,
            ),
        ],
    ),
    "256": Group(
        {
            **_against_base(256, 1.6).subjects,
            "stacked 256": Subject("stacked ipc 256"),
            "stacked 1,024": Subject("stacked ipc 1024"),
            "stacked Connect Four": Subject("stacked ipc 1024 connect_four"),
        },
        [
            *_against_base(256, 1.6).rows,
            Bar("256 matches, stacked", "stacked 256", "base", 10.0),
            Bar("1,024 matches, stacked", "stacked 1,024", "base", 20.0),
            Bar("1,024 matches, stacked", "stacked 1,024", 500_000, 1.0),
            Bar("1,024 matches, stacked, Connect Four", "stacked Connect Four", 200_000, 1.0),
        ],
        note="stacked matches are compared with 256 single ones at the base",
    ),
    "growth": Group(
        {f"{count:,}": Subject(f"matches tcp {count}") for count in (64, 1_024, 4_096, 10_000)},
        [
            Bar(f"{count:,} matches, tcp, beside 64", f"{count:,}", "64", 0.9)
            for count in (1_024, 4_096, 10_000)
        ],
        pin=False,
    ),
    "inprocess": Group(
        {
            "ours": Subject("in_process"),
            "compiled": Subject("in_process", "compiled"),
            "OpenSpiel's rl_environment": Subject("rl_environment"),
            "Connect Four": Subject("in_process connect_four"),
            "PettingZoo's Connect Four": Subject("petting_zoo"),
        },
        [
            Bar("in process", "ours", "OpenSpiel's rl_environment", 1.0),
            Bar("in process, compiled", "compiled", "OpenSpiel's rl_environment", 1.3),
            Bar("in process, Connect Four", "Connect Four", "PettingZoo's Connect Four", 5.0),
        ],
        pin=False,
        note="rl_environment plays OpenSpiel's Connect Four in C++, ours the trivial game in Python",
    ),
    "frames-28kB": _frames(1, 28_224, 0.6, _servers(28_224)),
    "frames-100kB": _frames(1, 100_000, 0.6, _servers(100_000)),
    "frames-1MB": _frames(1, 1_000_000, 0.5, _servers(1_000_000)),
    "frames-64": _frames(64, 28_224, 1.0, {}),
    "servers": Group(
        {
            "hosted": Subject("matches ipc 1 hosted"),
            "hosted, compiled": Subject("matches ipc 1 hosted", "compiled"),
            OPEN_ENV: Subject("server open_env 8"),
            DM_ENV_RPC: Subject("server dm_env_rpc 8"),
            "ipc 8": Subject("matches ipc 8"),
            "ipc 8, compiled": Subject("matches ipc 8", "compiled"),
            VECTOR: Subject("server vector_env 8 8"),
            "Connect Four": Subject("in_process connect_four"),
            KAGGLE: Subject("server kaggle"),
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
        pin=False,
        note="other servers play one seat of the trivial game, each in a separate process with its defaults: "
        "OpenEnv under uvicorn and by JSON, dm_env_rpc by gRPC with local credentials, AsyncVectorEnv with a "
        "process for each of 8 environments; kaggle-environments asks for gymnasium 1.2 and is measured only "
        "where it is installed",
    ),
    "frames-stacked": Group(
        {"ours": Subject("stacked_frames 256 28224"), "copy": Subject("copies 256 28224")},
        [Bar("256 matches, stacked, observations of 28,224 bytes", "ours", "copy", 0.5)],
        pin=False,
        note='"copy" is one copy by numpy of all observations of a turn',
    ),
    "costs": Group(
        {
            "neither": Subject("matches tcp 64 --journal=none"),
            "journal": Subject("matches tcp 64"),
            "keys": Subject("matches tcp 64 --journal=none keys"),
            "both": Subject("matches tcp 64 keys"),
        },
        [
            Bar(f"64 matches, tcp, {name}", name, "neither", 0.85)
            for name in ("journal", "keys", "both")
        ],
        pin=False,
        note='"neither" has no journal, so it does not survive a kill, and no keys',
    ),
    "openenv": Group(
        {
            "shared": Subject("server shared_game"),
            OPEN_ENV: Subject("server open_env 84"),
        },
        [
            Bar("Connect Four shared by two OpenEnv clients", "shared", 1_000, 1.0),
            Bar("Connect Four shared by two OpenEnv clients", "shared", OPEN_ENV),
        ],
        pin=False,
        note="steps of both clients together, each a program that plays at random; its reference is "
        "one client of OpenEnv's own server, alone in a game that does nothing",
    ),
    "store": Group(
        {"ours": Subject("store")},
        [Bar("results of two seats written into SQLite", "ours", 14_000, 1.0)],
        pin=False,
        note="episodes a second; a driver of 8 brokers in single messages writes 16,000 (docs/scale.md)",
    ),
    "observers": Group(
        {
            "1 watched": Subject("observed tcp 1"),
            "1 unwatched": Subject("matches tcp 1"),
            "64 watched": Subject("observed tcp 64"),
            "64 unwatched": Subject("matches tcp 64"),
        },
        [
            Bar("20 observers, 1 match", "1 watched", "1 unwatched", 0.8),
            Bar("20 observers, 64 matches", "64 watched", "64 unwatched", 0.8),
        ],
        note="the observers are one program, which gets the processor time that the others leave",
    ),
    "shards": Group(
        {
            "two shards": Subject("shards 2"),
            "one shard": Subject("shards 1"),
            "one broker, all cores": Subject("matches ipc 64"),
        },
        [
            Bar("two shards, 64 matches each", "two shards", "one shard", 1.9),
            Bar("two shards, 64 matches each", "two shards", "one broker, all cores"),
        ],
        pin=False,
        note="a shard is a broker and its peers on one core; the program that deals the episodes shares the cores",
    ),
    "batches": Group(
        {
            "arrays": Subject("batches ours"),
            "pgx": Subject("batches pgx"),
        },
        [
            Bar("Connect Four, 256 games as arrays", "arrays", "pgx"),
        ],
        pin=False,
        note="games in batches are played in one process, without a broker",
    ),
    **{
        f"clients{size and f'-{size}'}": Group(
            {name: Subject(f"client {name} {size}") for name in ("python", *LANGUAGES)},
            [
                Bar(
                    f"1 match, tcp, {name}{size and f', observations of {int(size):,} bytes'}",
                    *(name, "python", 0.5 if size else 1.0),
                )
                for name in LANGUAGES
            ],
            pin=not size,
            note="clients must be built (make clients)" if not size else "",
        )
        for size in ("", "28224", "1000000")
    },
}
