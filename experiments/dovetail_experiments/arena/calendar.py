"""Seasons and finals that start on dates from the arena file."""

from __future__ import annotations

import logging
from datetime import datetime

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.arena.description import Arena
from dovetail_experiments.arena.store import ArenaStore, Season

log = logging.getLogger("dovetail")


def keep(store: ArenaStore, arena: Arena, now: datetime) -> Season:
    """Start the season or the final that is due, if any; return the current season.

    Each planned season starts once; an operator may start others before or after it.
    """
    season = store.season()
    due = [each for each in arena.seasons if each.begins.astimezone() <= now]
    if not due:
        return season
    plan = due[-1]
    if plan.name != season.name:
        if plan.name in {each.name for each in store.seasons()}:
            return season
        return store.season(plan.name)
    if plan.final is None or plan.final.astimezone() > now or season.final or season.ended:
        return season
    try:
        store.final(arena.seed, arena.sizes, plan.rounds)
    except DovetailError as error:
        log.warning("season %s has no final: %s", season.name, error)
        store.end(season, str(error))
    return store.season()
