"""``dovetail`` that kills a part of itself once the store has a number of episodes.

KILLED=VICTIM,MOMENT,ROWS python killed.py run FILE ...  Workers import this file, too.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import sqlalchemy as sa

from dovetail_experiments.records import schema
from dovetail_experiments.records.store import Store
from dovetail_experiments.stages.places import Deployment
from dovetail_experiments.stages.playing import Playing

VICTIMS = ("broker", "programs", "runner", "everything")
MOMENTS = ("row", "before a stage is stored", "after a stage is stored")

victim, moment, rows = "", "", 0
places: list[Deployment] = []
"""Where this process plays, the last one."""


def kill(*programs: int) -> None:
    for each in programs:
        os.kill(each, signal.SIGKILL)


def strike(store: Store, now: str) -> None:
    """Kill the victim if it is time."""
    if now != moment or not places:
        return
    store.flush()
    with store._engine.begin() as connection:
        stored = connection.execute(sa.select(sa.func.count(schema.episodes.c.id))).scalar_one()
    if stored < rows:
        return
    [place] = places
    places.clear()
    pids = [place.pids] if place.shards is None else [each.pids for each in place.shards.all]
    runner = [os.getppid() if "--jobs" in sys.argv else os.getpid()]
    if victim == "broker":
        kill(pids[rows % len(pids)]["broker"])
    elif victim == "programs":
        kill(*[pid for each in pids for pid in each.values()])
    elif victim == "runner":
        kill(*runner)
    else:
        kill(*[pid for each in pids for pid in each.values()], *runner)


def hook() -> None:
    init, add, finish = Playing.__init__, Store.add, Store.finish_stage

    def noted(self: Playing, file: Any, place: Deployment, *more: Any) -> None:
        init(self, file, place, *more)
        places[:] = [place]

    def added(self: Store, *given: Any) -> None:
        add(self, *given)
        strike(self, "row")

    def finished(self: Store, *given: Any) -> None:
        strike(self, "before a stage is stored")
        finish(self, *given)
        strike(self, "after a stage is stored")

    hooks: Any = (
        (Playing, "__init__", noted),
        (Store, "add", added),
        (Store, "finish_stage", finished),
    )
    for owner, name, hooked in hooks:
        setattr(owner, name, hooked)


if __name__ in ("__main__", "__mp_main__"):
    victim, moment, count = os.environ["KILLED"].split(",")
    rows = int(count)
    hook()
if __name__ == "__main__":
    from dovetail.cli import main

    sys.exit(main())
