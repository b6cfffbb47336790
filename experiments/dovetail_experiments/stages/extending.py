"""Add players to a finished tournament: keep the games that were played, play the rest."""

from __future__ import annotations

from msgspec.structs import asdict, replace

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files.file import ExperimentFile, stored
from dovetail_experiments.records.store import Store

Key = tuple[str, str, int]
"""Kind and name of a stage, and the number of episodes trained before it."""


def taken_over(file: ExperimentFile, store: Store) -> tuple[int, dict[Key, list[int]]]:
    """Return the finished execution that a file extends, and the row numbers of its stages.

    Raises:
        DovetailError: there is none, or the file has changes other than new players.
    """
    found = store.latest(file.name)
    if found is None:
        raise DovetailError(
            f"no finished run of {file.name} to extend; run it without --extend first"
        )
    number, text = found
    try:
        old = stored(text)
    except codec.UNREADABLE:
        raise DovetailError(
            f"the last run of {file.name} is of another version of Dovetail and cannot be extended"
        ) from None
    wrong = problem(old, file)
    if wrong:
        raise DovetailError(f"{file.name} cannot be extended: {wrong}; run it without --extend")
    rows: dict[Key, list[int]] = {}
    for stage in store.finished(number):
        rows.setdefault((stage.kind, stage.name, stage.trained), []).append(stage.id)
    return number, rows


def problem(old: ExperimentFile, new: ExperimentFile) -> str:
    """Return the change that prevents an extension; empty if only players were added."""
    for name, agent in old.agents.items():
        if new.agents.get(name) != agent:
            return f"[agents.{name}] was changed"
    names = [each.name for each in old.tournaments]
    if names != [each.name for each in new.tournaments]:
        return "its tournaments are not those that were played"
    for before, after in zip(old.tournaments, new.tournaments, strict=True):
        if replace(after, players=before.players) != before:
            return f"the tournament {before.name!r} was changed"
        added = [name for name in after.players if name not in before.players]
        if [name for name in after.players if name not in added] != before.players:
            return f"players of {before.name!r} were removed or moved"
        if added and (before.format in ("knockout", "swiss") or before.seats > 2):
            kind = before.format if before.seats == 2 else f"{before.seats}-seat"
            return (
                f"{before.name!r} is a {kind} tournament, in which new players change every round"
            )
    for key, value in asdict(old).items():
        if key not in ("agents", "tournaments", "description") and asdict(new)[key] != value:
            return f"`{key}` was changed"
    return ""
