"""``dovetail journal`` and ``dovetail verify``: the contents and the soundness of a journal."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from dovetail.cli.common import RecordedEnv, warn
from dovetail.cli.group import group
from dovetail.cli.records import list_episodes, replayed
from dovetail.cli.standard_streams import reserved
from dovetail.peer.registry import one_line
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError

JournalPath = Annotated[Path, typer.Argument(metavar="JOURNAL", help="A broker's journal.")]

commands = group(help="List, check, repair, compact or export a journal.")


def add(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(commands, name="journal")
    app.command()(verify)


@commands.command("list")
def list_(journal: JournalPath) -> None:
    """List the episodes and the kept states of a journal.

    Example: dovetail journal list dovetail.journal
    """
    from dovetail.protocol.display_text import line
    from dovetail.protocol.journal import StateRecord, read

    list_episodes(journal)
    kept = {each.name: each for each in read(journal) if isinstance(each, StateRecord)}
    for name, each in sorted(kept.items()):
        print(f"state {name!r}: {line(each.agent)}, {len(each.state):,} bytes")


@commands.command()
def check(journal: JournalPath) -> None:
    """Check every byte of a journal; the exit code is 1 if any is damaged.

    Example: dovetail journal check dovetail.journal
    """
    from dovetail.protocol.journal import Written, entries, version

    kinds: Counter[str] = Counter()
    damage = []
    for each in entries(journal):
        if isinstance(each, Written):
            kinds[str(each.record.__struct_config__.tag)] += 1
        else:
            damage.append(each)
            print(f"{journal}: {each}")
    print(f"{journal}: {kinds['played']:,} episodes, {kinds['kept']:,} saved states")
    if version(journal) == 1:
        warn("this is the format of version 1, without checksums; damage can go unnoticed")
    elif version(journal) == 2:
        warn(
            "this is the format of version 2, in which a peer can forge records of a damaged file; "
            "a broker or `dovetail journal compact` writes it again"
        )
    if damage:
        raise DovetailError(
            f"{journal} is damaged; `dovetail journal repair` keeps its intact records"
        )


@commands.command()
def repair(
    journal: JournalPath,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PATH")] = None,
) -> None:
    """Write what can be read of a journal to a sound copy, by default JOURNAL.repaired.

    Example: dovetail journal repair dovetail.journal

    Args:
        output: Where to write the sound copy.
    """
    to = output or journal.with_name(journal.name + ".repaired")
    if to.exists():
        raise DovetailError(f"{to} exists; remove it, or choose another file with --output")
    for each in _copy(journal, to):
        print(f"{journal}: {each}; left out")
    print(f"{to}: what could be read, in the present format")


@commands.command()
def compact(journal: JournalPath) -> None:
    """Remove saved states that a later one of the same name replaces; stop the broker first.

    Example: dovetail journal compact dovetail.journal
    """
    import os

    from dovetail.broker.durable.append_file import lock
    from dovetail.broker.durable.write_ahead_log import place
    from dovetail.protocol.journal import Written, entries

    if damage := [each for each in entries(journal) if not isinstance(each, Written)]:
        raise DovetailError(f"{journal} is damaged at {damage[0]}; run `dovetail journal repair`")
    before = journal.stat().st_size
    try:
        held = lock(journal)  # first, since a running broker also has a live file
    except OSError as error:
        raise DovetailError(f"cannot write {journal}: {error.strerror}") from None
    try:
        if (live := place(journal)).exists():
            raise DovetailError(
                f"{live} has runs in progress that refer to this journal; start a broker "
                "with it, and end that with Ctrl-C"
            )
        _copy(journal, journal, compact=True)
    finally:
        os.close(held)
    print(f"{journal}: {journal.stat().st_size:,} bytes, {before:,} before")


def _copy(journal: Path, to: Path, **options: bool) -> list[Any]:
    from dovetail.broker.durable.journal import copy

    try:
        return list(copy(journal, to, **options))
    except OSError as error:
        raise DovetailError(f"cannot write {to}: {error.strerror}") from None


@commands.command()
def export(journal: JournalPath) -> None:
    """Print each record as one line of JSON; states are base64.

    Example: dovetail journal export dovetail.journal > games.jsonl
    """
    import msgspec

    from dovetail.protocol.journal import read

    with reserved() as out:
        for record in read(journal):
            line = msgspec.to_builtins(record, builtin_types=(), enc_hook=_plain)
            out.write(jsontext.write(line) + "\n")


def _plain(value: Any) -> Any:
    import numpy as np
    from msgspec.msgpack import Ext

    from dovetail.protocol.tensors import nested

    if isinstance(value, np.ndarray):
        return nested(value)
    if isinstance(value, Ext):
        return {"extension": value.code, "data": bytes(value.data).hex()}
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def verify(
    journal: JournalPath,
    env: RecordedEnv = None,
) -> None:
    """Check a journal, replay each of its episodes, and compare every turn with the record.

    The exit code is 1 if a byte is damaged or an episode differs.

    Example: dovetail verify dovetail.journal
    """
    from dovetail.protocol.journal import EpisodeRecord, Written, entries

    damaged = wrong = number = turns = 0
    begun = time.monotonic()
    for each in entries(journal):
        if not isinstance(each, Written):
            damaged += 1
            print(f"{journal}: {each}")
        elif isinstance(each.record, EpisodeRecord):
            number += 1
            turns += len(each.record.actions)
            try:
                replayed(each.record, env, 0.0, lambda line: None)
            except Exception as error:  # such as from rules that have changed
                wrong += 1
                text = error if isinstance(error, DovetailError) else one_line(error)
                print(f"episode {number}: {text}")
    took = time.monotonic() - begun
    print(f"{journal}: {number:,} episodes with {turns:,} turns replayed in {took:.1f} s")
    if damaged or wrong:
        raise DovetailError(f"{journal}: {_verdict(number, wrong, damaged)}")


def _verdict(number: int, wrong: int, damaged: int) -> str:
    """Return the verdict on a journal, from the number of readable episodes, of those that differ,
    and of damaged places."""
    found = f"{number:,} episodes{' that can be read' * bool(damaged)}"
    if wrong:
        said = f"{wrong:,} of {found} {'does' if wrong == 1 else 'do'} not replay as recorded"
    elif number:
        said = f"all {found} replay as recorded"
    else:
        said = "no episode can be read"
    if not damaged:
        return said
    places = "1 place" if damaged == 1 else f"{damaged:,} places"
    return f"damaged in {places}; {said}; `dovetail journal repair` keeps its intact records"
