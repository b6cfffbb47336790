"""Seasons and finals that the description gives a date."""

from __future__ import annotations

import logging
from datetime import datetime

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.arena.description import Arena
from dovetail_experiments.arena.store import ArenaStore, Season

log = logging.getLogger("dovetail")


def keep(store: ArenaStore, arena: Arena, now: datetime) -> Season:
    """Begin the season or the final that is due, if one is; return the present season.

    A season begins once: an operator may begin others before and after it.
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
